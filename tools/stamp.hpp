// What generated messages carry: an 8-byte sequence number and, to be verified, an 8-byte checksum
// of it and of all that follows, which is filled from a cheap generator. Little-endian words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace netio::cli {

// sequence, checksum
inline constexpr std::size_t stamp_bytes = 8 + 8;

// Writes sequence, checksum and rest. `message` has at least stamp_bytes.
void stamp(std::span<std::byte> message, std::uint64_t sequence) noexcept;

// Bytes as behind a stamp, cheap and not all alike; they verify only once they are stamped.
void fill(std::span<std::byte> bytes, std::uint64_t sequence) noexcept;

// True if the message is as some stamp() left it; `sequence` is then its number.
[[nodiscard]] bool read_stamp(std::span<const std::byte> message, std::uint64_t& sequence) noexcept;

}  // namespace netio::cli
