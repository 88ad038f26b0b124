// What is asked of a test run by variables of the environment.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace netio::test {

inline std::uint64_t number_in(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

// Where the random numbers of a test begin. Without NETIO_TEST_SEED it is the same number in every
// run, so that a test that fails fails again; searches for new faults give new numbers.
inline std::uint64_t seed() { return number_in("NETIO_TEST_SEED", 1); }

}  // namespace netio::test
