// Which pages of a peer's memory were looked at here. Where the peer never wrote, the system takes
// memory at the first look, and this process has it: that is counted, and bounded.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "memory/mapping.hpp"

namespace netio::detail {

// What all peers of a context may make it take. On any thread.
class EmptyMemory {
 public:
  explicit EmptyMemory(std::size_t bytes_max) noexcept : bytes_max_(bytes_max) {}
  // `bytes` more for a peer that has `had`. False if it would have more than it leaves for the
  // others.
  [[nodiscard]] bool take(std::size_t bytes, std::size_t had) noexcept;
  // The most that take() would give to it now.
  [[nodiscard]] std::size_t most(std::size_t had) const noexcept;
  void give_back(std::size_t bytes) noexcept {
    bytes_taken_.fetch_sub(bytes, std::memory_order_relaxed);
  }

 private:
  const std::size_t bytes_max_;
  std::atomic<std::size_t> bytes_taken_{0};
};

// Of one peer's memory. A look costs a system call for each page once; pages cannot be emptied
// again, because the memory is sealed against new writers (SharedMemory::open()).
class FirstLooks {
 public:
  // Throws Error.
  FirstLooks(std::span<const std::byte> memory, std::shared_ptr<EmptyMemory> empty);
  ~FirstLooks() { empty_->give_back(taken_bytes_); }
  FirstLooks(const FirstLooks&) = delete;
  FirstLooks& operator=(const FirstLooks&) = delete;

  // Whether `part` of the memory may be looked at.
  [[nodiscard]] bool allow(std::span<const std::byte> part) noexcept {
    const Pages pages = pages_of(part);
    return seen(pages) || see(pages);
  }

 private:
  struct Pages {
    std::size_t first;
    std::size_t behind;
  };
  [[nodiscard]] Pages pages_of(std::span<const std::byte> part) const noexcept {
    const auto at = static_cast<std::size_t>(part.data() - memory_.data());
    return {at / small_page_bytes, (at + part.size() + small_page_bytes - 1) / small_page_bytes};
  }
  [[nodiscard]] bool seen(Pages pages) const noexcept;
  bool see(Pages pages) noexcept;
  // How many of them are empty, or some number above `most`.
  [[nodiscard]] std::size_t empty_of(Pages pages, std::size_t most) const noexcept;

  static constexpr std::size_t word_bits = 64;
  [[nodiscard]] std::uint64_t* words() const noexcept {
    return reinterpret_cast<std::uint64_t*>(seen_.bytes().data());
  }

  const std::span<const std::byte> memory_;
  const std::shared_ptr<EmptyMemory> empty_;
  Mapping seen_;  // a bit a page; address space until it is used
  std::size_t taken_bytes_ = 0;
};

}  // namespace netio::detail
