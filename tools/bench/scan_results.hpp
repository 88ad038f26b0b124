// What the rounds of a scan gave: a point for each value, its medians with their spread, and the
// first value a second time in each round as the control.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench/machine.hpp"
#include "bench/plot.hpp"
#include "bench/results.hpp"
#include "bench/scan_parameter.hpp"

namespace netio::cli {

class ScanResults {
 public:
  ScanResults(const BenchArguments& arguments, const Case& what, Machine machine);

  // In the order of the values.
  [[nodiscard]] std::vector<Results>& points() noexcept { return points_; }
  [[nodiscard]] std::string value_text(std::size_t point) const;
  // A whole round, with a turn of each value, and the control of the first.
  void add(std::vector<Round> round, const std::optional<Sample>& control);

  [[nodiscard]] bool complete() const noexcept { return rounds_ == rounds_wanted_; }
  [[nodiscard]] bool any_failed() const;

  [[nodiscard]] std::string to_text() const;
  [[nodiscard]] nlohmann::ordered_json to_json() const;
  [[nodiscard]] static std::string csv_header();
  // The lines of the last round.
  [[nodiscard]] std::string last_round_as_csv() const;
  [[nodiscard]] Curve curve() const;

 private:
  [[nodiscard]] std::string title() const;
  [[nodiscard]] std::string head() const;
  [[nodiscard]] std::string row(std::size_t point, const std::string& system) const;
  [[nodiscard]] std::string remarks() const;
  [[nodiscard]] std::string csv_line(std::size_t point, const std::string& system, bool control,
                                     const Sample& sample) const;
  // What a scan is about: bytes a second, or the median round trip in us.
  [[nodiscard]] double measured(const Sample& sample) const;

  const ParameterInfo& info_;
  std::vector<std::uint64_t> values_;
  std::vector<Results> points_;
  Machine machine_;
  unsigned rounds_ = 0;
  unsigned rounds_wanted_;
  std::optional<Sample> last_control_;
  std::vector<double> controls_;  // the second run of the first value over its first
};

}  // namespace netio::cli
