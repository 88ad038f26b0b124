// Pages of the peer go out as it names them, and home by our board.
#include "transport/shm/peer_memory.hpp"

#include <utility>

#include "memory/mapping.hpp"

namespace netio::detail {

ShmPeerMemory::ShmPeerMemory(Passed passed, std::shared_ptr<EmptyMemory> empty, ShmBoard& ours,
                             Owner& owner, Store::Owner thread)
    : Store(std::move(thread)),
      passed_(std::move(passed)),
      looks_(passed_.memory.bytes(), std::move(empty)),
      ours_(&ours),
      owner_(&owner),
      pages_(std::make_unique<Page[]>(shm_pages)) {
  leave_out_of_core_files(passed_.memory.bytes());
}

const char* ShmPeerMemory::look(std::uint64_t page, std::uint64_t place, std::size_t bytes,
                                std::span<const std::byte>& found) noexcept {
  const std::size_t size = passed_.memory.bytes().size();
  if (page >= shm_pages || pages_[page].out) return "a page of a number that is not free";
  if (place % wire_align != 0 || place > size || bytes > size - place) {
    return "a page outside of its memory";
  }
  found = passed_.memory.bytes().subspan(place, bytes);
  if (!looks_.allow(found)) {
    return "messages that lie where it never wrote, more than ContextOptions::large_bytes_max "
           "allows";
  }
  return nullptr;
}

Lease ShmPeerMemory::take(std::uint64_t page, std::span<const std::byte> found,
                          Quota* quota) noexcept {
  Page& taken = pages_[page];
  BlockOwner& owner = *this;
  // Mapped read-only: who writes to it would end the process.
  taken.block.emplace(owner, const_cast<std::byte*>(found.data()), found.size());
  taken.out = true;
  return hand_out(*taken.block, quota);
}

void ShmPeerMemory::pass_back(std::uint64_t page) noexcept {
  ours_->returns[returned_ % shm_pages].store(static_cast<std::uint32_t>(page),
                                              std::memory_order_relaxed);
  ours_->returned.store(++returned_, std::memory_order_release);
}

void ShmPeerMemory::recycle(Block& block) noexcept {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&block);
  const auto page =
      static_cast<std::size_t>((bytes - reinterpret_cast<const std::byte*>(pages_.get())) /
                               static_cast<std::ptrdiff_t>(sizeof(Page)));
  pages_[page].out = false;
  // In a child of fork() it is the parent that gives it back.
  if (ours_ == nullptr || made_at_ != fork_depth()) return;
  pass_back(page);
  owner_->on_page_returned();
}

void ShmPeerMemory::forget_quotas() noexcept {
  for (std::size_t page = 0; page < shm_pages; ++page) {
    if (pages_[page].out) forget_quota(*pages_[page].block);
  }
}

}  // namespace netio::detail
