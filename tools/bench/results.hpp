// What the rounds of one case gave, and what that comes to: medians with spread, and ratios.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench/measure.hpp"

namespace netio::cli {

struct Spread {
  double median = 0;
  double min = 0;
  double max = 0;
};
// Of at least one value.
[[nodiscard]] Spread spread_of(std::vector<double> values);
[[nodiscard]] nlohmann::ordered_json json_of(const Spread& spread);

// A bare number of three digits: "26.3 M".
[[nodiscard]] std::string short_number(double value);

// By system. The floor has a second sample, its control.
struct Round {
  std::map<std::string, Sample, std::less<>> samples;
  std::optional<Sample> control;
};

class Results {
 public:
  explicit Results(const Case& what) : what_(what) {}

  void add(Round round) { rounds_.push_back(std::move(round)); }
  void failed(const std::string& system, const std::string& why) { failures_[system] = why; }
  void set_rounds_wanted(unsigned rounds) { rounds_wanted_ = rounds; }

  [[nodiscard]] bool has_failed(std::string_view system) const {
    return failures_.find(system) != failures_.end();
  }
  [[nodiscard]] const auto& failures() const noexcept { return failures_; }
  [[nodiscard]] bool complete() const noexcept { return rounds_.size() == rounds_wanted_; }
  [[nodiscard]] bool any_failed() const noexcept { return !failures_.empty(); }
  // Why nothing should be concluded from this run; empty if there is no such reason.
  [[nodiscard]] std::string why_void() const;

  [[nodiscard]] std::string to_text() const;
  [[nodiscard]] nlohmann::ordered_json to_json() const;

  [[nodiscard]] const Case& what() const noexcept { return what_; }
  [[nodiscard]] const std::vector<Round>& rounds() const noexcept { return rounds_; }
  // Those of which every round has a sample, ours first.
  [[nodiscard]] std::vector<std::string> systems() const;
  [[nodiscard]] bool has(std::string_view system) const;
  template <typename Value>
  [[nodiscard]] Spread spread(const std::string& system, Value&& value) const {
    std::vector<double> values;
    for (const Round& round : rounds_) values.push_back(value(round.samples.at(system)));
    return spread_of(std::move(values));
  }
  [[nodiscard]] bench::Histogram round_trips(const std::string& system) const;

 private:
  [[nodiscard]] std::string floor() const;
  [[nodiscard]] std::string title() const;
  [[nodiscard]] std::string row(const std::string& system) const;
  [[nodiscard]] nlohmann::ordered_json json_of_system(const std::string& name) const;
  // Ours over the peer's, round by round. Of the floor, the mean of its two samples.
  template <typename Value>
  [[nodiscard]] Spread ratio(const std::string& peer, Value&& value) const;
  // The floor's second sample over its first: what two runs of one thing differ by.
  template <typename Value>
  [[nodiscard]] std::optional<Spread> control(Value&& value) const;

  Case what_;
  std::vector<Round> rounds_;
  std::map<std::string, std::string, std::less<>> failures_;
  unsigned rounds_wanted_ = 0;
};

}  // namespace netio::cli
