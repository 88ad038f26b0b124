// What the rounds of `netio bench fanout` gave: medians with spread, and ratios.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench/audience.hpp"
#include "bench/results.hpp"

namespace netio::cli {

struct FanoutRound {
  std::map<std::string, FanoutSample> samples;  // by contender
  std::optional<FanoutSample> control;          // the second run of the reference
};

class FanoutResults {
 public:
  // `reference`: whose second run is the control; empty: nobody.
  FanoutResults(Case what, FanoutArguments fanout, std::vector<std::string> names,
                std::string reference, unsigned rounds_wanted)
      : what_(std::move(what)),
        fanout_(std::move(fanout)),
        names_(std::move(names)),
        reference_(std::move(reference)),
        rounds_wanted_(rounds_wanted) {}

  void add(FanoutRound round) { rounds_.push_back(std::move(round)); }
  void failed(const std::string& name, const std::string& why) { failures_[name] = why; }
  [[nodiscard]] bool any_failed() const noexcept { return !failures_.empty(); }

  [[nodiscard]] std::string to_text() const;
  [[nodiscard]] nlohmann::ordered_json to_json() const;

 private:
  using Value = double FanoutSample::*;
  // A figure whose ratio is of interest.
  struct Figure {
    const char* key;
    const char* called;
    Value value;
  };
  static const std::vector<Figure>& figures();

  [[nodiscard]] bool complete() const noexcept { return rounds_.size() == rounds_wanted_; }
  // Those of which every round has a sample.
  [[nodiscard]] std::vector<std::string> measured() const;
  [[nodiscard]] Spread spread(const std::string& name, Value value) const;
  // Ours over the other's, round by round. Of the reference the mean of its two runs. None where
  // there is nothing to compare: nothing was delivered.
  [[nodiscard]] std::optional<Spread> ratio(const std::string& name, Value value) const;
  // The reference's second run over its first.
  [[nodiscard]] std::optional<Spread> control(Value value) const;
  [[nodiscard]] std::string title() const;
  [[nodiscard]] std::string row(const std::string& name) const;
  [[nodiscard]] std::string losses(const std::string& name) const;
  [[nodiscard]] nlohmann::ordered_json system_json(const std::string& name) const;
  [[nodiscard]] std::map<std::string, std::vector<double>> dropped(const std::string& name) const;

  Case what_;
  FanoutArguments fanout_;
  std::vector<std::string> names_;
  std::string reference_;
  unsigned rounds_wanted_;
  std::vector<FanoutRound> rounds_;
  std::map<std::string, std::string> failures_;
};

}  // namespace netio::cli
