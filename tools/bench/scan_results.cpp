#include "bench/scan_results.hpp"

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

}  // namespace

ScanResults::ScanResults(const BenchArguments& arguments, const Case& what, Machine machine)
    : info_(info_of(arguments.scan.parameter)),
      values_(arguments.scan.values),
      machine_(std::move(machine)),
      rounds_wanted_(arguments.rounds) {
  for (const std::uint64_t value : values_) {
    Case of_value = what;
    set_value(of_value, info_.parameter, value);
    points_.emplace_back(of_value).set_rounds_wanted(rounds_wanted_);
  }
}

std::string ScanResults::value_text(std::size_t point) const {
  return cli::value_text(info_, values_[point]);
}

void ScanResults::add(std::vector<Round> round, const std::optional<Sample>& control) {
  const auto first = round.front().samples.find(our_name);
  if (control && first != round.front().samples.end() && measured(first->second) > 0) {
    controls_.push_back(measured(*control) / measured(first->second));
  }
  for (std::size_t i = 0; i < points_.size(); ++i) points_[i].add(std::move(round[i]));
  last_control_ = control;
  ++rounds_;
}

bool ScanResults::any_failed() const {
  return std::any_of(points_.begin(), points_.end(),
                     [](const Results& point) { return point.any_failed(); });
}

double ScanResults::measured(const Sample& sample) const {
  return points_.front().what().round_trips() ? figure::rtt_us(0.5)(sample)
                                              : figure::bytes_per_s(sample);
}

std::string ScanResults::title() const {
  const Case& what = points_.front().what();
  std::string fixed;
  const auto add = [&](ScanParameter parameter, const std::string& text) {
    if (parameter != info_.parameter) fixed += ", " + text;
  };
  if (what.page_bytes != 0)
    add(ScanParameter::page_bytes, "pages of " + size_text(what.page_bytes));
  const Meeting& at = what.meeting;
  if (at.slot_bytes != 0) add(ScanParameter::slot_bytes, "slots of " + size_text(at.slot_bytes));
  if (at.slots != 0) add(ScanParameter::slots, counted(at.slots, "slot"));
  if (what.window != 0) add(ScanParameter::window, fmt::format("window {}", what.window));
  if (what.streams != 1) add(ScanParameter::streams, fmt::format("{} streams", what.streams));
  const bool sized = info_.parameter != ScanParameter::size;
  return fmt::format("{} against {} over {}: {} messages{}{}, when idle: {}; {} is better\n",
                     what.round_trips() ? "Round trips"
                     : what.both_ways   ? "Both ways (the sum)"
                                        : "One way",
                     info_.name, what.meeting.scheme, name_of(what.mode),
                     what.fills_slots ? " as large as a slot"
                     : sized          ? " of " + size_text(what.message_bytes)
                                      : "",
                     fixed, name_of(what.wait), what.round_trips() ? "lower" : "higher");
}

std::string ScanResults::head() const {
  if (points_.front().what().round_trips()) {
    return fmt::format("{:<10} {:<8} {:>10} {:>22} {:>10} {:>13} {:>13} {:>11}\n", info_.name, "",
                       "p50 us", "min .. max", "p99 us", "asker cores", "replier cores",
                       "switches/s");
  }
  const bool both = points_.front().what().both_ways;
  return fmt::format("{:<10} {:<8} {:>10} {:>22} {:>8} {:>11} {:>13} {:>14} {:>11}\n", info_.name,
                     "", "bytes/s", "min .. max", "Gb/s", "messages/s",
                     both ? "dialer cores" : "sender cores",
                     both ? "binder cores" : "receiver cores", "switches/s");
}

std::string ScanResults::row(std::size_t point, const std::string& system) const {
  const Results& results = points_[point];
  const auto median = [&](auto value) { return results.spread(system, value).median; };
  const Spread main = results.spread(system, [this](const Sample& s) { return measured(s); });
  const std::string switches = short_number(median(figure::switches_per_s));
  if (results.what().round_trips()) {
    return fmt::format("{:<10} {:<8} {:>10.2f} {:>22} {:>10.2f} {:>13.2f} {:>13.2f} {:>11}\n",
                       value_text(point), system, main.median,
                       fmt::format("{:.2f} .. {:.2f}", main.min, main.max),
                       median(figure::rtt_us(0.99)), median(figure::sender_cores),
                       median(figure::receiver_cores), switches);
  }
  return fmt::format("{:<10} {:<8} {:>10} {:>22} {:>8.2f} {:>11} {:>13.2f} {:>14.2f} {:>11}\n",
                     value_text(point), system, scaled(main.median, "B"),
                     fmt::format("{} .. {}", scaled(main.min, "B"), scaled(main.max, "B")),
                     main.median * 8 / 1e9, short_number(median(figure::messages_per_s)),
                     median(figure::sender_cores), median(figure::receiver_cores), switches);
}

