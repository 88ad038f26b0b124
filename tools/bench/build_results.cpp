#include "bench/build_results.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/system.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

using nlohmann::ordered_json;

// By its name in JSON.
struct BuildFigure {
  const char* key;
  double BuildSample::*value;
  bool compared = true;
  bool of_manager = false;
};
constexpr std::array<BuildFigure, 15> all_build_figures = {
    BuildFigure{"messages_per_s", &BuildSample::messages_per_s},
    BuildFigure{"bytes_per_s", &BuildSample::bytes_per_s},
    BuildFigure{"events_per_s", &BuildSample::events_per_s},
    BuildFigure{"readout_cpu_ns_per_message", &BuildSample::readout_cpu_ns},
    BuildFigure{"builder_cpu_ns_per_message", &BuildSample::builder_cpu_ns},
    BuildFigure{"time_us_p50", &BuildSample::p50_us},
    BuildFigure{"time_us_p99", &BuildSample::p99_us},
    BuildFigure{"builder_share_least", &BuildSample::share_least, false},
    BuildFigure{"builder_share_most", &BuildSample::share_most, false},
    BuildFigure{"builder_open_bytes_max", &BuildSample::open_bytes_max, false},
    BuildFigure{"builder_resident_bytes_max", &BuildSample::resident_bytes_max, false},
    BuildFigure{"builder_bytes_copied_per_message", &BuildSample::bytes_copied, false},
    BuildFigure{"manager_ranges_settled", &BuildSample::manager_ranges, false, true},
    BuildFigure{"manager_cpu_ns_per_range", &BuildSample::manager_range_cpu_ns, false, true},
    BuildFigure{"manager_cpu_ns_per_event", &BuildSample::manager_event_cpu_ns, false, true}};

// As many bytes of each unit may be open at a builder, if the command does not say otherwise.
constexpr std::uint64_t window_bytes_default_max = std::uint64_t{4} << 20U;

}  // namespace

Spread BuildResults::spread(System system, Value value) const {
  std::vector<double> values;
  for (const BuildRound& round : rounds_) values.push_back(round.*system.*value);
  return spread_of(std::move(values));
}

std::optional<Spread> BuildResults::ratio(System system, System other, Value value) const {
  const bool over_plain = other == &BuildRound::plain && system != &BuildRound::control;
  std::vector<double> ratios;
  for (const BuildRound& round : rounds_) {
    const double below =
        over_plain ? (round.plain.*value + round.control.*value) / 2 : round.*other.*value;
    if (below <= 0) return std::nullopt;
    ratios.push_back(round.*system.*value / below);
  }
  if (ratios.empty()) return std::nullopt;
  return spread_of(std::move(ratios));
}

std::string BuildResults::row(std::string_view name, System system) const {
  const Spread rate = spread(system, &BuildSample::messages_per_s);
  const auto median = [&](Value value) { return spread(system, value).median; };
  const double p50 = median(&BuildSample::p50_us);
  return fmt::format("{:<8} {:>11} {:>20} {:>10} {:>9} {:>12.1f} {:>14.1f} {:>10} {:>10}\n", name,
                     short_number(rate.median),
                     fmt::format("{} .. {}", short_number(rate.min), short_number(rate.max)),
                     scaled(median(&BuildSample::bytes_per_s), "B"),
                     short_number(median(&BuildSample::events_per_s)),
                     median(&BuildSample::readout_cpu_ns), median(&BuildSample::builder_cpu_ns),
                     p50 > 0 ? fmt::format("{:.1f}", p50) : "-",
                     p50 > 0 ? fmt::format("{:.1f}", median(&BuildSample::p99_us)) : "-");
}

