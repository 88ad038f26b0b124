#include "bench/audience.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>

#include <fmt/format.h>

namespace netio::cli {

namespace {

// Up to this many subscribers are processes of their own, more share a few.
constexpr std::uint32_t processes_max = 16;
constexpr std::uint32_t shared_processes = 4;
constexpr std::chrono::seconds time_to_drop{10};

std::vector<std::string> words_for(const Contender& contender) {
  const FanoutArguments& fanout = contender.fanout;
  std::vector<std::string> words = {"--tags", std::to_string(fanout.tags), "--policy",
                                    fanout.policy};
  if (fanout.resolved) words.emplace_back("--resolved");
  if (fanout.shuffled) words.emplace_back("--shuffled");
  if (contender.push) words.emplace_back("--push");
  return words;
}

}  // namespace

Audience::Audience(Stage& stage, const Contender& contender, const Case& what)
    : stage_(stage), contender_(contender), what_(what), port_(what.meeting.port) {
  publisher_ = start_worker(*contender_.system, "publish", what_, stage_.places(), port_,
                            words_for(contender_));
  const std::uint32_t stopped = contender_.fanout.stopped;
  const std::uint32_t wanting = contender_.recipients();
  for (std::uint32_t i = 0; i < stopped; ++i) start_group(i, 1, true);
  const std::uint32_t first = std::max(stopped, wanting);
  start_groups(stopped, first - stopped);
  start_groups(first, contender_.fanout.subscribers - first);
}

Audience::~Audience() {
  for (const Group& group : groups_) {
    if (group.stopped) group.end->signal(SIGCONT);
  }
}

// All in it are recipients, or none is.
void Audience::start_groups(std::uint32_t first, std::uint32_t count) {
  std::uint32_t left = count <= processes_max ? count : shared_processes;
  for (const std::uint32_t end = first + count; left > 0; --left) {
    const std::uint32_t share = (end - first) / left;
    start_group(first, share, false);
    first += share;
  }
}

void Audience::start_group(std::uint32_t first, std::uint32_t count, bool stopped) {
  Group group;
  group.wants = first < contender_.recipients();
  group.stopped = stopped;
  Case share = what_;
  share.connections = count;
  std::vector<std::string> words = words_for(contender_);
  words.insert(words.end(), {"--set", std::to_string(group.wants ? 0 : first + 1)});
  group.end = start_worker(*contender_.system, "subscribe", share, stage_.places(), port_, words);
  groups_.push_back(std::move(group));
}

void Audience::snap(nlohmann::json Group::*which) {
  for (Group& group : groups_) {
    if (!group.stopped) group.*which = group.end->ask("snap");
  }
}

// Until what those that are stopped may have waiting is full: only then do they differ from others
// that are asleep.
void Audience::await_drops() {
  const auto until = stage_.loop().now() + time_to_drop;
  while (stage_.loop().now() < until) {
    const nlohmann::json said = publisher_->ask("snap");
    if (!said.contains("dropped") || !said["dropped"].empty()) return;
    let_pass(stage_.loop(), std::chrono::milliseconds(50));
  }
  throw EndFailure(fmt::format("{} dropped nothing within {} s: a higher --rate would show more",
                               publisher_->name(), time_to_drop.count()));
}

FanoutSample Audience::measure() {
  (void)publisher_->ask("record");
  for (const Group& group : groups_) {
    if (group.stopped) group.end->signal(SIGSTOP);
  }
  let_pass(stage_.loop(), warm_up(what_));
  if (contender_.fanout.stopped != 0) await_drops();
  snap(&Group::from);
  const nlohmann::json from = publisher_->ask("snap");
  let_messages_pass(stage_.loop(), what_, *publisher_, from);
  const nlohmann::json to = publisher_->ask("snap");
  snap(&Group::to);
  // Nobody may find its peer gone before it was told to stop.
  (void)stop_worker(*publisher_);

  FanoutSample sample;
  sample.published = difference(from, to, "messages");
  if (sample.published <= 0) {
    throw EndFailure(fmt::format("{}: nothing was published", publisher_->name()));
  }
  sample.published_per_s = sample.published / difference(from, to, "ns") * 1e9;
  sample.publisher_cpu_ns = difference(from, to, "cpu_ns") / sample.published;
  if (to.contains("bodies_encoded")) {
    sample.bodies_encoded = difference(from, to, "bodies_encoded");
    sample.unwanted = difference(from, to, "unwanted");
  }
  if (to.contains("dropped")) {
    for (const auto& [reason, count] : to["dropped"].items()) {
      sample.dropped[reason] = count.get<double>() - from["dropped"].value(reason, 0.0);
    }
  }
  add_deliveries(sample);
  return sample;
}

void Audience::add_deliveries(FanoutSample& sample) const {
  std::vector<double> rates;
  double delivered = 0;
  double cpu_ns = 0;
  for (const Group& group : groups_) {
    if (group.stopped) continue;
    check_faults(*group.end, group.to);
    if (!group.wants && group.to.at("messages") != 0) {
      throw EndFailure(group.end->name() + " got what it had not subscribed");
    }
    cpu_ns += difference(group.from, group.to, "cpu_ns");
    if (!group.wants) continue;
    delivered += difference(group.from, group.to, "messages");
    sample.missed += group.to.at("missed").get<double>();
    const double seconds = difference(group.from, group.to, "ns") / 1e9;
    for (std::size_t i = 0; i < group.to.at("subscribers").size(); ++i) {
      rates.push_back((group.to["subscribers"][i].get<double>() -
                       group.from.at("subscribers")[i].get<double>()) /
                      seconds);
    }
  }
  if (rates.empty()) return;
  std::sort(rates.begin(), rates.end());
  sample.slowest_per_s = rates.front();
  sample.delivered_per_s = rates[rates.size() / 2];
  sample.fastest_per_s = rates.back();
  if (sample.slowest_per_s <= 0) throw EndFailure(contender_.name + ": nothing arrived");
  sample.subscriber_cpu_ns = cpu_ns / delivered;
}

}  // namespace netio::cli
