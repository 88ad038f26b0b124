// Messages to be copied, written a few ahead: what is copied right after a word of it was stored
// waits for that store, which would be the benchmark's time and not the sender's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "worker/options.hpp"
#include "worker/tally.hpp"

namespace netio::bench {

class Ahead {
 public:
  Ahead(std::uint32_t connection, const Options& options)
      : stamp_(connection, options.verify),
        message_bytes_(options.message_bytes),
        bytes_max_(std::max<std::size_t>(1, ahead_bytes / message_bytes_) * message_bytes_) {}

  // Those that were not advanced beyond, back to back: at least one.
  [[nodiscard]] std::span<const std::byte> rest() {
    if (at_ == bytes_.size()) write();
    return std::span(bytes_).subspan(at_);
  }
  [[nodiscard]] std::span<const std::byte> next() { return rest().first(message_bytes_); }
  // The same, to write more into it than its number.
  [[nodiscard]] std::span<std::byte> next_writable() {
    if (at_ == bytes_.size()) write();
    return std::span(bytes_).subspan(at_, message_bytes_);
  }
  [[nodiscard]] std::size_t message_bytes() const noexcept { return message_bytes_; }
  // Of what rest() gave.
  [[nodiscard]] std::size_t messages_left() const noexcept {
    return (bytes_.size() - at_) / message_bytes_;
  }
  void advance(std::size_t messages = 1) noexcept { at_ += messages * message_bytes_; }

 private:
  static constexpr std::size_t ahead_bytes = 4096;

  void write() {
    bytes_.resize(bytes_max_);
    for (at_ = 0; at_ < bytes_.size(); at_ += message_bytes_) {
      stamp_.write(std::span(bytes_).subspan(at_, message_bytes_));
      stamp_.advance();
    }
    at_ = 0;
  }

  Stamp stamp_;
  std::size_t message_bytes_;
  std::size_t bytes_max_;
  std::vector<std::byte> bytes_;  // none before the first is wanted: they may be large
  std::size_t at_ = 0;
};

}  // namespace netio::bench
