// The accepted connections whose greeting is not over yet, the oldest first, and the rule by
// which they give way to newcomers. Owner thread only; knows no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace netio::detail {

// An accepted connection, as this list sees it.
class Newcomer {
 public:
  // The greeting is not over, and the connection has not ended.
  [[nodiscard]] virtual bool half_open() const noexcept = 0;
  // Reads what waits of the peer's hello, with all that follows from it. True if a part of the
  // hello has come, now or earlier.
  virtual bool hear_greeting() noexcept = 0;
  // Ends the connection. The owner is told by an event, and never from inside this call.
  virtual void give_way(const std::string& why) noexcept = 0;

 protected:
  ~Newcomer() = default;
};

class HalfOpen {
 public:
  explicit HalfOpen(std::size_t stay_max) noexcept : stay_max_(stay_max) {}

  // Outlives its place in the list, which it keeps until the next look at the latest.
  void add(Newcomer& newcomer, std::int64_t now_ns);
  void clear() noexcept { places_.clear(); }
  [[nodiscard]] bool empty() const noexcept { return places_.empty(); }

  // Forgets those that are not half open any more. If more than `stay_max` are left, ends the
  // oldest of those that have had their time. Call it at the end of a turn, when nothing of a link
  // or a listener is on the stack: reading a hello calls the user.
  void look(std::int64_t now_ns) noexcept;
  // More than `stay_max` are left, because each has a little time to speak: look again soon.
  [[nodiscard]] bool crowded() const noexcept { return places_.size() > stay_max_; }
  // Twice as many are here as may stay: accept no more before the next look.
  [[nodiscard]] bool full() const noexcept { return places_.size() / 2 >= stay_max_; }

 private:
  struct Place {
    Newcomer* newcomer;
    std::int64_t stays_until_ns;
    bool begun;  // its hello
  };
  void forget_others() noexcept;
  static bool gives_way(Place& place, std::int64_t now_ns) noexcept;

  std::size_t stay_max_;
  std::vector<Place> places_;
};

}  // namespace netio::detail
