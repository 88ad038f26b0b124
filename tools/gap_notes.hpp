// What publishers said is missing: by reason, and as a note for each gap, but not more than one a
// second. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include <netio/loop.hpp>
#include <netio/subscription.hpp>

#include "summary.hpp"

namespace netio::cli {

class GapNotes {
 public:
  GapNotes(Loop& loop, std::function<void(const std::string&)> note);

  void add(const std::string& publisher, const Gap& gap);
  // Says what is not said yet.
  void finish();

  [[nodiscard]] const MissedBy& missed_by() const noexcept { return missed_by_; }

 private:
  void say();

  std::function<void(const std::string&)> note_;
  Timer timer_;  // runs while the last note is younger than a second
  MissedBy missed_by_{};
  bool superseded_noted_ = false;
  // Since the last note.
  MissedBy unsaid_{};
  std::uint64_t gaps_ = 0;
  std::uint64_t first_ = 0;
  std::string publisher_;  // of the first
  bool several_ = false;   // publishers
};

}  // namespace netio::cli
