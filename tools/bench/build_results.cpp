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
};
constexpr std::array<BuildFigure, 12> all_build_figures = {
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
    BuildFigure{"builder_bytes_copied_per_message", &BuildSample::bytes_copied, false}};

}  // namespace

Spread BuildResults::spread(System system, Value value) const {
  std::vector<double> values;
  for (const BuildRound& round : rounds_) values.push_back(round.*system.*value);
  return spread_of(std::move(values));
}

std::optional<Spread> BuildResults::ratio(Value value) const {
  std::vector<double> ratios;
  for (const BuildRound& round : rounds_) {
    const double plain = (round.plain.*value + round.control.*value) / 2;
    if (plain <= 0) return std::nullopt;
    ratios.push_back(round.building.*value / plain);
  }
  if (ratios.empty()) return std::nullopt;
  return spread_of(std::move(ratios));
}

std::optional<Spread> BuildResults::control(Value value) const {
  std::vector<double> ratios;
  for (const BuildRound& round : rounds_) {
    if (round.plain.*value <= 0) return std::nullopt;
    ratios.push_back(round.control.*value / (round.plain.*value));
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
  if (system == &BuildRound::building) {
    open =
        fmt::format("{} in open events, ",
                    binary_bytes(static_cast<std::uint64_t>(most(&BuildSample::open_bytes_max))));
  }
  return fmt::format(
      "  {}: a builder had {:.1f} to {:.1f} % of the messages; at most {}{} resident; it copied "
      "{:.1f} bytes a message\n",
      name, median(&BuildSample::share_least) * 100, median(&BuildSample::share_most) * 100, open,
      binary_bytes(static_cast<std::uint64_t>(most(&BuildSample::resident_bytes_max))),
      median(&BuildSample::bytes_copied));
}

std::string BuildResults::to_text() const {
  std::string text = fmt::format(
      "Event building over {}: {}, {}, {} a range, fragments of {}, {}, when idle: {}; CPU per "
      "message that arrived\n",
      what_.meeting.scheme, counted(build_.readouts, "read-out unit"),
      counted(build_.builders, "builder"), counted(build_.range_events, "event"),
      binary_bytes(what_.message_bytes),
      what_.rate > 0 ? scaled(what_.rate, "events/s") : "as fast as it goes", name_of(what_.wait));
  if (!rounds_.empty()) {
    text += fmt::format("{:<8} {:>11} {:>20} {:>10} {:>9} {:>12} {:>14} {:>10} {:>10}\n", "",
                        "messages/s", "min .. max", "bytes/s", "events/s", "unit CPU ns",
                        "builder CPU ns", "p50 us", "p99 us");
    text += row(our_name, &BuildRound::building) + row(plain_name, &BuildRound::plain);
    text += memory(our_name, &BuildRound::building) + memory(plain_name, &BuildRound::plain);
    text += "Ratios, round by round (of rates above 1 event building is faster):\n";
    const auto line = [&](const std::string& name, const std::optional<Spread>& of) {
      if (!of) return;
      text += fmt::format("  {:<40} {:>8.3f}   ({:.3f} .. {:.3f})\n", name, of->median, of->min,
                          of->max);
    };
    line(fmt::format("messages/s: {} / {}", our_name, plain_name),
         ratio(&BuildSample::messages_per_s));
    line(fmt::format("unit CPU: {} / {}", our_name, plain_name),
         ratio(&BuildSample::readout_cpu_ns));
    line(fmt::format("builder CPU: {} / {}", our_name, plain_name),
         ratio(&BuildSample::builder_cpu_ns));
    line(fmt::format("control, messages/s: {0} / {0}", plain_name),
         control(&BuildSample::messages_per_s));
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
                         {"rounds", rounds_.size()},
                         {"rounds_wanted", rounds_wanted_}}},
                       {"complete", rounds_.size() == rounds_wanted_},
                       {"systems", ordered_json::object()},
                       {"ratio", ordered_json::object()},
                       {"ratio_spread", ordered_json::object()}};
  if (!rounds_.empty()) {
    const std::string plain(plain_name);
    for (const BuildFigure& figure : all_build_figures) {
      said["systems"][std::string(our_name)][figure.key] =
          json_of(spread(&BuildRound::building, figure.value));
      said["systems"][plain][figure.key] = json_of(spread(&BuildRound::plain, figure.value));
      if (!figure.compared) continue;
      if (const auto of = ratio(figure.value)) {
        said["ratio"][plain][figure.key] = of->median;
        said["ratio_spread"][plain][figure.key] = json_of(*of);
      }
      if (const auto twice = control(figure.value)) said["control"][figure.key] = json_of(*twice);
    }
  }
  said["failed"] = ordered_json::object();
  if (!failure_.empty()) said["failed"][std::string(our_name)] = failure_;
  return said;
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
    const std::array<std::pair<std::string_view, const BuildSample*>, 3> turns = {
        {{plain_name, &round.plain}, {our_name, &round.building}, {plain_name, &round.control}}};
    for (const auto& [name, sample] : turns) {
      text += fmt::format("{},{},{}", what_.message_bytes, number, name);
      for (const BuildFigure& figure : all_build_figures)
        text += fmt::format(",{:.6g}", sample->*figure.value);
      text += "\n";
    }
  }
  return text;
}

}  // namespace netio::cli
