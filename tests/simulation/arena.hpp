// The heap of one schedule. While it is open, `new` takes memory from one region at a fixed
// address, always in the same way: so objects have the same addresses in each run of a schedule,
// and what depends on them (the order of a hash table) repeats too. When it is shut, every piece
// must have been given back. Not built under sanitizers, which watch the heap of the system
// instead.
#pragma once

#include <cstddef>

namespace netio::test {

class Arena {
 public:
  // From now on `new` takes memory from here.
  static void open() noexcept;
  // From now on it does not. Returns the number of pieces that were not given back. If there are
  // none, the next schedule begins with an empty arena.
  static std::size_t shut() noexcept;
  // The most bytes that were out at one time since open().
  [[nodiscard]] static std::size_t bytes_most() noexcept;

  // While one lives, `new` takes memory from the system: for what outlives the schedule.
  class Outside {
   public:
    Outside() noexcept;
    ~Outside();
    Outside(const Outside&) = delete;
    Outside& operator=(const Outside&) = delete;

   private:
    bool was_open_;
  };
};

}  // namespace netio::test
