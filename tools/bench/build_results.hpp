// What the rounds of event building gave, and what that comes to.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench/arguments.hpp"
#include "bench/build_stage.hpp"
#include "bench/results.hpp"

namespace netio::cli {

inline constexpr std::string_view plain_name = "plain";

inline constexpr std::string_view managed_name = "managed";

// Plain streams come first and last: the second time is their control.
struct BuildRound {
  BuildSample plain;
  BuildSample building;
  BuildSample managed;  // if that is asked for
  BuildSample control;
};

class BuildResults {
 public:
  BuildResults(const Case& what, const BenchBuildArguments& build, unsigned rounds_wanted)
      : what_(what), build_(build), rounds_wanted_(rounds_wanted) {}

  void add(const BuildRound& round) { rounds_.push_back(round); }
  // The rounds end with a failure.
  void failed(const std::string& why) { failure_ = why; }
  [[nodiscard]] const Case& what() const noexcept { return what_; }
  [[nodiscard]] bool any_failed() const noexcept { return !failure_.empty(); }
  [[nodiscard]] std::string to_text() const;
  [[nodiscard]] nlohmann::ordered_json to_json() const;
  [[nodiscard]] static std::string csv_header();
  // A line for each turn.
  [[nodiscard]] std::string to_csv() const;

 private:
  using Value = double BuildSample::*;
  using System = BuildSample BuildRound::*;

  [[nodiscard]] Spread spread(System system, Value value) const;
  // Of one system over another one, round by round. None where there is nothing to divide by. Plain
  // streams to divide by are the mean of both turns.
  [[nodiscard]] std::optional<Spread> ratio(System system, System other, Value value) const;
  [[nodiscard]] std::string ratio_lines() const;
  [[nodiscard]] std::string row(std::string_view name, System system) const;
  [[nodiscard]] std::string memory(std::string_view name, System system) const;
  [[nodiscard]] std::string manager() const;
  void add_figures(nlohmann::ordered_json& said) const;

  Case what_;
  BenchBuildArguments build_;
  unsigned rounds_wanted_;
  std::vector<BuildRound> rounds_;
  std::string failure_;
};

}  // namespace netio::cli
