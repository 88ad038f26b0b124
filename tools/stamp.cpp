#include "stamp.hpp"

#include <array>
#include <cstring>

namespace netio::cli {

namespace {

constexpr std::uint64_t odd_a = 0x9e3779b97f4a7c15U;  // 2^64 / golden ratio
constexpr std::uint64_t odd_b = 0xd6e8feb86659fd93U;

std::uint64_t load(const std::byte* at) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Each step is a bijection of `sum` for a given word, and of the word for a given sum: one changed
// word always changes the result.
std::uint64_t mix(std::uint64_t sum, std::uint64_t word) noexcept {
  sum = (sum ^ word) * odd_b;
  return sum ^ (sum >> 32U);
}

// Four independent lanes, because a multiplication waits for the one before it.
std::uint64_t checksum(std::uint64_t sequence, std::span<const std::byte> rest) noexcept {
  std::array<std::uint64_t, 4> lanes = {sequence, sequence + odd_a, ~sequence, odd_b};
  const std::byte* at = rest.data();
  std::size_t left = rest.size();
  for (; left >= 32; left -= 32, at += 32) {
    for (std::size_t lane = 0; lane < 4; ++lane)
      lanes[lane] = mix(lanes[lane], load(at + 8 * lane));
  }
  std::uint64_t sum = mix(rest.size(), sequence);
  for (; left >= 8; left -= 8, at += 8) sum = mix(sum, load(at));
  if (left != 0) {
    std::uint64_t tail = 0;
    std::memcpy(&tail, at, left);
    sum = mix(sum, tail);
  }
  for (const std::uint64_t lane : lanes) sum = mix(sum, lane);
  return sum;
}

}  // namespace

void fill(std::span<std::byte> rest, std::uint64_t sequence) noexcept {
  std::uint64_t word = (sequence + 1) * odd_b;
  std::byte* at = rest.data();
  std::size_t left = rest.size();
  for (; left >= 8; left -= 8, at += 8) {
    std::memcpy(at, &word, 8);
    word += odd_a;
  }
  if (left != 0) std::memcpy(at, &word, left);
}

void stamp(std::span<std::byte> message, std::uint64_t sequence) noexcept {
  const std::span<std::byte> rest = message.subspan(stamp_bytes);
  fill(rest, sequence);
  const std::uint64_t sum = checksum(sequence, rest);
  std::memcpy(message.data(), &sequence, 8);
  std::memcpy(message.data() + 8, &sum, 8);
}

bool read_stamp(std::span<const std::byte> message, std::uint64_t& sequence) noexcept {
  if (message.size() < stamp_bytes) return false;
  sequence = load(message.data());
  return checksum(sequence, message.subspan(stamp_bytes)) == load(message.data() + 8);
}

}  // namespace netio::cli
