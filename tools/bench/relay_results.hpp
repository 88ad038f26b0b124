// What the rounds of relays gave, and what that comes to.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench/results.hpp"

namespace netio::cli {

// One turn of one contender. All but the rate is of a message that arrived at the receiver.
struct RelaySample {
  double messages_per_s = 0;
  double bytes_per_s = 0;
  double relay_cpu_ns = 0;    // none without a relay
  double cpu_ns = 0;          // of all processes
  double switches_per_s = 0;  // of the relay
  // As the relay's sockets count them; others than netio count none.
  bool counts = false;
  double copies = 0;
  double bytes_copied = 0;
  double pages = 0;  // that it sent
};

struct RelayRound {
  std::map<std::string, RelaySample, std::less<>> samples;
  std::optional<RelaySample> control;
};

class RelayResults {
 public:
  // `names`: of the contenders, ours first. The one whose turn comes twice is `floor`; may be
  // empty.
  RelayResults(const Case& what, std::string to_scheme, std::vector<std::string> names,
               std::string floor, unsigned rounds_wanted)
      : what_(what),
        to_scheme_(std::move(to_scheme)),
        names_(std::move(names)),
        floor_(std::move(floor)),
        rounds_wanted_(rounds_wanted) {}

  void add(RelayRound round) { rounds_.push_back(std::move(round)); }
  void failed(const std::string& name, const std::string& why) { failures_[name] = why; }
  [[nodiscard]] const Case& what() const noexcept { return what_; }
  [[nodiscard]] bool any_failed() const noexcept { return !failures_.empty(); }
  [[nodiscard]] std::string to_text() const;
  [[nodiscard]] nlohmann::ordered_json to_json() const;

 private:
  using Value = double RelaySample::*;

  // Those of which every round has a sample.
  [[nodiscard]] std::vector<std::string> measured() const;
  [[nodiscard]] bool counts(const std::string& name) const;
  [[nodiscard]] Spread spread(const std::string& name, Value value) const;
  // Ours over another's, round by round; of the floor, over the mean of its two turns. None where
  // there is nothing to divide by.
  [[nodiscard]] std::optional<Spread> ratio(const std::string& name, Value value) const;
  [[nodiscard]] std::optional<Spread> control(Value value) const;
  [[nodiscard]] std::string row(const std::string& name) const;

  Case what_;
  std::string to_scheme_;
  std::vector<std::string> names_;
  std::string floor_;
  unsigned rounds_wanted_;
  std::vector<RelayRound> rounds_;
  std::map<std::string, std::string> failures_;
};

}  // namespace netio::cli
