// Whether what was begun goes on: numbers only, the caller says what has moved. Owner thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace netio::detail {

class StallWatch {
 public:
  // How much has to move in each stall_after. Where nobody waits for the memory, a large message
  // takes at most this many times it, or comes at 64 KiB in each; where others wait for it, fewer.
  static constexpr std::uint64_t lenient_periods = 64;
  static constexpr std::uint64_t waited_for_periods = 4;
  static constexpr std::uint64_t lenient_bytes_max = 64U << 10U;

  // Of a message that takes `bytes` of memory; any byte will do where that is 0.
  [[nodiscard]] static std::uint64_t least(std::uint64_t bytes, bool waited_for) noexcept {
    const std::uint64_t lenient = std::min(bytes / lenient_periods, lenient_bytes_max);
    return std::max<std::uint64_t>(1, waited_for ? bytes / waited_for_periods : lenient);
  }

  // Nothing is under way, or it is not the peer's to go on.
  void restart(std::uint64_t moved, std::int64_t now_ns) noexcept {
    moved_ = moved;
    since_ns_ = now_ns;
    suspected_ = false;
  }
  // `moved` counts bytes, so far; `least` of them are due in each stall_after. True once they are
  // late. It may be this thread that stood still: what waits in the kernel is read before the next
  // look, so the second one decides.
  [[nodiscard]] bool stalled(std::uint64_t moved, std::uint64_t least, std::int64_t now_ns,
                             std::int64_t stall_after_ns) noexcept {
    if (moved - moved_ >= least) {
      restart(moved, now_ns);
      return false;
    }
    return now_ns - since_ns_ >= stall_after_ns && std::exchange(suspected_, true);
  }

  [[nodiscard]] std::uint64_t moved() const noexcept { return moved_; }

 private:
  std::uint64_t moved_ = 0;
  std::int64_t since_ns_ = 0;
  bool suspected_ = false;  // the time was up at the last look
};

// Whether a peer gives back memory that others lack. In each stall_after a quarter is due of what
// the peer held at the beginning, until as much as it held has moved; then the next round begins. A
// quarter of what is left would never be all of it. Memory that the peer is given meanwhile counts
// in the next round.
class HoldingWatch {
 public:
  // `left` is what the peer holds now, `moved` a counter of what it gave back.
  [[nodiscard]] bool stalled(std::uint64_t left, std::uint64_t moved, std::int64_t now_ns,
                             std::int64_t stall_after_ns) noexcept {
    const bool all_moved = static_cast<std::int64_t>(moved - end_) >= 0;
    if (least_ != 0 && left != 0 && !all_moved) {
      return watch_.stalled(moved, least_, now_ns, stall_after_ns);
    }
    end_ = moved + left;
    least_ = left != 0 ? StallWatch::least(left, true) : 0;
    watch_.restart(moved, now_ns);
    return false;
  }
  // Nobody lacks the memory.
  void stop() noexcept { least_ = 0; }

 private:
  StallWatch watch_;
  std::uint64_t end_ = 0;    // the round is over when `moved` is this
  std::uint64_t least_ = 0;  // due in each stall_after; 0: no round has begun
};

}  // namespace netio::detail
