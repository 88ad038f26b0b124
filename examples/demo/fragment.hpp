// What a card delivers of each event: a header, then a pattern. The size and the pattern follow
// from the source and the event, so every byte can be checked wherever the fragment arrives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace demo {

struct FragmentHeader {
  std::uint32_t bytes = 0;  // of the whole fragment
  std::uint32_t source = 0;
  std::uint64_t event = 0;
  std::int64_t due_ns = 0;  // when the event was due, by steady_ns()
};
static_assert(sizeof(FragmentHeader) == 24);

inline constexpr std::size_t fragment_bytes_min = 256;
inline constexpr std::size_t fragment_bytes_max = fragment_bytes_min + std::size_t{191} * 8;

inline std::uint64_t fragment_seed(std::uint32_t source, std::uint64_t event) noexcept {
  const std::uint64_t seed = (event * 64 + source + 1) * 0x9e3779b97f4a7c15U;
  return seed ^ (seed >> 32U);
}

// A multiple of 8 from 256 to 1784, 1020 on average.
inline std::size_t fragment_bytes(std::uint64_t seed) noexcept {
  return fragment_bytes_min + static_cast<std::size_t>(seed % 192) * 8;
}

inline std::uint64_t pattern_word(std::uint64_t seed, std::size_t at) noexcept {
  return seed + at * 0xd6e8feb86659fd93U;
}

// Writes the fragment at the beginning of `to`, which has fragment_bytes_max. Returns its bytes.
inline std::span<const std::byte> write_fragment(std::span<std::byte> to, std::uint32_t source,
                                                 std::uint64_t event,
                                                 std::int64_t due_ns) noexcept {
  const std::uint64_t seed = fragment_seed(source, event);
  const std::size_t bytes = fragment_bytes(seed);
  const FragmentHeader header{static_cast<std::uint32_t>(bytes), source, event, due_ns};
  std::memcpy(to.data(), &header, sizeof header);
  for (std::size_t at = sizeof header; at < bytes; at += 8) {
    const std::uint64_t word = pattern_word(seed, at);
    std::memcpy(to.data() + at, &word, sizeof word);
  }
  return to.first(bytes);
}

// Whether these bytes are the fragment of this source and event, as it was written.
inline bool is_fragment(std::span<const std::byte> from, std::uint32_t source, std::uint64_t event,
                        FragmentHeader& header) noexcept {
  const std::uint64_t seed = fragment_seed(source, event);
  const std::size_t bytes = fragment_bytes(seed);
  if (from.size() != bytes) return false;
  std::memcpy(&header, from.data(), sizeof header);
  if (header.bytes != bytes || header.source != source || header.event != event) return false;
  std::uint64_t difference = 0;
  for (std::size_t at = sizeof header; at < bytes; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, from.data() + at, sizeof word);
    difference |= word ^ pattern_word(seed, at);
  }
  return difference == 0;
}

}  // namespace demo
