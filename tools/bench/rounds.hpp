// The turns of the systems in one round of one case. A system that fails in a case is left out of
// its further rounds.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "bench/arguments.hpp"
#include "bench/results.hpp"
#include "bench/stage.hpp"
#include "bench/system.hpp"

namespace netio::cli {

class Rounds {
 public:
  Rounds(Stage& stage, const BenchArguments& arguments, std::vector<const System*> systems);

  // All rounds of one case. False after Ctrl-C; the results hold the whole rounds before it.
  [[nodiscard]] bool run(Results& results);

  // These throw Interrupted. Untimed: every byte of every message is filled and checked.
  void check(Results& results);
  // Each system once, and the floor a second time if it is among them.
  [[nodiscard]] Round one(Results& results);
  // None if it has failed, now or before; then the results say why.
  [[nodiscard]] std::optional<Sample> try_one(const System& system, const Case& what,
                                              Results& results);

 private:
  Stage& stage_;
  const BenchArguments& arguments_;
  std::vector<const System*> systems_;  // the floor first, so that its second run ends the round
  std::string_view floor_;
};

}  // namespace netio::cli