std::string ScanResults::remarks() const {
  std::string text;
  if (!controls_.empty()) {
    const Spread twice = spread_of(controls_);
    text += fmt::format("  control: {0} / {0}, netio {1:>8.3f}   ({2:.3f} .. {3:.3f})\n",
                        value_text(0), twice.median, twice.min, twice.max);
  }
  for (std::size_t i = 0; i < points_.size(); ++i) {
    for (const std::string& name : points_[i].systems()) {
      const Spread spread =
          points_[i].spread(name, [this](const Sample& sample) { return measured(sample); });
      if (spread.max <= figure::unsteady_max * spread.min) continue;
      text += fmt::format(
          "UNSTEADY: {} of {}, by {:.1f} times between rounds; a median of few says little.\n",
          name, value_text(i), spread.max / spread.min);
    }
    for (const auto& [name, why] : points_[i].failures()) {
      text += fmt::format("FAILED {}: {}\n", value_text(i), why);
    }
  }
  if (const std::string sentence = machine_.sentence(); !sentence.empty()) text += sentence + "\n";
  if (!complete()) text += fmt::format("INCOMPLETE: {} of {} rounds\n", rounds_, rounds_wanted_);
  return text;
}

std::string ScanResults::to_text() const {
  std::string text = title() + head();
  for (std::size_t i = 0; i < points_.size(); ++i) {
    for (const std::string& name : points_[i].systems()) text += row(i, name);
  }
  return text + remarks();
}

ordered_json ScanResults::to_json() const {
  const Case& what = points_.front().what();
  ordered_json said = {{"case",
                        {{"what", "scan"},
                         {"parameter", info_.name},
                         {"values", values_},
                         {"unit", info_.bytes ? "bytes" : "count"},
                         {"measure", what.round_trips() ? "round_trips" : "throughput"},
                         {"both_ways", what.both_ways},
                         {"scheme", what.meeting.scheme},
                         {"mode", name_of(what.mode)},
                         {"wait", name_of(what.wait)},
                         {"seconds", what.seconds},
                         {"rounds", rounds_},
                         {"rounds_wanted", rounds_wanted_}}},
                       {"machine", machine_.to_json()},
                       {"complete", complete()},
                       {"points", ordered_json::array()}};
  for (std::size_t i = 0; i < points_.size(); ++i) {
    ordered_json point = {{"value", values_[i]}};
    point.update(points_[i].to_json());
    said["points"].push_back(std::move(point));
  }
  if (!controls_.empty()) {
    said["control"][what.round_trips() ? "rtt_us_p50" : "bytes_per_s"] =
        json_of(spread_of(controls_));
  }
  return said;
}

std::string ScanResults::csv_header() {
  return "parameter,value,scheme,size_bytes,streams,both_ways,round,system,control,"
         "messages_per_s,"
         "bytes_per_s,rtt_us_p50,rtt_us_p99,sender_cores,receiver_cores,"
         "sender_cpu_ns_per_message,receiver_cpu_ns_per_message,switches_per_s,speed_means_"
         "nothing"
         "\n";
}

std::string ScanResults::csv_line(std::size_t point, const std::string& system, bool control,
                                  const Sample& sample) const {
  const Case& what = points_[point].what();
  const std::string times =
      what.round_trips()
          ? fmt::format("{:.6g},{:.6g}", figure::rtt_us(0.5)(sample), figure::rtt_us(0.99)(sample))
          : ",";
  return fmt::format(
      "{},{},{},{},{},{:d},{},{},{:d},{:.6g},{:.6g},{},{:.6g},{:.6g},{:.6g},{:.6g},"
      "{:.6g},{:d}\n",
      info_.name, values_[point], what.meeting.scheme, what.message_bytes, what.streams,
      what.both_ways, rounds_, system, control, sample.messages_per_s, sample.bytes_per_s, times,
      figure::sender_cores(sample), figure::receiver_cores(sample),
      sample.sender.cpu_ns_per_message, sample.receiver.cpu_ns_per_message,
      figure::switches_per_s(sample), machine_.speed_means_nothing());
}

std::string ScanResults::last_round_as_csv() const {
  std::string text;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    for (const auto& [system, sample] : points_[i].rounds().back().samples) {
      text += csv_line(i, system, false, sample);
    }
  }
  if (last_control_) text += csv_line(0, std::string(our_name), true, *last_control_);
  return text;
}

Curve ScanResults::curve() const {
  std::string heading = title();
  heading.resize(heading.rfind(';'));  // what is better, the axis says
  if (machine_.emulated) heading += "\nin an emulated guest: nothing about speed";
  if (!machine_.emulated && !machine_.software_rdma.empty()) heading += "\na software RDMA device";
  Curve curve{heading, info_.title, info_.bytes, {}};
  for (std::size_t i = 0; i < points_.size(); ++i) {
    curve.points.emplace_back(static_cast<double>(values_[i]), &points_[i]);
  }
  return curve;
}

}  // namespace netio::cli
