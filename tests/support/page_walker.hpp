// Follows one direction of a connection of netio over tcp: the hello, then pages. Tells whether the
// bytes so far end inside a page.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "wire/page.hpp"

namespace netio::test {

class PageWalker {
 public:
  void take(std::span<const std::byte> bytes) noexcept {
    while (!bytes.empty()) {
      std::size_t step = 0;
      if (left_ != 0) {
        step = std::min<std::size_t>(bytes.size(), left_);
        left_ -= step;
      } else {
        // The size of a hello stands at 8, that of a page at 0.
        const std::size_t head = greeted_ ? detail::page_header_bytes : 16;
        step = std::min(bytes.size(), head - used_);
        std::memcpy(head_.data() + used_, bytes.data(), step);
        used_ += step;
        if (used_ == head) begin_body(head);
      }
      bytes = bytes.subspan(step);
    }
  }
  [[nodiscard]] bool inside_a_page() const noexcept {
    return in_page_ && (left_ != 0 || used_ != 0);
  }

 private:
  void begin_body(std::size_t head) noexcept {
    std::uint32_t bytes = 0;
    std::memcpy(&bytes, head_.data() + (greeted_ ? 0 : 8), sizeof bytes);
    left_ = greeted_ ? bytes : bytes - std::min<std::size_t>(bytes, head);
    in_page_ = greeted_;
    greeted_ = true;
    used_ = 0;
  }

  std::array<std::byte, detail::page_header_bytes> head_{};
  std::size_t used_ = 0;  // of the head that is being read
  std::size_t left_ = 0;  // of the body
  bool greeted_ = false;
  bool in_page_ = false;
};

}  // namespace netio::test
