// How many pages each side may send the other: one for each receive that was posted for it. Knows
// numbers only. Two credits are set aside. One is for a page that only grants; otherwise two sides
// that have sent all they may could wait for each other for ever. One is for the good-bye, so that
// nothing need be granted behind it.
#pragma once

#include <cstdint>

namespace netio::detail {

class Credits {
 public:
  static constexpr std::uint32_t kept_for_grants = 1;
  static constexpr std::uint32_t kept_for_bye = 1;
  // Fewer receives than this leave nothing for messages: the greeting takes two.
  static constexpr std::uint32_t window_min = 5;
  static constexpr std::uint32_t window_max = 1024;

  // What the peer has posted for us.
  [[nodiscard]] bool may_post() const noexcept { return left_ > kept_for_grants + kept_for_bye; }
  [[nodiscard]] bool may_grant() const noexcept { return left_ > kept_for_bye; }
  [[nodiscard]] bool may_say_bye() const noexcept { return left_ > 0; }
  void spend() noexcept { --left_; }
  // False if nobody can have posted that many.
  [[nodiscard]] bool granted(std::uint32_t more) noexcept {
    if (more > window_max - left_) return false;
    left_ += more;
    return true;
  }
  // What we have posted for the peer and not told it of.
  void posted(std::uint32_t receives) noexcept { untold_ += receives; }
  [[nodiscard]] std::uint32_t untold() const noexcept { return untold_; }
  void told(std::uint32_t credits) noexcept {
    untold_ -= credits;
    peers_ += credits;
  }
  // A page of the peer's came. False if it had no credit for one.
  [[nodiscard]] bool arrived() noexcept {
    if (peers_ == 0) return false;
    --peers_;
    return true;
  }
  // The peer has no credit left for a page that only grants, so it can tell us nothing more. It
  // must get one now; otherwise two readers that pause until they may send could wait for each
  // other.
  [[nodiscard]] bool peer_needs_one() const noexcept {
    return peers_ <= kept_for_bye && untold_ != 0;
  }

 private:
  std::uint32_t left_ = 0;
  std::uint32_t untold_ = 0;
  std::uint32_t peers_ = 0;  // told, and not yet used as far as we have seen
};

}  // namespace netio::detail