std::string BuildResults::memory(std::string_view name, System system) const {
  const auto median = [&](Value value) { return spread(system, value).median; };
  const auto most = [&](Value value) { return spread(system, value).max; };
  std::string open;
  if (system != &BuildRound::plain) {
    const bool given = build_.window_bytes != 0;
    const std::uint64_t window = given ? build_.window_bytes : window_bytes_default_max;
    open = fmt::format("{} in open events (of {}{} in {} windows), ",
                       binary_bytes(static_cast<std::uint64_t>(most(&BuildSample::open_bytes_max))),
                       given ? "" : "at most ", binary_bytes(window * build_.readouts),
                       build_.readouts);
  }
  return fmt::format(
      "  {}: a builder had {:.1f} to {:.1f} % of the messages; at most {}{} resident; it copied "
      "{:.1f} bytes a message\n",
      name, median(&BuildSample::share_least) * 100, median(&BuildSample::share_most) * 100, open,
      binary_bytes(static_cast<std::uint64_t>(most(&BuildSample::resident_bytes_max))),
      median(&BuildSample::bytes_copied));
}

std::string BuildResults::manager() const {
  const auto of = [&](Value value) { return spread(&BuildRound::managed, value); };
  const Spread range = of(&BuildSample::manager_range_cpu_ns);
  const Spread event = of(&BuildSample::manager_event_cpu_ns);
  return fmt::format(
      "  event manager: {:.0f} ns of CPU for a range that was settled ({:.0f} .. {:.0f}), "
      "{:.1f} ns for an event ({:.1f} .. {:.1f}); {:.0f} ranges a round\n",
      range.median, range.min, range.max, event.median, event.min, event.max,
      of(&BuildSample::manager_ranges).median);
}

std::string BuildResults::ratio_lines() const {
  std::string text = "Ratios, round by round (of rates above 1 the first is faster):\n";
  const auto line = [&](const std::string& name, const std::optional<Spread>& of) {
    if (!of) return;
    text +=
        fmt::format("  {:<40} {:>8.3f}   ({:.3f} .. {:.3f})\n", name, of->median, of->min, of->max);
  };
  const auto lines = [&](std::string_view name, System system, std::string_view other_name,
                         System other) {
    line(fmt::format("messages/s: {} / {}", name, other_name),
         ratio(system, other, &BuildSample::messages_per_s));
    line(fmt::format("unit CPU: {} / {}", name, other_name),
         ratio(system, other, &BuildSample::readout_cpu_ns));
    line(fmt::format("builder CPU: {} / {}", name, other_name),
         ratio(system, other, &BuildSample::builder_cpu_ns));
  };
  lines(our_name, &BuildRound::building, plain_name, &BuildRound::plain);
  if (build_.managed) {
    lines(managed_name, &BuildRound::managed, plain_name, &BuildRound::plain);
    lines(managed_name, &BuildRound::managed, our_name, &BuildRound::building);
  }
  line(fmt::format("control, messages/s: {0} / {0}", plain_name),
       ratio(&BuildRound::control, &BuildRound::plain, &BuildSample::messages_per_s));
  return text;
}

std::string BuildResults::to_text() const {
  std::string text = fmt::format(
      "Event building over {}{}: {}, {}, {} a range, fragments of {}, {}, when idle: {}; CPU per "
      "message that arrived\n",
      what_.meeting.scheme, build_.namespaces ? " between network namespaces" : "",
      counted(build_.readouts, "read-out unit"), counted(build_.builders, "builder"),
      counted(build_.range_events, "event"), binary_bytes(what_.message_bytes),
      what_.rate > 0 ? scaled(what_.rate, "events/s") : "as fast as it goes", name_of(what_.wait));
  if (!rounds_.empty()) {
    text += fmt::format("{:<8} {:>11} {:>20} {:>10} {:>9} {:>12} {:>14} {:>10} {:>10}\n", "",
                        "messages/s", "min .. max", "bytes/s", "events/s", "unit CPU ns",
                        "builder CPU ns", "p50 us", "p99 us");
    text += row(our_name, &BuildRound::building);
    if (build_.managed) text += row(managed_name, &BuildRound::managed);
    text += row(plain_name, &BuildRound::plain) + memory(our_name, &BuildRound::building);
    if (build_.managed) text += memory(managed_name, &BuildRound::managed);
    text += memory(plain_name, &BuildRound::plain);
    if (build_.managed) text += manager();
    text += ratio_lines();
  }
  if (!failure_.empty()) text += fmt::format("FAILED {}\n", failure_);
  if (rounds_.size() != rounds_wanted_) {
    text += fmt::format("INCOMPLETE: {} of {} rounds\n", rounds_.size(), rounds_wanted_);
  }
  return text;
}

