// Random numbers for ids and jitter; not for secrets. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <sys/random.h>

namespace netio::detail {

template <std::size_t count>
std::array<std::uint8_t, count> random_bytes() {
  static_assert(count <= 256, "longer requests may come back short");
  std::array<std::uint8_t, count> bytes{};
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
