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

// A manager assigns nothing for two leases, which are of 2 s (bench/systems/netio/manage.cpp).
constexpr std::chrono::seconds time_to_learn{30};
constexpr std::chrono::milliseconds look_every{10};

// With fewer ranges their CPU means nothing.
constexpr double ranges_min = 5;

// Of an end in a namespace of its own. There are at most 64 builders and 64 read-out ends.
std::string own_address(std::string_view role, std::uint32_t number) {
  constexpr std::uint32_t first_builder = 1;
  constexpr std::uint32_t manager = 65;
  constexpr std::uint32_t first_readout = 66;
  const std::uint32_t last = role == "build"    ? first_builder + number
                             : role == "manage" ? manager
                                                : first_readout + number;
  return fmt::format("10.205.0.{}", last);
}

std::uint64_t books_of(const nlohmann::json& said, const char* what) {
  return said.value(what, std::uint64_t{0});
}

}  // namespace

BuildEnds::BuildEnds(Stage& stage, const BenchBuildArguments& build, const Case& what,
                     BuildSystem system)
    : stage_(stage), build_(build), what_(what), system_(system) {
  if (system_ == BuildSystem::managed) manager_.end = start("manage", 0, manager_port_);
  for (std::uint32_t number = 0; number < build_.builders; ++number) {
    std::uint16_t port = what_.meeting.port;  // the user's, or any
    builders_.push_back({start("build", number, port), {}, {}, {}});
    ports_.push_back(port);
  }
  for (std::uint32_t number = 0; number < build_.readouts; ++number) {
    std::uint16_t port = 0;
    readouts_.push_back({start("readout", number, port), {}, {}, {}});
  }
  if (manager_.end) await_term();
}

void BuildEnds::await_term() {
  for (auto left = std::chrono::nanoseconds(time_to_learn); left.count() > 0; left -= look_every) {
    if (books_of(manager_.end->ask("snap"), "term") != 0) return;
    let_pass(stage_.loop(), look_every);
  }
  throw EndFailure("the event manager does not begin");
}

// No process is pinned: there are mostly more of them than cores.
std::unique_ptr<End> BuildEnds::start(const char* role, std::uint32_t number, std::uint16_t& port) {
  const Places with_cores = stage_.places();
  NetworkPlace network(with_cores.here);
  const Places places =
      build_.namespaces ? Places{network, network} : Places{with_cores.here, with_cores.there};
  Case what = what_;
  if (build_.namespaces) what.meeting.host = own_address(role, number);
  if (std::string_view(role) == "build") what.connections = build_.readouts;
  return start_worker(*find_system(our_name), role, what, places, port, words_for(role, number));
}

std::vector<std::string> BuildEnds::words_for(const char* role, std::uint32_t number) const {
  std::vector<std::string> words = {"--readouts",    std::to_string(build_.readouts),
                                    "--builders",    std::to_string(build_.builders),
                                    "--number",      std::to_string(number),
                                    "--range",       std::to_string(build_.range_events),
                                    "--store",       std::to_string(build_.store_bytes),
                                    "--unit-window", std::to_string(build_.window_bytes)};
  const auto add = [&words](const char* option, const std::string& value) {
    words.insert(words.end(), {option, value});
  };
  if (system_ == BuildSystem::plain) words.emplace_back("--plain");
  if (build_.namespaces) add("--own-network", own_address(role, number));
  if (manager_.end) {
    words.emplace_back("--managed");
    add("--credit", std::to_string(build_.credit));
    add("--manager-port", std::to_string(manager_port_));
    if (build_.namespaces) add("--manager-host", own_address("manage", 0));
  }
  if (std::string_view(role) != "readout" || what_.meeting.in_memory()) return words;
  add("--ports", fmt::format("{}", fmt::join(ports_, ",")));
  if (build_.namespaces) {
    std::vector<std::string> hosts;
    for (std::uint32_t i = 0; i < build_.builders; ++i) hosts.push_back(own_address("build", i));
    add("--hosts", fmt::format("{}", fmt::join(hosts, ",")));
  }
  return words;
}

