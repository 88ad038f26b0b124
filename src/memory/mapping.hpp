// Memory straight from the kernel: zeroed, aligned to its pages, on huge ones where it is large
// enough and they are to be had. Owned by whoever holds the object, on any thread.
#pragma once

#include <cstddef>
#include <span>

namespace netio::detail {

inline constexpr std::size_t small_page_bytes = 4096;
inline constexpr std::size_t huge_page_bytes = std::size_t{2} << 20U;

// Leaves whole pages out of core files: what payload lies in. A dump would write all of it, and
// would take memory for what was never used of shared memory. State, such as the boards, stays in.
void leave_out_of_core_files(std::span<const std::byte> payload) noexcept;

// Left out of core files.
class Mapping {
 public:
  enum class Fill {
    lazy,     // address space; memory only where it is written to
    now,      // faulted in: reserved huge pages if the machine has any, else transparent ones
    as_used,  // address space, and populate() before it is written to; but reserved huge pages,
              // which nobody else can have, are faulted in
  };
  // The memory comes from the NUMA node `node` if it can, whenever it is taken and by whichever
  // thread; -1: from any. Without memory, bytes() is empty.
  Mapping(std::size_t bytes, Fill fill, int node = -1) noexcept;
  ~Mapping() { unmap(); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }
  // Faults in a part that has been written to nowhere. False if the system has no memory for it.
  [[nodiscard]] bool populate(std::size_t offset, std::size_t bytes) noexcept;
  // Lies on huge pages that the machine had reserved.
  [[nodiscard]] bool huge_pages() const noexcept { return huge_pages_; }

 private:
  bool map(std::size_t bytes, int flags) noexcept;
  void unmap() noexcept;

  std::span<std::byte> mapped_;
  std::span<std::byte> bytes_;  // the part of it that is asked for, aligned
  bool huge_pages_ = false;
};

}  // namespace netio::detail
