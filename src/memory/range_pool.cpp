// RangePool: neighbours know each other, so that what is free is in one piece. See range_pool.hpp.
#include "memory/range_pool.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "memory/mapping.hpp"

namespace netio::detail {

// Free ranges are in the ring.
struct RangePool::Range final : Block, RingNode {
  using Block::Block;
  // By address; null at the ends.
  Range* before = nullptr;
  Range* behind = nullptr;
};

RangePool::Ptr RangePool::create(std::shared_ptr<SharedMemory> memory, std::size_t offset,
                                 Owner owner, MemoryRoom* room) {
  return Ptr(new RangePool(std::move(memory), offset, std::move(owner), room));
}

RangePool::RangePool(std::shared_ptr<SharedMemory> memory, std::size_t offset, Owner owner,
                     MemoryRoom* room)
    : Store(std::move(owner)),
      memory_(std::move(memory)),
      offset_(offset),
      room_(room),
      taken_to_(offset),
      strangers_(Quota::create(bytes_all() / 4 * 3)) {
  const std::span<std::byte> all = memory_->bytes().subspan(offset);
  first_ = new Range(*this, all.data(), all.size());
  first_->join(free_);
}

RangePool::~RangePool() {
  for (RingNode* const head : {&free_, &spare_}) {
    while (!head->alone()) delete static_cast<Range*>(head->next());
  }
}

RangePool::Range* RangePool::make_range(std::byte* data, std::size_t bytes) noexcept {
  if (spare_.alone()) return new (std::nothrow) Range(*this, data, bytes);
  auto* const range = static_cast<Range*>(spare_.next());
  range->leave();
  range->place(data, bytes);
  return range;
}

std::size_t RangePool::charged_bytes(std::size_t bytes) noexcept {
  return (std::max<std::size_t>(bytes, 1) + small_page_bytes - 1) & ~(small_page_bytes - 1);
}

Lease RangePool::take(std::size_t bytes) noexcept {
  if (!could_ever_take(bytes)) return {};
  if (!waited_for()) collect();
  bytes = charged_bytes(bytes);
  Range* const range = find_free(bytes);
  if (range == nullptr || !cut(*range, bytes)) {
    lacked_ = true;
    return {};
  }
  range->leave();
  bytes_out_ += bytes;
  return hand_out(*range, nullptr);
}

// The first that is large enough, with memory from the system; null if there is none.
RangePool::Range* RangePool::find_free(std::size_t bytes) noexcept {
  for (RingNode* node = free_.next(); node != &free_; node = node->next()) {
    auto& range = static_cast<Range&>(*node);
    if (range.capacity() < bytes) continue;
    const auto end = static_cast<std::size_t>(range.data() - memory_->bytes().data()) + bytes;
    return take_to(end) ? &range : nullptr;
  }
  return nullptr;
}

bool RangePool::take_to(std::size_t end) noexcept {
  if (end <= taken_to_) return true;
  const std::size_t bytes = end - taken_to_;
  if ((room_ == nullptr || room_->fits(bytes)) && memory_->take(taken_to_, bytes)) {
    taken_to_ = end;
    return true;
  }
  if (room_ != nullptr) room_->refuse();
  return false;
}

bool RangePool::scarce(const Block& like) noexcept {
  collect();
  if (bytes_free() < bytes_all() / 4) return true;
  for (RingNode* node = free_.next(); node != &free_; node = node->next()) {
    if (static_cast<Range&>(*node).capacity() >= like.capacity()) return false;
  }
  return true;
}

// What is behind the first `bytes` becomes a free range of its own, in the same place of the ring.
bool RangePool::cut(Range& range, std::size_t bytes) noexcept {
  if (range.capacity() == bytes) return true;
  Range* const rest = make_range(range.data() + bytes, range.capacity() - bytes);
  if (rest == nullptr) return false;
  rest->before = &range;
  rest->behind = std::exchange(range.behind, rest);
  if (rest->behind != nullptr) rest->behind->before = rest;
  rest->join(*range.RingNode::next());
  range.place(range.data(), bytes);
  return true;
}

void RangePool::swallow_next(Range& range) noexcept {
  Range* const next = range.behind;
  range.place(range.data(), range.capacity() + next->capacity());
  range.behind = next->behind;
  if (range.behind != nullptr) range.behind->before = &range;
  next->join(spare_);
}

void RangePool::recycle(Block& block) noexcept {
  auto* range = static_cast<Range*>(&block);
  bytes_out_ -= range->capacity();
  lacked_ = false;
  const auto is_free = [](const Range* neighbour) {
    return neighbour != nullptr && !neighbour->alone();
  };
  if (is_free(range->behind)) swallow_next(*range);
  if (is_free(range->before)) {
    range = range->before;
    range->leave();
    swallow_next(*range);
  }
  // The end of the region is used last: behind it nothing was ever touched.
  range->join(range->behind == nullptr ? free_ : *free_.next());
}

void RangePool::forget_quotas() noexcept {
  for (Range* range = first_; range != nullptr; range = range->behind) forget_quota(*range);
}

void RangePool::discard(Block& block) noexcept { delete static_cast<Range*>(&block); }

}  // namespace netio::detail
