// Pool: set-up and the free list. See pool.hpp.
#include "memory/pool.hpp"

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
  return Ptr(new Pool(block_bytes, blocks, std::move(owner), std::move(shared)));
}

Pool::Pool(std::size_t block_bytes, std::size_t blocks, Owner owner,
           std::shared_ptr<SharedMemory> shared)
    : Store(std::move(owner)),
      block_bytes_(block_bytes),
      shared_(std::move(shared)),
      region_(shared_ ? 0 : region_bytes(block_bytes, blocks), Mapping::Fill::now) {
  const std::span<std::byte> all = shared_ ? shared_->bytes() : region_.bytes();
  if (all.empty()) {
    const bool sound = region_bytes(block_bytes, blocks) != 0;
    throw system_error("create a pool of " + std::to_string(blocks) + " blocks of " +
                           std::to_string(block_bytes) + " bytes",
                       sound ? ENOMEM : EINVAL,
                       sound ? "lower the memory bound of the context, or free some memory"
                             : "choose a page size that is a multiple of 4096");
  }
  // The last one made is the first one taken: the region is used from its start.
  for (std::size_t index = blocks; index-- > 0;) {
    blocks_.emplace_back(*this, all.data() + index * block_bytes, block_bytes);
    recycle(blocks_.back());
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
