#include "bench/build_stage.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace netio::cli {

namespace {

// All read-out ends have to know by then when they begin.
constexpr std::chrono::milliseconds time_to_begin{50};

std::uint64_t books_of(const nlohmann::json& said, const char* what) {
  return said.value(what, std::uint64_t{0});
}

}  // namespace

BuildEnds::BuildEnds(Stage& stage, const BenchBuildArguments& build, const Case& what, bool plain)
    : stage_(stage), build_(build), what_(what), plain_(plain) {
  std::vector<std::uint16_t> ports;
  for (std::uint32_t number = 0; number < build_.builders; ++number) {
    std::uint16_t port = 0;
    builders_.push_back({start("build", number, port, {}), {}, {}, {}});
    ports.push_back(port);
  }
  const std::string all = fmt::format("{}", fmt::join(ports, ","));
  for (std::uint32_t number = 0; number < build_.readouts; ++number) {
    std::uint16_t port = 0;
    readouts_.push_back(
        {start("readout", number, port, what_.meeting.in_memory() ? std::string() : all),
         {},
         {},
         {}});
  }
}

// No process is pinned: there are mostly more of them than cores.
std::unique_ptr<End> BuildEnds::start(const char* role, std::uint32_t number, std::uint16_t& port,
                                      const std::string& ports) {
  const Places with_cores = stage_.places();
  const Places places{with_cores.here, with_cores.there};
  Case what = what_;
  if (std::string_view(role) == "build") what.connections = build_.readouts;
  std::vector<std::string> words = {"--readouts",    std::to_string(build_.readouts),
                                    "--builders",    std::to_string(build_.builders),
                                    "--number",      std::to_string(number),
                                    "--range",       std::to_string(build_.range_events),
                                    "--store",       std::to_string(build_.store_bytes),
                                    "--unit-window", std::to_string(build_.window_bytes)};
  if (plain_) words.emplace_back("--plain");
  if (!ports.empty()) words.insert(words.end(), {"--ports", ports});
  return start_worker(*find_system(our_name), role, what, places, port, words);
}

void BuildEnds::snap(nlohmann::json Ending::*which) {
  for (Ending& each : builders_) each.*which = each.end->ask("snap");
  for (Ending& each : readouts_) each.*which = each.end->ask("snap");
}

// The read-out ends together: the last events of each need the fragments of all.
void BuildEnds::stop() {
  for (const Ending& each : readouts_) each.end->say("stop");
  for (Ending& each : readouts_) each.last = each.end->answer();
  for (Ending& each : builders_) each.last = stop_worker(*each.end);
}

BuildSample BuildEnds::measure() {
  const auto begin = std::chrono::steady_clock::now().time_since_epoch() + time_to_begin;
  const auto begin_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(begin).count();
  for (const Ending& each : readouts_) (void)each.end->ask(fmt::format("record {}", begin_ns));
  let_pass(stage_.loop(), time_to_begin);
  let_pass(stage_.loop(), warm_up(what_));
  for (const Ending& each : builders_) (void)each.end->ask("record");
  snap(&Ending::from);
  let_pass(stage_.loop(), what_.duration());
  snap(&Ending::to);
  stop();
  check_books();
  return sample();
}

void BuildEnds::check_books() const {
  std::uint64_t sent = 0;
  std::uint64_t built = 0;
  for (const Ending& each : readouts_) {
    const std::uint64_t of_this = books_of(each.last, "sent");
    const std::uint64_t settled = books_of(each.last, "settled");
    sent += of_this;
    if (of_this == settled && books_of(each.last, "resent") == 0) continue;
    throw EndFailure(fmt::format("{} sent {} messages, of which {} were settled and {} sent again",
                                 each.end->name(), of_this, settled,
                                 books_of(each.last, "resent")));
  }
  for (const Ending& each : builders_) {
    built += books_of(each.last, "built");
    for (const char* const what : {"incomplete", "again", "late", "open"}) {
      if (const std::uint64_t events = books_of(each.last, what); events != 0) {
        throw EndFailure(fmt::format("{} counted {} as {}", each.end->name(), events, what));
      }
    }
    check_faults(*each.end, each.last);
  }
  if (sent != built) {
    throw EndFailure(fmt::format("{} messages were sent, and {} arrived", sent, built));
  }
}

BuildSample BuildEnds::sample() const {
  BuildSample sample;
  double messages = 0;
  double copied = 0;
  std::vector<double> shares;
  for (const Ending& each : builders_) {
    const double of_this = difference(each.from, each.to, "messages");
    const double seconds = difference(each.from, each.to, "ns") / 1e9;
    messages += of_this;
    shares.push_back(of_this);
    sample.messages_per_s += of_this / seconds;
    if (!plain_) sample.events_per_s += difference(each.from, each.to, "events") / seconds;
    copied += difference(each.from, each.to, "bytes_copied");
    sample.builder_cpu_ns += difference(each.from, each.to, "cpu_ns");
    sample.resident_bytes_max =
        std::max(sample.resident_bytes_max, each.to.at("resident_bytes_max").get<double>());
    sample.open_bytes_max =
        std::max(sample.open_bytes_max, static_cast<double>(books_of(each.to, "open_bytes_max")));
  }
  if (messages <= 0) throw EndFailure(plain_ ? "plain: nothing arrived" : "nothing was built");
  for (const Ending& each : readouts_) {
    sample.readout_cpu_ns += difference(each.from, each.to, "cpu_ns");
  }
  if (plain_) sample.events_per_s = sample.messages_per_s / build_.readouts;
  sample.bytes_per_s = sample.messages_per_s * static_cast<double>(what_.message_bytes);
  sample.readout_cpu_ns /= messages;
  sample.builder_cpu_ns /= messages;
  sample.bytes_copied = copied / messages;
  sample.share_least = *std::min_element(shares.begin(), shares.end()) / messages;
  sample.share_most = *std::max_element(shares.begin(), shares.end()) / messages;
  add_times(sample);
  return sample;
}

void BuildEnds::add_times(BuildSample& sample) const {
  bench::Histogram times;
  for (const Ending& each : builders_) {
    for (const nlohmann::json& step : each.last.at("round_trips")) {
      times.add(step.at(0).get<std::uint64_t>(), step.at(1).get<std::uint64_t>());
    }
  }
  if (times.total() == 0) return;
  sample.p50_us = static_cast<double>(times.at(0.5)) / 1000;
  sample.p99_us = static_cast<double>(times.at(0.99)) / 1000;
}

}  // namespace netio::cli
