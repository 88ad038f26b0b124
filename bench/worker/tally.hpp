// What every measured message carries and how its receiver checks it, the same in every system: a
// word with the number of its connection and its own, then (verifying) bytes that follow from it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "worker/clock.hpp"

namespace netio::bench {

inline constexpr unsigned sequence_bits = 40;

// So large that only a few arrive between two looks at a receiver. Their rate is that between the
// first and the last of these, so each of them says when it arrived.
inline constexpr std::size_t large_bytes_min = std::size_t{1} << 20U;

[[nodiscard]] inline std::uint64_t filler(std::uint64_t word, std::size_t at) noexcept {
  return (word + at) * 0x9e3779b97f4a7c15U;
}

// Writes the next message of one connection.
class Stamp {
 public:
  Stamp(std::uint32_t connection, bool fill) noexcept
      : word_(std::uint64_t{connection} << sequence_bits), fill_(fill) {}

  void write(std::span<std::byte> message) noexcept {
    std::memcpy(message.data(), &word_, sizeof word_);
    if (fill_) [[unlikely]] {
      for (std::size_t at = sizeof word_; at < message.size(); ++at) {
        message[at] = static_cast<std::byte>(filler(word_, at) >> 56U);
      }
    }
  }
  // It was sent.
  void advance() noexcept { ++word_; }

 private:
  std::uint64_t word_;
  bool fill_;
};

// What is read of every message beside its number.
enum class Reads : std::uint8_t {
  nothing,
  lines,  // one byte of each
  words,  // each of 8 bytes, whose sum is taken
};

// Counts and checks on the receiving thread; another may read the counts at any time.
class Tally {
 public:
  // Of what comes through shared memory the lines should be read, as its user would do: the
  // processor may never fetch them otherwise. What comes through a socket was read when it was
  // copied.
  Tally(std::uint32_t connections, std::size_t message_bytes, bool verify,
        Reads reads = Reads::nothing)
      : next_(connections), message_bytes_(message_bytes), verify_(verify), reads_(reads) {}

  void take(std::span<const std::byte> message) noexcept {
    if (message.size() != message_bytes_) [[unlikely]] {
      fault();
      return;
    }
    std::uint64_t word = 0;
    std::memcpy(&word, message.data(), sizeof word);
    const std::uint64_t connection = word >> sequence_bits;
    constexpr std::uint64_t sequence_mask = (std::uint64_t{1} << sequence_bits) - 1;
    const std::uint64_t number = word & sequence_mask;
    if (connection >= next_.size() || next_[connection]++ != number) [[unlikely]] {
      out_of_order(connection, number);
    }
    if (reads_ == Reads::lines) read_lines(message);
    if (reads_ == Reads::words) [[unlikely]]
      read_words(message);
    if (verify_) [[unlikely]]
      check(message, word);
    count();
  }

  // Messages `first` to `first + count - 1` of connection 0 will not come, as the system says.
  void miss(std::uint64_t first, std::uint64_t count) noexcept {
    if (first != next_[0]) fault();
    next_[0] += count;
    missed_.fetch_add(count, std::memory_order_relaxed);
  }
  // The next message of this connection has to be this one, as the system says.
  void expect(std::size_t connection, std::uint64_t number) noexcept {
    if (connection < next_.size()) next_[connection] = number;
  }
  // From now on messages that are not there are missed, and no fault: of systems that say nothing.
  void allow_gaps() noexcept { gaps_allowed_ = true; }

  // Nothing of it is read.
  void take_untouched(std::size_t bytes) noexcept {
    if (bytes != message_bytes_) [[unlikely]]
      return fault();
    count();
  }

  [[nodiscard]] std::uint64_t messages() const noexcept {
    return messages_.load(std::memory_order_relaxed);
  }
  // When the last message was counted, by now_ns(); 0: there was none, or they are not timed.
  [[nodiscard]] std::int64_t last_ns() const noexcept {
    return last_ns_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint64_t missed() const noexcept {
    return missed_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t faults() const noexcept {
    return faults_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t line_bytes = 64;

  void count() noexcept {
    if (message_bytes_ >= large_bytes_min) [[unlikely]]
      last_ns_.store(now_ns(), std::memory_order_release);
    messages_.store(++count_, std::memory_order_relaxed);
  }
  void read_lines(std::span<const std::byte> message) noexcept {
    for (std::size_t at = line_bytes; at < message.size(); at += line_bytes) {
      touched_ += static_cast<std::uint64_t>(message[at]);
    }
  }
  void read_words(std::span<const std::byte> message) noexcept {
    std::uint64_t word = 0;
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at + sizeof word <= message.size(); at += sizeof word) {
      std::memcpy(&word, message.data() + at, sizeof word);
      sum += word;
    }
    touched_ += sum;
  }
  void check(std::span<const std::byte> message, std::uint64_t word) noexcept {
    for (std::size_t at = sizeof word; at < message.size(); ++at) {
      if (message[at] == static_cast<std::byte>(filler(word, at) >> 56U)) continue;
      fault();
      return;
    }
  }
  void out_of_order(std::uint64_t connection, std::uint64_t number) noexcept {
    const bool known = connection < next_.size();
    if (!known || !gaps_allowed_ || number < next_[connection]) return fault();
    missed_.fetch_add(number + 1 - next_[connection], std::memory_order_relaxed);
    next_[connection] = number + 1;
  }
  void fault() noexcept { faults_.fetch_add(1, std::memory_order_relaxed); }

  std::vector<std::uint64_t> next_;  // by connection
  std::size_t message_bytes_;
  bool verify_;
  Reads reads_;
  bool gaps_allowed_ = false;
  std::uint64_t count_ = 0;
  std::uint64_t touched_ = 0;  // a sum, so that reading is not left out
  // A line of its own: who reads it does not slow down who counts.
  alignas(64) std::atomic<std::uint64_t> messages_{0};
  std::atomic<std::int64_t> last_ns_{0};
  std::atomic<std::uint64_t> faults_{0};
  std::atomic<std::uint64_t> missed_{0};
};

}  // namespace netio::bench
