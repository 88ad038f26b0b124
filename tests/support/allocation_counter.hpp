// Counts what this thread takes from the heap through operator new, in every test executable.
#pragma once

#include <cstdint>

namespace netio::test {

// Since the thread began; never goes down.
[[nodiscard]] std::uint64_t allocations_on_this_thread() noexcept;

// The allocations of this thread while `work` ran.
template <class Work>
[[nodiscard]] std::uint64_t allocations_during(Work&& work) {
  const std::uint64_t before = allocations_on_this_thread();
  work();
  return allocations_on_this_thread() - before;
}

}  // namespace netio::test
