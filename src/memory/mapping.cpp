// Memory straight from the kernel. See mapping.hpp.
#include "memory/mapping.hpp"

#include <cerrno>
#include <cstdint>
#include <limits>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14; older C libraries do not name it
#endif

namespace netio::detail {
namespace {

constexpr int reserved_huge_pages = MAP_HUGETLB | (21 << 26);  // of 2 MiB, the default or not

// False when there is no memory, or this kernel cannot (errno EINVAL, before 5.14).
bool fault_in(std::span<std::byte> bytes) noexcept {
  return madvise(bytes.data(), bytes.size(), MADV_POPULATE_WRITE) == 0;
}
void touch(std::span<std::byte> bytes) noexcept {
  for (std::size_t at = 0; at < bytes.size(); at += small_page_bytes) {
    static_cast<volatile std::byte*>(bytes.data())[at] = std::byte{0};
  }
}

// Best effort, as the kernel's is.
void prefer_node(std::span<const std::byte> memory, int node) noexcept {
  constexpr int mpol_preferred = 1;  // of <linux/mempolicy.h>
  if (node < 0 || node >= 64) return;
  const unsigned long mask = 1UL << static_cast<unsigned>(node);
  (void)syscall(SYS_mbind, memory.data(), memory.size(), mpol_preferred, &mask, sizeof mask * 8,
                0U);
}

}  // namespace

// A wish: Linux has it since 3.4. madvise() changes no byte, though its argument is not const.
void leave_out_of_core_files(std::span<const std::byte> payload) noexcept {
  (void)madvise(const_cast<std::byte*>(payload.data()), payload.size(), MADV_DONTDUMP);
}

Mapping::Mapping(std::size_t bytes, Fill fill, int node) noexcept {
  constexpr std::size_t bytes_max = std::numeric_limits<std::size_t>::max() - 2 * huge_page_bytes;
  if (bytes == 0 || bytes > bytes_max) return;
  const bool large = bytes >= huge_page_bytes;
  const std::size_t to_huge_page = (huge_page_bytes - bytes % huge_page_bytes) % huge_page_bytes;
  if (fill != Fill::lazy && large && map(bytes + to_huge_page, reserved_huge_pages)) {
    prefer_node(mapped_, node);
    bytes_ = mapped_.first(bytes);
    huge_pages_ = fault_in(bytes_);  // Never touched: who is not given a huge page is killed.
    if (huge_pages_) return;
    unmap();
  }
  // Address space enough to start at a huge page's boundary.
  const std::size_t slack = large ? huge_page_bytes : 0;
  if (!map(bytes + slack, fill == Fill::lazy ? MAP_NORESERVE : 0)) return;
  const auto address = reinterpret_cast<std::uintptr_t>(mapped_.data());
  bytes_ = mapped_.subspan(large ? huge_page_bytes - address % huge_page_bytes : 0, bytes);
  if (large) madvise(bytes_.data(), bytes, MADV_HUGEPAGE);  // a wish
  prefer_node(mapped_, node);
  if (fill == Fill::now && !populate(0, bytes)) unmap();
}

bool Mapping::populate(std::size_t offset, std::size_t bytes) noexcept {
  if (huge_pages_) return true;
  const std::span<std::byte> part = bytes_.subspan(offset, bytes);
  if (fault_in(part)) return true;
  if (errno != EINVAL) return false;
  touch(part);
  return true;
}

bool Mapping::map(std::size_t bytes, int flags) noexcept {
  void* const at =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (at == MAP_FAILED) return false;
  mapped_ = {static_cast<std::byte*>(at), bytes};
  leave_out_of_core_files(mapped_);
  return true;
}

void Mapping::unmap() noexcept {
  if (!mapped_.empty()) munmap(mapped_.data(), mapped_.size());
  mapped_ = bytes_ = {};
}

}  // namespace netio::detail
