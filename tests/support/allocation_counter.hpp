// Counts what this thread takes from the heap through operator new, in every test executable.
#pragma once

#include <cstdint>

namespace netio::test {

// Since the thread began; never goes down.
[[nodiscard]] std::uint64_t allocations_on_this_thread() noexcept;

// Of those that this thread makes while it is armed, the `first` and so many in all fail, as if no
// memory were left. Counts anew from here. None if `first` is 0.
void fail_allocations(std::uint64_t first, std::uint64_t how_many) noexcept;
// Returns what it was.
bool arm_allocations(bool armed) noexcept;
[[nodiscard]] std::uint64_t allocations_while_armed() noexcept;
// Since the thread began, and of others.
[[nodiscard]] std::uint64_t allocations_failed() noexcept;

// The same for all other threads together, which need not be armed: from the `first` allocation
// that they make from here on.
void fail_allocations_of_others(std::uint64_t first, std::uint64_t how_many) noexcept;

// Arms or disarms this thread while it lives.
class Armed {
 public:
  explicit Armed(bool armed = true) : before_(arm_allocations(armed)) {}
  ~Armed() { arm_allocations(before_); }
  Armed(const Armed&) = delete;
  Armed& operator=(const Armed&) = delete;

 private:
  bool before_;
};

// The allocations of this thread while `work` ran.
template <class Work>
[[nodiscard]] std::uint64_t allocations_during(Work&& work) {
  const std::uint64_t before = allocations_on_this_thread();
  work();
  return allocations_on_this_thread() - before;
}

}  // namespace netio::test
