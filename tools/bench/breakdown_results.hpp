// The parts of a message's time: what they come to, and whether that is what was seen from outside.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench/measure.hpp"
#include "bench/plot.hpp"
#include "worker/histogram.hpp"
#include "worker/timeline.hpp"

namespace netio::cli {

// What the ends said of one case.
struct BreakdownSample {
  std::vector<bench::Trip> trips;  // of which both ends have all points: the last ones
  std::uint64_t incomplete = 0;    // of those kept; a point was not passed, or not in its order
  std::int64_t stamp_ns = 0;       // what taking the time once costs
  bench::Histogram outside;        // of all trips, as the program timed them
  bench::Histogram without;        // the same of the ordinary program, which has no points
};

class BreakdownResults {
 public:
  BreakdownResults(const Case& what, bool answered, const std::string& delay)
      : what_(what), answered_(answered), delay_(delay) {}

  // Counts the sample; the rest is empty until then.
  void set(BreakdownSample sample);
  void failed(const std::string& why) { failure_ = why; }
  [[nodiscard]] bool any_failed() const noexcept { return !failure_.empty(); }

  [[nodiscard]] std::string to_text() const;
  [[nodiscard]] nlohmann::ordered_json to_json() const;
  [[nodiscard]] static std::string csv_header();
  // A line for each part.
  [[nodiscard]] std::string to_csv() const;
  // One column: the share of each part, of the way there and back together.
  void add_to(BarPlot& plot) const;

 private:
  // Where other programs want the cores, a few trips take a thousand times as long. So shares are
  // of the trips in the middle: those whose whole time lies between the quartiles.
  struct Figure {
    double min_us = 0;
    double p50_us = 0;
    double p99_us = 0;
    double middle_us = 0;  // the mean of the trips in the middle: what parts have adds up
  };
  struct Row {
    bool back = false;
    bench::Part part = bench::Part::elsewhere;
    Figure figure;
    double share = 0;  // of the whole, of 1
  };

  // Of a value of each trip.
  template <typename Value>
  [[nodiscard]] Figure figure(Value&& value) const;
  [[nodiscard]] static nlohmann::ordered_json json_of(const Figure& figure);
  [[nodiscard]] std::string rows_text(bool back) const;
  [[nodiscard]] std::string sum_text() const;
  // What taking the time costs a trip as it is seen from outside, in the middle.
  [[nodiscard]] double stamps_us() const;
  // The sum of the parts over the time from outside, both in the middle.
  [[nodiscard]] double accounted() const;
  [[nodiscard]] const char* subject() const noexcept {
    return answered_ ? "round trip" : "message one way";
  }

  Case what_;
  bool answered_;
  std::string delay_;
  BreakdownSample sample_;
  std::vector<Row> rows_;  // there, then back
  Figure sum_;
  std::string failure_;
};

}  // namespace netio::cli