ordered_json BuildResults::to_json() const {
  ordered_json said = {{"case",
                        {{"what", "build"},
                         {"scheme", what_.meeting.scheme},
                         {"readouts", build_.readouts},
                         {"builders", build_.builders},
                         {"range_events", build_.range_events},
                         {"size_bytes", what_.message_bytes},
                         {"mode", name_of(what_.mode)},
                         {"wait", name_of(what_.wait)},
                         {"seconds", what_.seconds},
                         {"rate_per_s", what_.rate},
                         {"store_bytes", build_.store_bytes},
                         {"unit_window_bytes", build_.window_bytes},
                         {"managed", build_.managed},
                         {"credit", build_.credit},
                         {"namespaces", build_.namespaces},
                         {"rounds", rounds_.size()},
                         {"rounds_wanted", rounds_wanted_}}},
                       {"complete", rounds_.size() == rounds_wanted_},
                       {"systems", ordered_json::object()},
                       {"ratio", ordered_json::object()},
                       {"ratio_spread", ordered_json::object()}};
  if (!rounds_.empty()) add_figures(said);
  said["failed"] = ordered_json::object();
  if (!failure_.empty()) said["failed"][std::string(our_name)] = failure_;
  return said;
}

void BuildResults::add_figures(ordered_json& said) const {
  const std::string ours(our_name);
  const std::string plain(plain_name);
  const auto add_ratio = [&](const std::string& of, const std::string& over, const auto& ratio,
                             const char* key) {
    if (!ratio) return;
    said[of][over][key] = ratio->median;
    said[of + "_spread"][over][key] = json_of(*ratio);
  };
  for (const BuildFigure& figure : all_build_figures) {
    ordered_json& systems = said["systems"];
    if (!figure.of_manager) {
      systems[ours][figure.key] = json_of(spread(&BuildRound::building, figure.value));
      systems[plain][figure.key] = json_of(spread(&BuildRound::plain, figure.value));
    }
    if (build_.managed) {
      systems[std::string(managed_name)][figure.key] =
          json_of(spread(&BuildRound::managed, figure.value));
    }
    if (!figure.compared) continue;
    add_ratio("ratio", plain, ratio(&BuildRound::building, &BuildRound::plain, figure.value),
              figure.key);
    if (build_.managed) {
      add_ratio("managed_ratio", plain,
                ratio(&BuildRound::managed, &BuildRound::plain, figure.value), figure.key);
      add_ratio("managed_ratio", ours,
                ratio(&BuildRound::managed, &BuildRound::building, figure.value), figure.key);
    }
    const auto twice = ratio(&BuildRound::control, &BuildRound::plain, figure.value);
    if (twice) said["control"][figure.key] = json_of(*twice);
  }
}

std::string BuildResults::csv_header() {
  std::string text = "size_bytes,round,system";
  for (const BuildFigure& figure : all_build_figures) text += fmt::format(",{}", figure.key);
  return text + "\n";
}

std::string BuildResults::to_csv() const {
  std::string text;
  std::size_t number = 0;
  for (const BuildRound& round : rounds_) {
    ++number;
    const std::array<std::pair<std::string_view, const BuildSample*>, 4> turns = {
        {{plain_name, &round.plain},
         {our_name, &round.building},
         {managed_name, &round.managed},
         {plain_name, &round.control}}};
    for (const auto& [name, sample] : turns) {
      if (name == managed_name && !build_.managed) continue;
      text += fmt::format("{},{},{}", what_.message_bytes, number, name);
      for (const BuildFigure& figure : all_build_figures)
        text += fmt::format(",{:.6g}", sample->*figure.value);
      text += "\n";
    }
  }
  return text;
}

}  // namespace netio::cli
