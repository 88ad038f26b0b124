// Random numbers for ids and jitter; not for secrets. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <sys/random.h>

namespace netio::detail {

// For simulations: the state of a generator that is used instead of the system's. A program sets it
// once, before it makes a context, and seeds it anew for each run. Null in all other programs.
inline std::uint64_t* simulated_random = nullptr;

// One number of that generator: splitmix64.
inline std::uint64_t next_simulated_random() noexcept {
  std::uint64_t mixed = *simulated_random += 0x9e3779b97f4a7c15U;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
  return mixed ^ (mixed >> 31U);
}

template <std::size_t count>
std::array<std::uint8_t, count> random_bytes() {
  static_assert(count <= 256, "longer requests may come back short");
  std::array<std::uint8_t, count> bytes{};
  if (simulated_random != nullptr) [[unlikely]] {
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(next_simulated_random());
    return bytes;
  }
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    std::random_device device;
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(device());
  }
  return bytes;
}

// Uniform enough for delays: 0 to `bound` - 1. `bound` is not 0.
inline std::uint64_t random_below(std::uint64_t bound) {
  std::uint64_t value = 0;
  const auto bytes = random_bytes<sizeof value>();
  std::memcpy(&value, bytes.data(), sizeof value);
  return value % bound;
}

}  // namespace netio::detail
