// What a read-out card delivers: a header with link, sequence and checksum, then payload. A
// fragment is a multiple of 8 bytes and lies at one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace demo {

inline constexpr std::uint32_t link_count = 16;
inline constexpr std::size_t fragment_bytes_max = 8192;

struct FragmentHeader {
  std::uint32_t bytes = 0;  // of the whole fragment
  std::uint32_t link = 0;
  std::uint64_t sequence = 0;  // counts the fragments of its link, from 0
  std::uint64_t checksum = 0;  // of all the rest
};
static_assert(sizeof(FragmentHeader) == 24);

inline std::uint64_t checksum_step(std::uint64_t sum, std::uint64_t word) noexcept {
  sum = (sum ^ word) * 0x9e3779b97f4a7c15U;
  return sum ^ (sum >> 32U);
}

// Depends on every bit of the fragment and on the order of its words.
inline std::uint64_t checksum(const FragmentHeader& header,
                              std::span<const std::byte> payload) noexcept {
  std::uint64_t sum = (std::uint64_t{header.link} << 32U) | header.bytes;
  sum = checksum_step(sum, header.sequence);
  for (std::size_t at = 0; at + 8 <= payload.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, payload.data() + at, sizeof word);
    sum = checksum_step(sum, word);
  }
  return sum;
}

// Fills `to` as the detector would, header included.
inline void write_fragment(std::span<std::byte> to, std::uint32_t link,
                           std::uint64_t sequence) noexcept {
  const std::span<std::byte> payload = to.subspan(sizeof(FragmentHeader));
  std::uint64_t word = (sequence << 8U) ^ link;
  for (std::size_t at = 0; at < payload.size(); at += 8) {
    word += 0x9e3779b97f4a7c15U;
    std::memcpy(payload.data() + at, &word, sizeof word);
  }
  FragmentHeader header{static_cast<std::uint32_t>(to.size()), link, sequence, 0};
  header.checksum = checksum(header, payload);
  std::memcpy(to.data(), &header, sizeof header);
}

// Of a whole fragment.
inline std::uint32_t link_of(std::span<const std::byte> fragment) noexcept {
  FragmentHeader header;
  std::memcpy(&header, fragment.data(), sizeof header);
  return header.link;
}

// False if these bytes are not a whole fragment as it was written.
inline bool read_fragment(std::span<const std::byte> from, FragmentHeader& header) noexcept {
  if (from.size() < sizeof header || from.size() % 8 != 0) return false;
  std::memcpy(&header, from.data(), sizeof header);
  return header.bytes == from.size() && header.link < link_count &&
         header.checksum == checksum(header, from.subspan(sizeof header));
}

}  // namespace demo
