#include "bench/results.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/figures.hpp"
#include "bench/system.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

using nlohmann::ordered_json;

// What the floor must reach, or the machine was too busy to conclude anything.
constexpr double floor_over_zmq_min = 9;
constexpr std::size_t floor_check_bytes = 64;
constexpr const char* zmq_name = "zmq";

std::string subject(const Case& what) {
  if (what.concurrent != 0) return fmt::format("{} requests under way,", what.concurrent);
  if (what.what != What::latency) return "One way";
  return what.requests ? "Round trips of requests" : "Round trips";
}

}  // namespace

std::string short_number(double value) {
  std::string text = scaled(value, "");
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

ordered_json json_of(const Spread& spread) {
  return {{"median", spread.median}, {"min", spread.min}, {"max", spread.max}};
}

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
}

std::vector<std::string> Results::systems() const {
  std::vector<std::string> names;
  if (rounds_.empty()) return names;
  for (const auto& first : rounds_.front().samples) {
    const std::string& name = first.first;
    const bool everywhere = std::all_of(rounds_.begin(), rounds_.end(), [&](const Round& round) {
      return round.samples.count(name) != 0;
    });
    if (everywhere) names.push_back(name);
  }
  const auto rank = [this](const std::string& name) {
    return name == our_name ? 0 : name == pair_name ? 1 : name == floor() ? 2 : 3;
  };
  std::stable_sort(names.begin(), names.end(),
                   [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
  return names;
}

bool Results::has(std::string_view system) const {
  const std::vector<std::string> names = systems();
  return std::find(names.begin(), names.end(), system) != names.end();
}

template <typename Value>
Spread Results::ratio(const std::string& peer, Value&& value) const {
  std::vector<double> ratios;
  for (const Round& round : rounds_) {
    double theirs = value(round.samples.at(peer));
    if (peer == floor() && round.control) theirs = (theirs + value(*round.control)) / 2;
    ratios.push_back(value(round.samples.find(our_name)->second) / theirs);
  }
  return spread_of(std::move(ratios));
}

template <typename Value>
std::optional<Spread> Results::control(Value&& value) const {
  std::vector<double> ratios;
  for (const Round& round : rounds_) {
    const auto first = round.samples.find(floor());
    if (!round.control || first == round.samples.end()) return std::nullopt;
    ratios.push_back(value(*round.control) / value(first->second));
  }
  if (ratios.empty()) return std::nullopt;
  return spread_of(std::move(ratios));
}

std::string Results::why_void() const {
  if (what_.what != What::throughput || what_.requests || what_.mode != Mode::buffered ||
      what_.message_bytes != floor_check_bytes || !has(floor()) || !has(zmq_name)) {
    return {};
  }
  const double least = spread(floor(), figure::messages_per_s).median;
  const double zmq = spread(zmq_name, figure::messages_per_s).median;
  if (least >= floor_over_zmq_min * zmq) return {};
  return fmt::format("the floor reached {:.1f} times zmq, and must reach {:.0f} times", least / zmq,
                     floor_over_zmq_min);
}

bench::Histogram Results::round_trips(const std::string& system) const {
  bench::Histogram all;
  for (const Round& round : rounds_) all.add(round.samples.at(system).round_trips);
  return all;
}

std::string Results::floor() const {
  return std::string(floor_name(what_.meeting, what_.concurrent != 0));
}

std::string Results::title() const {
  const bool latency = what_.what == What::latency;
  std::string pace = "as fast as it goes";
  if (latency) pace = what_.rate > 0 ? scaled(what_.rate, "requests/s") : "closed loop";
  const bool loan = what_.what == What::loan;
  std::string text = fmt::format(
      "{} over {}, {} {} of {}, {}, when idle: {}; {} is better\n", subject(what_),
      what_.meeting.wire(), name_of(what_.mode), loan ? "loans, written and read," : "messages",
      binary_bytes(what_.message_bytes), pace, name_of(what_.wait), latency ? "lower" : "higher");
  if (latency) {
    return text + fmt::format("{:<8} {:>10} {:>10} {:>10} {:>18} {:>12} {:>11}\n", "", "p50 us",
                              "p99 us", "p99.9 us", "p50 min .. max", "CPU ns/trip", "switches/s");
  }
  return text + fmt::format("{:<8} {:>10} {:>20} {:>10} {:>12} {:>11}\n", "",
                            what_.requests ? "answers/s" : "messages/s", "min .. max", "bytes/s",
                            "CPU ns/msg", "switches/s");
}

std::string Results::row(const std::string& system) const {
  const std::string tail = fmt::format("{:>12.1f} {:>11}\n", spread(system, figure::cpu_ns).median,
                                       short_number(spread(system, figure::switches_per_s).median));
  if (what_.what == What::latency) {
    const Spread p50 = spread(system, figure::rtt_us(0.5));
    return fmt::format("{:<8} {:>10.2f} {:>10.2f} {:>10.2f} {:>18} {}", system, p50.median,
                       spread(system, figure::rtt_us(0.99)).median,
                       spread(system, figure::rtt_us(0.999)).median,
                       fmt::format("{:.2f} .. {:.2f}", p50.min, p50.max), tail);
  }
  const Spread rate = spread(system, figure::messages_per_s);
  return fmt::format("{:<8} {:>10} {:>20} {:>10} {}", system, short_number(rate.median),
                     fmt::format("{} .. {}", short_number(rate.min), short_number(rate.max)),
                     scaled(spread(system, figure::bytes_per_s).median, "B"), tail);
}

std::string Results::to_text() const {
  const bool latency = what_.what == What::latency;
  const auto measured = [latency](const Sample& sample) {
    return latency ? figure::rtt_us(0.5)(sample) : figure::messages_per_s(sample);
  };
  std::string text = title();
  for (const std::string& name : systems()) text += row(name);
  const auto line = [&text](const std::string& name, const Spread& ratio) {
    text += fmt::format("  {:<18} {:>8.3f}   ({:.3f} .. {:.3f})\n", name, ratio.median, ratio.min,
                        ratio.max);
  };
  if (has(our_name) && systems().size() > 1) {
    text += fmt::format("Ratios of the {}, round by round ({} 1 netio is faster):\n",
                        latency ? "p50" : "rates", latency ? "below" : "above");
    for (const std::string& name : systems()) {
      if (name != our_name) line(fmt::format("{} / {}", our_name, name), ratio(name, measured));
    }
  }
  if (const auto twice = control(measured))
    line(fmt::format("control: {0} / {0}", floor()), *twice);
  for (const std::string& name : systems()) {
    const Spread spread = this->spread(name, measured);
    if (spread.max <= figure::unsteady_max * spread.min) continue;
    text +=
        fmt::format("UNSTEADY: {}, by {:.1f} times between rounds; a median of few says little.\n",
                    name, spread.max / spread.min);
  }
  if (latency && what_.meeting.in_memory() && what_.wait == IdlePolicy::sleep) {
    text +=
        "Before it sleeps, netio looks on for a while: where the other end answers within that, "
        "as it may in a closed loop, nobody sleeps. switches/s tells.\n";
  }
  for (const auto& [name, why] : failures_) text += fmt::format("FAILED {}: {}\n", name, why);
  if (const std::string why = why_void(); !why.empty()) {
    text += fmt::format("VOID: {}. The machine was busy; run it again.\n", why);
  }
  if (!complete()) {
    text += fmt::format("INCOMPLETE: {} of {} rounds\n", rounds_.size(), rounds_wanted_);
  }
  return text;
}

ordered_json Results::json_of_system(const std::string& name) const {
  ordered_json system;
  system["messages_per_s"] = json_of(spread(name, figure::messages_per_s));
  system["bytes_per_s"] = json_of(spread(name, figure::bytes_per_s));
  if (what_.what == What::latency) {
    system["rtt_us"] = {{"p50", json_of(spread(name, figure::rtt_us(0.5)))},
                        {"p99", json_of(spread(name, figure::rtt_us(0.99)))},
                        {"p999", json_of(spread(name, figure::rtt_us(0.999)))}};
  }
  system["cpu_ns_per_message"] = json_of(spread(name, figure::cpu_ns));
  const auto bytes = static_cast<double>(what_.message_bytes);
  system["cpu_ns_per_byte"] =
      json_of(spread(name, [bytes](const Sample& s) { return figure::cpu_ns(s) / bytes; }));
  system["cores_in_use"] = json_of(spread(name, figure::cores));
  if (!what_.meeting.in_one_process()) {
    system["sender_cpu_ns_per_message"] = json_of(
        spread(name, [](const Sample& sample) { return sample.sender.cpu_ns_per_message; }));
    system["receiver_cpu_ns_per_message"] = json_of(
        spread(name, [](const Sample& sample) { return sample.receiver.cpu_ns_per_message; }));
  }
  system["context_switches_per_s"] = json_of(spread(name, figure::switches_per_s));
  return system;
}

ordered_json Results::to_json() const {
  const bool latency = what_.what == What::latency;
  const bool loan = what_.what == What::loan;
  const std::string measured = latency ? "latency" : loan ? "loan" : "throughput";
  ordered_json said;
  said["case"] = {{"what", measured},
                  {"scheme", what_.meeting.scheme},
                  {"host", what_.meeting.in_memory() ? what_.meeting.name : what_.meeting.host},
                  {"size_bytes", what_.message_bytes},
                  {"mode", name_of(what_.mode)},
                  {"wait", name_of(what_.wait)},
                  {"seconds", what_.seconds},
                  {"rate_per_s", what_.rate},
                  {"rounds", rounds_.size()},
                  {"rounds_wanted", rounds_wanted_}};
  if (what_.requests) said["case"]["pattern"] = "request";
  if (what_.concurrent != 0) said["case"]["concurrent"] = what_.concurrent;
  if (loan) said["case"]["touch"] = "all";
  if (what_.window != 0) said["case"]["window"] = what_.window;
  if (what_.page_bytes != 0) said["case"]["page_bytes"] = what_.page_bytes;
  const Meeting& at = what_.meeting;
  if (at.slot_bytes != 0) said["case"]["slot_bytes"] = at.slot_bytes;
  if (at.slots != 0) said["case"]["slots"] = at.slots;
  if (what_.streams != 1) said["case"]["streams"] = what_.streams;
  if (what_.both_ways) said["case"]["both_ways"] = true;
  said["complete"] = complete();
  const std::string why = why_void();
  said["void"] = !why.empty();
  if (!why.empty()) said["void_why"] = why;
  said["systems"] = ordered_json::object();
  said["ratio"] = ordered_json::object();
  said["ratio_spread"] = ordered_json::object();
  for (const std::string& name : systems()) {
    said["systems"][name] = json_of_system(name);
    if (name == our_name || !has(our_name)) continue;
    const auto add = [&](const char* key, const Spread& spread) {
      said["ratio"][name][key] = spread.median;
      said["ratio_spread"][name][key] = json_of(spread);
    };
    add("messages_per_s", ratio(name, figure::messages_per_s));
    add("bytes_per_s", ratio(name, figure::bytes_per_s));
    if (latency) add("rtt_us_p50", ratio(name, figure::rtt_us(0.5)));
  }
  if (const auto twice = latency ? control(figure::rtt_us(0.5)) : control(figure::messages_per_s)) {
    said["control"] = {{latency ? "rtt_us_p50" : "messages_per_s", json_of(*twice)}};
  }
  said["failed"] = failures_;
  return said;
}

}  // namespace netio::cli
