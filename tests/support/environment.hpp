// What is asked of a test run by variables of the environment.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace netio::test {

inline std::uint64_t number_in(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace netio::test
