// When something has to be said to a peer that wants to hear of this side, and when a peer has said
// nothing for too long. Numbers only; owner thread only.
#pragma once

#include <algorithm>
#include <cstdint>

namespace netio::detail {

// The shorter of two times, of which 0 is never.
template <typename Time>
[[nodiscard]] constexpr Time sooner(Time one, Time other) noexcept {
  return one == 0 || other == 0 ? one + other : std::min(one, other);
}

class Heartbeat {
 public:
  // A connection is up. The peer gives it up when it hears nothing for `theirs_ms`, and this side
  // for `ours_ms`; 0: never. `said` and `heard` count whatever goes out and comes in.
  void begin(std::uint32_t ours_ms, std::uint32_t theirs_ms, std::int64_t now_ns,
             std::uint64_t said, std::uint64_t heard) noexcept {
    ours_ns_ = std::int64_t{ours_ms} * 1'000'000;
    theirs_ns_ = std::int64_t{theirs_ms} * 1'000'000;
    said_ = said;
    heard_ = heard;
    heard_ns_ = now_ns;
    late_since_ns_ = none;
  }
  // The time from one look to the next, 0 if there is nothing to look at. It is a little less than
  // a sixth of the peer's: what is said just behind one look may be followed by nothing until the
  // next but one, and the peer is to hear of this side three times. And an eighth of this side's.
  [[nodiscard]] std::int64_t period_ns() const noexcept {
    return sooner(theirs_ns_ * 3 / 20, ours_ns_ / 8);
  }
  [[nodiscard]] std::int64_t soon_ns() const noexcept {
    return std::max<std::int64_t>(ours_ns_ / 16, 1'000'000);
  }
  // Nothing was said since the last look, and the peer wants to hear something.
  [[nodiscard]] bool due(std::uint64_t said) noexcept {
    const bool due = theirs_ns_ != 0 && said == said_;
    said_ = said;
    return due;
  }

  enum class Heard : std::uint8_t {
    enough,
    // This thread may be late, and a word may wait to be read: look again, also after soon_ns().
    look_again,
    nothing,
  };
  // Only a side that reads can tell.
  [[nodiscard]] Heard listen(std::uint64_t heard, bool reading, std::int64_t now_ns) noexcept {
    if (heard != heard_ || !reading || ours_ns_ == 0) {
      heard_ = heard;
      heard_ns_ = now_ns;
      late_since_ns_ = none;
      return Heard::enough;
    }
    if (now_ns - heard_ns_ <= ours_ns_) return Heard::enough;
    if (late_since_ns_ == none) late_since_ns_ = now_ns;
    return now_ns - late_since_ns_ < soon_ns() ? Heard::look_again : Heard::nothing;
  }
  // Nothing came since the last look.
  [[nodiscard]] bool last_heard(std::uint64_t heard) const noexcept { return heard == heard_; }
  [[nodiscard]] std::int64_t silent_for_ns(std::int64_t now_ns) const noexcept {
    return now_ns - heard_ns_;
  }

 private:
  std::int64_t ours_ns_ = 0;
  std::int64_t theirs_ns_ = 0;
  std::uint64_t said_ = 0;   // by the last look
  std::uint64_t heard_ = 0;  // the same
  std::int64_t heard_ns_ = 0;
  static constexpr std::int64_t none = INT64_MAX;
  std::int64_t late_since_ns_ = none;
};

}  // namespace netio::detail
