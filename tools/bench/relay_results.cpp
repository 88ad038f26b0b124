#include "bench/relay_results.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/system.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

using nlohmann::ordered_json;

// What is compared with others, by its name in JSON.
struct Compared {
  const char* name;
  double RelaySample::*value;
};
constexpr std::array<Compared, 4> all_compared = {
    Compared{"messages_per_s", &RelaySample::messages_per_s},
    Compared{"bytes_per_s", &RelaySample::bytes_per_s},
    Compared{"relay_cpu_ns_per_message", &RelaySample::relay_cpu_ns},
    Compared{"cpu_ns_per_message", &RelaySample::cpu_ns}};

}  // namespace

std::vector<std::string> RelayResults::measured() const {
  std::vector<std::string> names;
  if (rounds_.empty()) return names;
  std::copy_if(
      names_.begin(), names_.end(), std::back_inserter(names), [this](const std::string& name) {
        return std::all_of(rounds_.begin(), rounds_.end(),
                           [&](const RelayRound& round) { return round.samples.count(name) != 0; });
      });
  return names;
}

bool RelayResults::counts(const std::string& name) const {
  return rounds_.front().samples.at(name).counts;
}

Spread RelayResults::spread(const std::string& name, Value value) const {
  std::vector<double> values;
  for (const RelayRound& round : rounds_) values.push_back(round.samples.at(name).*value);
  return spread_of(std::move(values));
}

std::optional<Spread> RelayResults::ratio(const std::string& name, Value value) const {
  std::vector<double> ratios;
  for (const RelayRound& round : rounds_) {
    const auto ours = round.samples.find(our_name);
    if (ours == round.samples.end()) return std::nullopt;
    double theirs = round.samples.at(name).*value;
    if (name == floor_ && round.control) theirs = (theirs + (*round.control).*value) / 2;
    if (theirs <= 0) return std::nullopt;
    ratios.push_back(ours->second.*value / theirs);
  }
  return spread_of(std::move(ratios));
}

std::optional<Spread> RelayResults::control(Value value) const {
  std::vector<double> ratios;
  for (const RelayRound& round : rounds_) {
    const auto first = round.samples.find(floor_);
    if (!round.control || first == round.samples.end()) return std::nullopt;
    if (first->second.*value <= 0) return std::nullopt;
    ratios.push_back((*round.control).*value / (first->second.*value));
  }
  if (ratios.empty()) return std::nullopt;
  return spread_of(std::move(ratios));
}

std::string RelayResults::row(const std::string& name) const {
  const Spread rate = spread(name, &RelaySample::messages_per_s);
  const auto median = [&](Value value) { return spread(name, value).median; };
  std::string copies = "-";
  std::string bytes_copied = "-";
  if (counts(name)) {
    copies = fmt::format("{:.4f}", median(&RelaySample::copies));
    bytes_copied = fmt::format("{:.1f}", median(&RelaySample::bytes_copied));
  }
  return fmt::format("{:<14} {:>10} {:>20} {:>10} {:>13.1f} {:>11.1f} {:>11} {:>10} {:>12}\n", name,
                     short_number(rate.median),
                     fmt::format("{} .. {}", short_number(rate.min), short_number(rate.max)),
                     scaled(median(&RelaySample::bytes_per_s), "B"),
                     median(&RelaySample::relay_cpu_ns), median(&RelaySample::cpu_ns),
                     short_number(median(&RelaySample::switches_per_s)), copies, bytes_copied);
}

std::string RelayResults::to_text() const {
  std::string text = fmt::format(
      "A relay from {} to {}, {} messages of {}, when idle: {}; per message that arrived\n"
      "{:<14} {:>10} {:>20} {:>10} {:>13} {:>11} {:>11} {:>10} {:>12}\n",
      what_.meeting.scheme, to_scheme_, name_of(what_.mode), binary_bytes(what_.message_bytes),
      name_of(what_.wait), "", "messages/s", "min .. max", "bytes/s", "relay CPU ns", "CPU ns",
      "switches/s", "copies", "bytes copied");
  const std::vector<std::string> names = measured();
  for (const std::string& name : names) text += row(name);
  const auto line = [&text](const std::string& name, const std::optional<Spread>& of,
                            const std::optional<Spread>& cpu) {
    if (!of) return;
    text +=
        fmt::format("  {:<24} {:>8.3f}   ({:.3f} .. {:.3f})", name, of->median, of->min, of->max);
    if (cpu)
      text +=
          fmt::format(", relay's CPU {:.3f} ({:.3f} .. {:.3f})", cpu->median, cpu->min, cpu->max);
    text += "\n";
  };
  if (names.size() > 1 && names.front() == our_name) {
    text += "Ratios of the rates, round by round (above 1 netio is faster):\n";
    for (const std::string& name : names) {
      if (name == our_name) continue;
      line(fmt::format("{} / {}", our_name, name), ratio(name, &RelaySample::messages_per_s),
           ratio(name, &RelaySample::relay_cpu_ns));
    }
  }
  line(fmt::format("control: {0} / {0}", floor_), control(&RelaySample::messages_per_s),
       control(&RelaySample::relay_cpu_ns));
  for (const auto& [name, why] : failures_) text += fmt::format("FAILED {}: {}\n", name, why);
  if (rounds_.size() != rounds_wanted_) {
    text += fmt::format("INCOMPLETE: {} of {} rounds\n", rounds_.size(), rounds_wanted_);
  }
  return text;
}

ordered_json RelayResults::to_json() const {
  ordered_json said = {{"case",
                        {{"what", "relay"},
                         {"scheme", what_.meeting.scheme},
                         {"to_scheme", to_scheme_},
                         {"size_bytes", what_.message_bytes},
                         {"mode", name_of(what_.mode)},
                         {"wait", name_of(what_.wait)},
                         {"seconds", what_.seconds},
                         {"rounds", rounds_.size()},
                         {"rounds_wanted", rounds_wanted_}}},
                       {"complete", rounds_.size() == rounds_wanted_},
                       {"systems", ordered_json::object()},
                       {"ratio", ordered_json::object()},
                       {"ratio_spread", ordered_json::object()}};
  for (const std::string& name : measured()) {
    ordered_json& system = said["systems"][name];
    for (const auto& [key, value] : all_compared) system[key] = json_of(spread(name, value));
    system["relay_context_switches_per_s"] = json_of(spread(name, &RelaySample::switches_per_s));
    if (counts(name)) {
      system["relay_copies_per_message"] = json_of(spread(name, &RelaySample::copies));
      system["relay_bytes_copied_per_message"] = json_of(spread(name, &RelaySample::bytes_copied));
      system["relay_pages_per_message"] = json_of(spread(name, &RelaySample::pages));
    }
    if (name == our_name) continue;
    for (const auto& [key, value] : all_compared) {
      if (const auto of = ratio(name, value)) {
        said["ratio"][name][key] = of->median;
        said["ratio_spread"][name][key] = json_of(*of);
      }
    }
  }
  for (const auto& [key, value] : all_compared) {
    if (const auto twice = control(value)) said["control"][key] = json_of(*twice);
  }
  said["failed"] = failures_;
  return said;
}

}  // namespace netio::cli
