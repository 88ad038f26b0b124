// Message contents that tell from their bytes which message they are and whether they are whole.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace netio::test {

inline constexpr std::size_t mebi = std::size_t{1} << 20U;

// splitmix64: every bit of the result depends on every bit of `x`.
constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

// The word at `offset` of message `number`: its number first, then what only it has there.
constexpr std::uint64_t payload_word(std::uint64_t number, std::size_t offset) noexcept {
  return offset == 0 ? number : mix(number * 0x10001U + offset);
}

void fill_payload(std::span<std::byte> to, std::uint64_t number) noexcept;

[[nodiscard]] inline std::vector<std::byte> payload(std::uint64_t number, std::size_t size) {
  std::vector<std::byte> bytes(size);
  fill_payload(bytes, number);
  return bytes;
}

[[nodiscard]] bool is_payload(std::span<const std::byte> bytes, std::uint64_t number) noexcept;

// Faster than std::ranges::equal() where nothing is optimised.
[[nodiscard]] inline bool same_bytes(std::span<const std::byte> one,
                                     std::span<const std::byte> other) noexcept {
  return one.size() == other.size() &&
         (one.empty() || std::memcmp(one.data(), other.data(), one.size()) == 0);
}

// Which message these bytes (8 at least) say they are.
[[nodiscard]] inline std::uint64_t number_of(std::span<const std::byte> bytes) noexcept {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data(), std::min(sizeof number, bytes.size()));
  return number;
}

// A seeded source of random numbers, the same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept { return mix(state_++); }
  // In [0, bound).
  std::uint64_t below(std::uint64_t bound) noexcept { return next() % bound; }
  bool one_in(std::uint64_t n) noexcept { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace netio::test
