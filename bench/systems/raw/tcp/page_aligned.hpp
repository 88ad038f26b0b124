// Memory to read into that begins at a memory page, or a few bytes behind it. What comes after a
// silence lies in the kernel from the beginning of a memory page on, and a copy to a place up to 31
// bytes farther in its page than where it comes from takes several times as long (rep movsb on
// AMD). malloc() gives such places: its large blocks begin 16 bytes behind a page.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace netio::bench::raw::tcp {

class PageAligned {
 public:
  PageAligned() = default;
  explicit PageAligned(std::size_t bytes, std::size_t behind = 0)
      : memory_(new (std::align_val_t{page}) std::byte[bytes + behind]),
        bytes_(memory_.get() + behind, bytes) {
    std::memset(memory_.get(), 0, bytes + behind);
  }

  [[nodiscard]] std::byte* data() const noexcept { return bytes_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

  static constexpr std::size_t page = 4096;

 private:
  struct Delete {
    void operator()(std::byte* memory) const noexcept {
      ::operator delete[](memory, std::align_val_t{page});
    }
  };
  std::unique_ptr<std::byte[], Delete> memory_;
  std::span<std::byte> bytes_;
};

}  // namespace netio::bench::raw::tcp
