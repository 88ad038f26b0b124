#include "bench/breakdown_results.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "units.hpp"

namespace netio::cli {

namespace {

using bench::Part;
using bench::Trip;
using nlohmann::ordered_json;

constexpr double ns_per_us = 1000;

std::string_view end_of(Part part) {
  if (part == Part::elsewhere) return "-";
  return bench::is_of_sender(part) ? "sender" : "receiver";
}

const char* way_of(bool back) { return back ? "back" : "there"; }

std::int64_t whole_of(const Trip& trip) {
  const std::int64_t there = std::accumulate(trip.there.begin(), trip.there.end(), std::int64_t{0});
  return std::accumulate(trip.back.begin(), trip.back.end(), there);
}

double outside_p50_us(const bench::Histogram& times) {
  return static_cast<double>(times.at(0.5)) / ns_per_us;
}

ordered_json percentiles_json(const bench::Histogram& times) {
  return {{"p50", outside_p50_us(times)}, {"p99", static_cast<double>(times.at(0.99)) / ns_per_us}};
}

}  // namespace

// The trips are in the order of their whole time.
template <typename Value>
BreakdownResults::Figure BreakdownResults::figure(Value&& value) const {
  std::vector<std::int64_t> ns;
  ns.reserve(sample_.trips.size());
  for (const Trip& trip : sample_.trips) ns.push_back(value(trip));
  if (ns.empty()) return {};
  const auto quarter = std::ssize(ns) / 4;
  const auto sum = static_cast<double>(
      std::accumulate(ns.begin() + quarter, ns.end() - quarter, std::int64_t{0}));
  const double middle = sum / static_cast<double>(std::ssize(ns) - 2 * quarter);
  std::sort(ns.begin(), ns.end());
  const auto at = [&ns](std::size_t percent) {
    return static_cast<double>(ns[(ns.size() - 1) * percent / 100]) / ns_per_us;
  };
  return {at(0), at(50), at(99), middle / ns_per_us};
}

ordered_json BreakdownResults::json_of(const Figure& figure) {
  return {{"min", figure.min_us},
          {"p50", figure.p50_us},
          {"p99", figure.p99_us},
          {"middle", figure.middle_us}};
}

void BreakdownResults::set(BreakdownSample sample) {
  sample_ = std::move(sample);
  std::sort(sample_.trips.begin(), sample_.trips.end(),
            [](const Trip& a, const Trip& b) { return whole_of(a) < whole_of(b); });
  sum_ = figure(whole_of);
  for (const bool back : {false, true}) {
    for (std::size_t i = 0; i < bench::parts_count && (answered_ || !back); ++i) {
      Row row{back, static_cast<Part>(i), {}, 0};
      row.figure =
          figure([back, i](const Trip& trip) { return (back ? trip.back : trip.there)[i]; });
      row.share = sum_.middle_us > 0 ? row.figure.middle_us / sum_.middle_us : 0;
      rows_.push_back(row);
    }
  }
}

// The program takes the time itself: before it begins, and, of a round trip, at its end.
double BreakdownResults::stamps_us() const {
  const std::int64_t own_stamps = answered_ ? 2 : 1;
  return figure([](const Trip& trip) { return trip.stamps_ns; }).p50_us +
         static_cast<double>(own_stamps * sample_.stamp_ns) / ns_per_us;
}

double BreakdownResults::accounted() const {
  const double outside = outside_p50_us(sample_.outside) - stamps_us();
  return outside > 0 ? sum_.p50_us / outside : 0;
}

// Parts that hardly any message had (p99 is 0) are left out.
std::string BreakdownResults::rows_text(bool back) const {
  std::string text;
  for (const Row& row : rows_) {
    if (row.back != back || row.figure.p99_us <= 0) continue;
    text +=
        fmt::format("  {:<13} {:<10} {:>10.3f} {:>10.3f} {:>10.3f} {:>7.1f} %\n",
                    bench::part_names[static_cast<std::size_t>(row.part)], end_of(row.part),
                    row.figure.p50_us, row.figure.p99_us, row.figure.middle_us, row.share * 100);
  }
  return text;
}

std::string BreakdownResults::sum_text() const {
  std::string text =
      fmt::format("{:<26} {:>10.3f} {:>10.3f} {:>10.3f} {:>7.1f} %\n", "Sum of the parts",
                  sum_.p50_us, sum_.p99_us, sum_.middle_us, 100.0);
  const std::uint64_t kept = sample_.trips.size() + sample_.incomplete;
  text += fmt::format(
      "  Of the last {} of {}; middle and share are of those between the quartiles. Taking the "
      "time "
      "costs {} ns, which was taken off.\n",
      sample_.trips.size(), std::max(sample_.outside.total(), kept), sample_.stamp_ns);
  if (sample_.incomplete != 0) {
    text += fmt::format("  Left out, because a point was not passed in its order: {} of these.\n",
                        sample_.incomplete);
  }
  if (sample_.outside.total() != 0) {
    text += fmt::format(
        "  From outside: p50 {:.3f} us, less {:.3f} us for taking the time. The sum is {:.3f} of "
        "that.\n",
        outside_p50_us(sample_.outside), stamps_us(), accounted());
  }
  if (sample_.without.total() != 0) {
    text += fmt::format("  From outside, of the program without points: p50 {:.3f} us.\n",
                        outside_p50_us(sample_.without));
  }
  return text;
}

std::string BreakdownResults::to_text() const {
  std::string text = fmt::format(
      "Where the time of a {} goes, over {}, {} messages of {}, {}when idle: {}\n", subject(),
      what_.meeting.wire(), name_of(what_.mode), binary_bytes(what_.message_bytes),
      answered_ ? "" : scaled(what_.rate, "messages/s") + ", ", name_of(what_.wait));
  if (!delay_.empty()) text += fmt::format("DELAYED on the way there: {} ns\n", delay_);
  if (!sample_.trips.empty()) {
    text += fmt::format("{:<26} {:>10} {:>10} {:>10} {:>9}\n", answered_ ? "There" : "", "p50 us",
                        "p99 us", "middle us", "share");
    text += rows_text(false);
    if (answered_) text += "Back\n" + rows_text(true);
    text += sum_text();
  }
  if (any_failed()) text += "FAILED " + failure_ + "\n";
  return text;
}

ordered_json BreakdownResults::to_json() const {
  ordered_json said = {{"case",
                        {{"what", "breakdown"},
                         {"pattern", answered_ ? "pair" : "push"},
                         {"scheme", what_.meeting.scheme},
                         {"size_bytes", what_.message_bytes},
                         {"mode", name_of(what_.mode)},
                         {"wait", name_of(what_.wait)},
                         {"seconds", what_.seconds},
                         {"rate_per_s", what_.rate}}},
                       {"complete", !sample_.trips.empty()}};
  if (!delay_.empty()) said["case"]["delay_ns"] = delay_;
  if (any_failed()) said["failed"] = failure_;
  if (sample_.trips.empty()) return said;
  said["messages"] = sample_.trips.size();
  said["messages_in_all"] = sample_.outside.total();
  said["incomplete"] = sample_.incomplete;
  said["stamp_ns"] = sample_.stamp_ns;
  said["stamps_us"] = stamps_us();
  for (const Row& row : rows_) {
    ordered_json part = {{"end", end_of(row.part)}, {"us", json_of(row.figure)}};
    part["share"] = row.share;
    said[way_of(row.back)][bench::part_names[static_cast<std::size_t>(row.part)]] = part;
  }
  said["sum_us"] = json_of(sum_);
  if (sample_.outside.total() != 0) {
    said["outside_us"] = percentiles_json(sample_.outside);
    said["sum_over_outside"] = accounted();
  }
  if (sample_.without.total() != 0) {
    said["outside_without_points_us"] = percentiles_json(sample_.without);
  }
  return said;
}

std::string BreakdownResults::csv_header() {
  return "size_bytes,way,part,end,min_us,p50_us,p99_us,middle_us,share\n";
}

std::string BreakdownResults::to_csv() const {
  std::string text;
  for (const Row& row : rows_) {
    text += fmt::format("{},{},{},{},{:.3f},{:.3f},{:.3f},{:.3f},{:.4f}\n", what_.message_bytes,
                        way_of(row.back), bench::part_names[static_cast<std::size_t>(row.part)],
                        end_of(row.part), row.figure.min_us, row.figure.p50_us, row.figure.p99_us,
                        row.figure.middle_us, row.share);
  }
  return text;
}

void BreakdownResults::add_to(BarPlot& plot) const {
  plot.columns.push_back(
      fmt::format("{}, {:.1f} us", binary_bytes(what_.message_bytes), sum_.p50_us));
  for (std::size_t i = 0; i < bench::parts_count; ++i) {
    if (plot.parts.size() == i) plot.parts.push_back({std::string(bench::part_names[i]), {}});
    double share = 0;
    for (const Row& row : rows_) {
      if (row.part == static_cast<Part>(i)) share += row.share;
    }
    plot.parts[i].second.push_back(share * 100);
  }
}

}  // namespace netio::cli
