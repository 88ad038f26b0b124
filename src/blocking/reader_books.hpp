// Which messages of a queue its reader has taken. The loop numbers what it puts into the queue; the
// reader counts what it takes out. Owner thread of the loop only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <netio/receiving.hpp>

namespace netio::detail {

class ReaderBooks {
 public:
  // Runs are messages of one peer, in a row, on one connection. At most so many are known.
  explicit ReaderBooks(std::size_t runs_max) : runs_(runs_max) {}

  [[nodiscard]] std::uint64_t put() const noexcept { return put_; }
  // No other run can be put.
  [[nodiscard]] bool full() const noexcept { return count_ == runs_.size(); }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

  // So many messages go into the queue. `behind` is the place behind the last of them. Not if full.
  void put(std::uint64_t messages, const BatchPlace& behind) noexcept {
    put_ += messages;
    if (count_ != 0 && joins_) {
      Run& last = at(count_ - 1);
      if (last.behind.peer == behind.peer && last.behind.connection == behind.connection) {
        last = {behind, put_};
        return;
      }
    }
    at(count_++) = {behind, put_};
    joins_ = true;
  }
  // What is told and not acknowledged: that a peer went.
  void put_other() noexcept {
    ++put_;
    joins_ = false;
  }

  // The reader has taken `taken` in all. Calls `acknowledge` with a place for each run of which
  // messages were taken since the last call.
  template <class Acknowledge>
  void take(std::uint64_t taken, Acknowledge&& acknowledge) noexcept {
    if (taken == taken_) return;
    taken_ = taken;
    while (count_ != 0) {
      const Run& first = at(0);
      BatchPlace place = first.behind;
      if (first.end > taken) {
        // A part of it. Nothing, perhaps: then the place is not behind that of an earlier run.
        place.position -= std::min(first.end - taken, place.position);
        acknowledge(place);
        return;
      }
      acknowledge(place);
      first_ = (first_ + 1) % runs_.size();
      --count_;
    }
  }

 private:
  struct Run {
    BatchPlace behind;
    std::uint64_t end = 0;  // put_, behind its last message
  };
  Run& at(std::size_t index) noexcept { return runs_[(first_ + index) % runs_.size()]; }

  std::vector<Run> runs_;  // a ring
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::uint64_t put_ = 0;
  std::uint64_t taken_ = 0;
  bool joins_ = true;  // what is put next may belong to the last run
};

}  // namespace netio::detail
