#include "bench/fanout_results.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "units.hpp"

namespace netio::cli {

namespace {

using nlohmann::ordered_json;

}  // namespace

const std::vector<FanoutResults::Figure>& FanoutResults::figures() {
  static const std::vector<Figure> all = {
      {"messages_per_s", "delivered", &FanoutSample::delivered_per_s},
      {"slowest_messages_per_s", "slowest", &FanoutSample::slowest_per_s},
      {"published_per_s", "published", &FanoutSample::published_per_s},
      {"publisher_cpu_ns_per_message", "publisher's CPU", &FanoutSample::publisher_cpu_ns}};
  return all;
}

std::vector<std::string> FanoutResults::measured() const {
  std::vector<std::string> names;
  if (rounds_.empty()) return names;
  std::copy_if(names_.begin(), names_.end(), std::back_inserter(names),
               [this](const std::string& name) {
                 return std::all_of(rounds_.begin(), rounds_.end(), [&](const FanoutRound& round) {
                   return round.samples.count(name) != 0;
                 });
               });
  return names;
}

Spread FanoutResults::spread(const std::string& name, Value value) const {
  std::vector<double> values;
  for (const FanoutRound& round : rounds_) values.push_back(round.samples.at(name).*value);
  return spread_of(std::move(values));
}

std::optional<Spread> FanoutResults::ratio(const std::string& name, Value value) const {
  std::vector<double> ratios;
  for (const FanoutRound& round : rounds_) {
    const double ours = round.samples.at(std::string(our_name)).*value;
    double theirs = round.samples.at(name).*value;
    if (name == reference_ && round.control) theirs = (theirs + (*round.control).*value) / 2;
    if (ours <= 0 || theirs <= 0) return std::nullopt;
    ratios.push_back(ours / theirs);
  }
  return spread_of(std::move(ratios));
}

std::optional<Spread> FanoutResults::control(Value value) const {
  std::vector<double> ratios;
  for (const FanoutRound& round : rounds_) {
    const auto first = round.samples.find(reference_);
    if (!round.control || first == round.samples.end() || first->second.*value <= 0) {
      return std::nullopt;
    }
    ratios.push_back((*round.control).*value / first->second.*value);
  }
  if (ratios.empty()) return std::nullopt;
  return spread_of(std::move(ratios));
}

std::map<std::string, std::vector<double>> FanoutResults::dropped(const std::string& name) const {
  std::map<std::string, std::vector<double>> all;
  for (const FanoutRound& round : rounds_) {
    for (const auto& [reason, count] : round.samples.at(name).dropped) all[reason];
  }
  for (auto& [reason, counts] : all) {
    for (const FanoutRound& round : rounds_) {
      const auto& dropped = round.samples.at(name).dropped;
      const auto found = dropped.find(reason);
      counts.push_back(found == dropped.end() ? 0 : found->second);
    }
  }
  return all;
}

std::string FanoutResults::title() const {
  std::string who = counted(fanout_.subscribers, "subscriber");
  if (fanout_.stopped != 0) who += fmt::format(", {} of them stopped", fanout_.stopped);
  if (fanout_.recipients) who += fmt::format(", {} want it", *fanout_.recipients);
  return fmt::format(
      "Publishing over {} to {}: {} {} of {}, {} {}{}, policy {}, {}, when idle: {}; higher is "
      "better, of CPU "
      "lower\n"
      "{:<10} {:>11} {:>20} {:>8} {:>20} {:>9} {:>8}\n",
      what_.meeting.scheme, who, name_of(what_.mode), "messages", binary_bytes(what_.message_bytes),
      counted(fanout_.tags, "tag"), fanout_.shuffled ? "in random order" : "in turn",
      fanout_.resolved ? ", looked up before" : "", fanout_.policy,
      what_.rate > 0 ? scaled(what_.rate, "messages/s") : "as fast as it goes", name_of(what_.wait),
      "", "published/s", "min .. max", "CPU ns", "delivered/s to each", "encodings", "CPU ns");
}

std::string FanoutResults::row(const std::string& name) const {
  const Spread published = spread(name, &FanoutSample::published_per_s);
  const Spread delivered = spread(name, &FanoutSample::delivered_per_s);
  std::string encodings = "-";
  if (rounds_.front().samples.at(name).bodies_encoded) {
    encodings = fmt::format("{:.3f}", [&] {
      std::vector<double> each;
      for (const FanoutRound& round : rounds_) {
        const FanoutSample& sample = round.samples.at(name);
        each.push_back(*sample.bodies_encoded / sample.published);
      }
      return spread_of(std::move(each)).median;
    }());
  }
  return fmt::format(
      "{:<10} {:>11} {:>20} {:>8.1f} {:>20} {:>9} {:>8.1f}\n", name, short_number(published.median),
      fmt::format("{} .. {}", short_number(published.min), short_number(published.max)),
      spread(name, &FanoutSample::publisher_cpu_ns).median,
      delivered.median <= 0
          ? "-"
          : fmt::format("{} ({} .. {})", short_number(delivered.median),
                        short_number(spread(name, &FanoutSample::slowest_per_s).min),
                        short_number(spread(name, &FanoutSample::fastest_per_s).max)),
      encodings, spread(name, &FanoutSample::subscriber_cpu_ns).median);
}

std::string FanoutResults::losses(const std::string& name) const {
  std::string text;
  for (const auto& [reason, counts] : dropped(name)) {
    const double median = spread_of(counts).median;
    if (median > 0)
      text += fmt::format("  {}: {} dropped: {}\n", name, short_number(median), reason);
  }
  const Spread missed = spread(name, &FanoutSample::missed);
  if (missed.max > 0) {
    text += fmt::format("  {}: {} missed by those that run ({} .. {})\n", name,
                        short_number(missed.median), short_number(missed.min),
                        short_number(missed.max));
  }
  return text;
}

std::string FanoutResults::to_text() const {
  std::string text = title();
  const std::vector<std::string> names = measured();
  for (const std::string& name : names) text += row(name);
  for (const std::string& name : names) text += losses(name);
  const auto line = [&text](const std::string& name, const Spread& ratio) {
    text += fmt::format("  {:<36} {:>8.3f}   ({:.3f} .. {:.3f})\n", name, ratio.median, ratio.min,
                        ratio.max);
  };
  if (names.size() > 1 && names.front() == our_name)
    text += "Ratios, round by round (above 1 netio is better, of CPU below):\n";
  for (const Figure& figure : figures()) {
    const bool of_several = figure.value == &FanoutSample::slowest_per_s;
    if (of_several && fanout_.subscribers == 1) continue;
    for (const std::string& name : names) {
      if (name == our_name || names.front() != our_name) continue;
      if (const auto both = ratio(name, figure.value)) {
        line(fmt::format("{}: {} / {}", figure.called, our_name, name), *both);
      }
    }
    if (const auto twice = control(figure.value)) {
      line(fmt::format("  control: {0} / {0}", reference_), *twice);
    }
  }
  for (const auto& [name, why] : failures_) text += fmt::format("FAILED {}: {}\n", name, why);
  if (!complete()) {
    text += fmt::format("INCOMPLETE: {} of {} rounds\n", rounds_.size(), rounds_wanted_);
  }
  return text;
}

ordered_json FanoutResults::system_json(const std::string& name) const {
  ordered_json said;
  for (const Figure& figure : figures()) said[figure.key] = json_of(spread(name, figure.value));
  said["fastest_messages_per_s"] = json_of(spread(name, &FanoutSample::fastest_per_s));
  said["subscriber_cpu_ns_per_message"] = json_of(spread(name, &FanoutSample::subscriber_cpu_ns));
  said["published"] = json_of(spread(name, &FanoutSample::published));
  said["missed"] = json_of(spread(name, &FanoutSample::missed));
  said["dropped"] = ordered_json::object();
  for (const auto& [reason, counts] : dropped(name)) {
    said["dropped"][reason] = json_of(spread_of(counts));
  }
  said["bodies_encoded"] = nullptr;
  if (!rounds_.front().samples.at(name).bodies_encoded) return said;
  std::vector<double> encoded;
  std::vector<double> each;
  std::vector<double> unwanted;
  for (const FanoutRound& round : rounds_) {
    const FanoutSample& sample = round.samples.at(name);
    encoded.push_back(*sample.bodies_encoded);
    each.push_back(*sample.bodies_encoded / sample.published);
    unwanted.push_back(*sample.unwanted);
  }
  said["bodies_encoded"] = json_of(spread_of(encoded));
  said["bodies_encoded_per_message"] = json_of(spread_of(each));
  said["unwanted"] = json_of(spread_of(unwanted));
  return said;
}

ordered_json FanoutResults::to_json() const {
  const std::uint32_t all = fanout_.subscribers;
  ordered_json said = {{"case",
                        {{"what", "fanout"},
                         {"scheme", what_.meeting.scheme},
                         {"subscribers", all},
                         {"recipients", std::min(all, fanout_.recipients.value_or(all))},
                         {"stopped", fanout_.stopped},
                         {"tags", fanout_.tags},
                         {"order", fanout_.shuffled ? "random" : "turn"},
                         {"resolved", fanout_.resolved},
                         {"policy", fanout_.policy},
                         {"size_bytes", what_.message_bytes},
                         {"mode", name_of(what_.mode)},
                         {"wait", name_of(what_.wait)},
                         {"seconds", what_.seconds},
                         {"rate_per_s", what_.rate},
                         {"rounds", rounds_.size()},
                         {"rounds_wanted", rounds_wanted_}}},
                       {"complete", complete()},
                       {"systems", ordered_json::object()},
                       {"ratio", ordered_json::object()},
                       {"ratio_spread", ordered_json::object()}};
  const std::vector<std::string> names = measured();
  for (const std::string& name : names) {
    said["systems"][name] = system_json(name);
    if (name == our_name || names.front() != our_name) continue;
    for (const Figure& figure : figures()) {
      const auto both = ratio(name, figure.value);
      if (!both) continue;
      said["ratio"][name][figure.key] = both->median;
      said["ratio_spread"][name][figure.key] = json_of(*both);
    }
  }
  for (const Figure& figure : figures()) {
    if (const auto twice = control(figure.value)) said["control"][figure.key] = json_of(*twice);
  }
  said["failed"] = failures_;
  return said;
}

}  // namespace netio::cli
