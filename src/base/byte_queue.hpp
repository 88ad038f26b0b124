// Bytes of things that wait in line, each in one piece: first in, first out. The memory is used
// again. Owner thread only.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "base/out_of_memory.hpp"

namespace netio::detail {

class ByteQueue {
 public:
  // Copies the bytes behind all others. False without memory: nothing has changed.
  [[nodiscard]] bool push(std::span<const std::byte> bytes) noexcept {
    if (bytes.empty()) return true;
    if (used_ == 0) first_ = 0;
    if (places_.size() - first_ - used_ < bytes.size() && !make_room(bytes.size())) return false;
    std::memcpy(places_.data() + first_ + used_, bytes.data(), bytes.size());
    used_ += bytes.size();
    return true;
  }
  // The first so many bytes, which were pushed at once. Valid until the next push.
  [[nodiscard]] std::span<const std::byte> front(std::size_t bytes) const noexcept {
    assert(bytes <= used_);
    return {places_.data() + first_, bytes};
  }
  void pop(std::size_t bytes) noexcept {
    assert(bytes <= used_);
    first_ += bytes;
    used_ -= bytes;
    if (used_ == 0) clear();
  }
  // Keeps some memory: what a queue once needed much of, it may never need again.
  void clear() noexcept {
    first_ = used_ = 0;
    if (places_.size() > kept_bytes_max) places_ = std::vector<std::byte>();
  }

 private:
  static constexpr std::size_t kept_bytes_max = std::size_t{64} << 10U;

  // At least half of the memory is free after that, so that each byte is moved once on average.
  bool make_room(std::size_t more) noexcept {
    bool made = true;
    guard_memory(
        [&] {
          std::size_t places = std::max<std::size_t>(1024, places_.size());
          while (places < 2 * (used_ + more)) places *= 2;
          if (places == places_.size()) {
            std::memmove(places_.data(), places_.data() + first_, used_);
          } else {
            std::vector<std::byte> larger(places);
            if (used_ != 0) std::memcpy(larger.data(), places_.data() + first_, used_);
            places_.swap(larger);
          }
          first_ = 0;
        },
        [&made]() noexcept { made = false; });
    return made;
  }

  std::vector<std::byte> places_;
  std::size_t first_ = 0;
  std::size_t used_ = 0;  // from first_ on
};

}  // namespace netio::detail