void BuildEnds::snap(nlohmann::json Ending::*which) {
  for (Ending& each : builders_) each.*which = each.end->ask("snap");
  for (Ending& each : readouts_) each.*which = each.end->ask("snap");
  if (manager_.end) manager_.*which = manager_.end->ask("snap");
}

// The read-out ends together: the last events of each need the fragments of all.
void BuildEnds::stop() {
  for (const Ending& each : readouts_) each.end->say("stop");
  for (Ending& each : readouts_) each.last = each.end->answer();
  for (Ending& each : builders_) each.last = stop_worker(*each.end);
  if (manager_.end) manager_.last = stop_worker(*manager_.end);
}

BuildSample BuildEnds::measure() {
  const auto begin = std::chrono::steady_clock::now().time_since_epoch() + time_to_begin;
  const auto begin_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(begin).count();
  for (const Ending& each : readouts_) (void)each.end->ask(fmt::format("record {}", begin_ns));
  let_pass(stage_.loop(), time_to_begin);
  let_pass(stage_.loop(), warm_up(what_));
  for (const Ending& each : builders_) (void)each.end->ask("record");
  snap(&Ending::from);
  const Ending& counting = builders_.front();
  let_messages_pass(stage_.loop(), what_, *counting.end, counting.from);
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
  if (const std::uint64_t revoked = manager_.end ? books_of(manager_.last, "revoked") : 0) {
    throw EndFailure(fmt::format("{} ranges were taken away from builders", revoked));
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

void BuildEnds::check_ranges() const {
  const double settled = difference(manager_.from, manager_.to, "settled");
  if (what_.verify || settled >= ranges_min) return;
  throw EndFailure(
      fmt::format("only {:.0f} ranges were settled while the manager was looked at, which says "
                  "nothing; give a shorter --range, or more --seconds",
                  settled));
}

BuildSample BuildEnds::sample() const {
  if (manager_.end) check_ranges();
  BuildSample sample;
  double messages = 0;
  double copied = 0;
  double events = 0;
  std::vector<double> shares;
  for (const Ending& each : builders_) {
    const double of_this = difference(each.from, each.to, "messages");
    const double seconds = difference(each.from, each.to, "ns") / 1e9;
    messages += of_this;
    shares.push_back(of_this);
    sample.messages_per_s += of_this / seconds;
    if (system_ != BuildSystem::plain) {
      const double events_of_this = difference(each.from, each.to, "events");
      sample.events_per_s += events_of_this / seconds;
      events += events_of_this;
    }
    copied += difference(each.from, each.to, "bytes_copied");
    sample.builder_cpu_ns += difference(each.from, each.to, "cpu_ns");
    sample.resident_bytes_max =
        std::max(sample.resident_bytes_max, each.to.at("resident_bytes_max").get<double>());
    sample.open_bytes_max =
        std::max(sample.open_bytes_max, static_cast<double>(books_of(each.to, "open_bytes_max")));
  }
  if (messages <= 0) {
    throw EndFailure(system_ == BuildSystem::plain ? "plain: nothing arrived"
                                                   : "nothing was built");
  }
  for (const Ending& each : readouts_) {
    sample.readout_cpu_ns += difference(each.from, each.to, "cpu_ns");
  }
  if (system_ == BuildSystem::plain) sample.events_per_s = sample.messages_per_s / build_.readouts;
  sample.bytes_per_s = sample.messages_per_s * static_cast<double>(what_.message_bytes);
  sample.readout_cpu_ns /= messages;
  sample.builder_cpu_ns /= messages;
  sample.bytes_copied = copied / messages;
  sample.share_least = *std::min_element(shares.begin(), shares.end()) / messages;
  sample.share_most = *std::max_element(shares.begin(), shares.end()) / messages;
  add_times(sample);
  if (manager_.end && !what_.verify) add_manager(sample, events);
  return sample;
}

void BuildEnds::add_manager(BuildSample& sample, double events) const {
  const double cpu_ns = difference(manager_.from, manager_.to, "loop_cpu_ns");
  sample.manager_ranges = difference(manager_.from, manager_.to, "settled");
  sample.manager_range_cpu_ns = cpu_ns / sample.manager_ranges;
  sample.manager_event_cpu_ns = cpu_ns / events;
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
