// Pool: set-up and the free list. See pool.hpp.
#include "memory/pool.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <string>
#include <utility>

#include "base/system_error.hpp"

namespace netio::detail {
namespace {

// 0 for sizes that no pool has.
std::size_t region_bytes(std::size_t block_bytes, std::size_t blocks) noexcept {
  constexpr std::size_t bytes_max = std::numeric_limits<std::size_t>::max();
  if (block_bytes == 0 || block_bytes % small_page_bytes != 0) return 0;
  return blocks > bytes_max / block_bytes ? 0 : blocks * block_bytes;
}

}  // namespace

Pool::Ptr Pool::create(std::size_t block_bytes, std::size_t blocks, Owner owner,
                       std::shared_ptr<SharedMemory> shared) {
  Ptr pool(new Pool(block_bytes, blocks, Mapping::Fill::now, nullptr, std::move(owner),
                    std::move(shared)));
  // It was taken already.
  pool->add_blocks(pool->region().size());
  return pool;
}

Pool::Ptr Pool::create_as_used(std::size_t block_bytes, std::size_t blocks, MemoryRoom* room,
                               Owner owner, std::shared_ptr<SharedMemory> shared) {
  Ptr pool(new Pool(block_bytes, blocks, Mapping::Fill::as_used, room, std::move(owner),
                    std::move(shared)));
  if (pool->huge_pages()) pool->add_blocks(pool->region().size());
  return pool;
}

Pool::Pool(std::size_t block_bytes, std::size_t blocks, Mapping::Fill fill, MemoryRoom* room,
           Owner owner, std::shared_ptr<SharedMemory> shared)
    : Store(std::move(owner)),
      block_bytes_(block_bytes),
      shared_(std::move(shared)),
      region_(shared_ ? 0 : region_bytes(block_bytes, blocks), fill,
              room != nullptr ? room->node() : -1),
      room_(room) {
  const std::span<std::byte> all = shared_ ? shared_->bytes() : region_.bytes();
  if (all.empty()) {
    const bool sound = region_bytes(block_bytes, blocks) != 0;
    throw system_error("create a pool of " + std::to_string(blocks) + " blocks of " +
                           std::to_string(block_bytes) + " bytes",
                       sound ? ENOMEM : EINVAL,
                       sound ? "lower the memory bound of the context, or free some memory"
                             : "choose a page size that is a multiple of 4096");
  }
  for (std::size_t index = 0; index < blocks; ++index) {
    blocks_.emplace_back(*this, all.data() + index * block_bytes, block_bytes);
  }
  blocks_free_ = blocks;
}

bool Pool::take_step() noexcept {
  if (blocks_without_memory() == 0) return false;
  if (refused_ && room_ != nullptr && refused_round_ == room_->round()) return false;
  const std::size_t least = (blocks_with_memory_ + 1) * block_bytes_;
  const std::size_t steps = (least + step_bytes - 1) / step_bytes;
  const std::size_t end = std::min(steps * step_bytes, blocks_.size() * block_bytes_);
  const std::size_t bytes = end - bytes_with_memory_;
  const bool taken = (room_ == nullptr || room_->fits(bytes)) &&
                     (shared_ ? shared_->take(bytes_with_memory_, bytes)
                              : region_.populate(bytes_with_memory_, bytes));
  if (taken) {
    refused_ = false;
    add_blocks(end);
    return true;
  }
  refused_ = true;
  if (room_ != nullptr) {
    refused_round_ = room_->round();
    room_->refuse();
  }
  return false;
}

bool Pool::take_all() noexcept {
  while (blocks_without_memory() != 0) {
    if (!take_step()) return false;
  }
  return true;
}

// Whoever waits for them asks again in the next round.
std::size_t Pool::blocks_refused() const noexcept {
  const bool still = room_ == nullptr || refused_round_ == room_->round();
  return still ? blocks_without_memory() : 0;
}

// The first one is taken first: the region is used from its start.
void Pool::add_blocks(std::size_t end) noexcept {
  bytes_with_memory_ = end;
  const std::size_t first = std::exchange(blocks_with_memory_, end / block_bytes_);
  for (std::size_t index = blocks_with_memory_; index-- > first;) {
    blocks_[index].next = std::exchange(free_, &blocks_[index]);
  }
}

void Pool::recycle(Block& block) noexcept {
  block.next = free_;
  free_ = &block;
  ++blocks_free_;
}

void Pool::forget_quotas() noexcept {
  for (PoolBlock& block : blocks_) forget_quota(block);
}

}  // namespace netio::detail
