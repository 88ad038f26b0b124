// Pages of the peer go out as it names them, and home by our board.
#include "transport/shm/peer_memory.hpp"

#include <utility>

namespace netio::detail {

ShmPeerMemory::ShmPeerMemory(SharedMemory memory, FileDescriptor lifeline, ShmBoard& ours,
                             Owner& owner)
    : memory_(std::move(memory)),
      lifeline_(std::move(lifeline)),
      ours_(&ours),
      owner_(&owner),
      pages_(std::make_unique<Page[]>(shm_pages)) {}

Lease ShmPeerMemory::take(std::uint64_t page, std::uint64_t place, std::size_t bytes, Quota* quota,
                          const char*& defect) noexcept {
  const std::size_t size = memory_.bytes().size();
  if (page >= shm_pages || pages_[page].out) {
    defect = "a page of a number that is not free";
    return {};
  }
  if (place % wire_align != 0 || place > size || bytes > size - place) {
    defect = "a page outside of its memory";
    return {};
  }
  Page& taken = pages_[page];
  BlockOwner& owner = *this;
  taken.block.emplace(owner, memory_.bytes().data() + place, bytes);
  taken.out = true;
  return hand_out(*taken.block, quota);
}

void ShmPeerMemory::recycle(Block& block) noexcept {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&block);
  const auto page = static_cast<std::size_t>(
      (bytes - reinterpret_cast<const std::byte*>(pages_.get())) /
      static_cast<std::ptrdiff_t>(sizeof(Page)));
  pages_[page].out = false;
  if (ours_ == nullptr) return;
  ours_->returns[returned_ % shm_pages].store(static_cast<std::uint32_t>(page),
                                              std::memory_order_relaxed);
  ours_->returned.store(++returned_, std::memory_order_release);
  owner_->on_page_returned();
}

void ShmPeerMemory::forget_quotas() noexcept {
  for (std::size_t page = 0; page < shm_pages; ++page) {
    if (pages_[page].out) forget_quota(*pages_[page].block);
  }
}

}  // namespace netio::detail
