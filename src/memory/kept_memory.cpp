// Packing: see kept_memory.hpp.
#include "memory/kept_memory.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "memory/copy_thresholds.hpp"

namespace netio::detail {

namespace {

// From the first message that is kept in a block, all of it counts as kept.
void count_as_kept(Block& block) noexcept {
  if (block.quota == nullptr || block.exchange_kept(true)) return;
  block.quota->keep(block.capacity());
}

}  // namespace

KeptMemory::KeptMemory(Pool& pool, Quota& quota, std::function<void()> wanted) noexcept
    : pool_(pool), quota_(quota), wanted_(std::move(wanted)) {
  quota_.reserve = this;
}

KeptMemory::KeptMemory(Pool& pool, Quota& quota) noexcept : pool_(pool), quota_(quota) {}

KeptMemory::~KeptMemory() {
  close();
  if (quota_.reserve == this) quota_.reserve = nullptr;
}

Kept KeptMemory::keep(Block& block, std::span<const std::byte> bytes) noexcept {
  KeptMemory* const memory = block.kept_memory;
  if (memory != nullptr) {
    if (bytes.size() < block.capacity() / shared_block_part) {
      if (std::byte* const copy = memory->place(bytes.size()); copy != nullptr) {
        if (!bytes.empty()) std::memcpy(copy, bytes.data(), bytes.size());
        if (memory->notes_) memory->note(*memory->open_);
        return {memory->open_, copy};
      }
    }
  }
  return share(block, bytes);
}

Kept KeptMemory::share(Block& block, std::span<const std::byte> bytes) noexcept {
  KeptMemory* const memory = block.kept_memory;
  if (memory != nullptr) {
    count_as_kept(block);
    if (memory->notes_) memory->note(block);
  }
  block.add_count();
  return {&block, bytes.data()};
}

Kept KeptMemory::pack(Block& block, std::span<const std::byte> bytes) noexcept {
  std::byte* const copy = place(bytes.size());
  if (copy == nullptr) return share(block, bytes);
  if (!bytes.empty()) std::memcpy(copy, bytes.data(), bytes.size());
  open_->kept_memory = block.kept_memory;
  return {open_, copy};
}

void KeptMemory::note(Block& block) noexcept {
  for (std::size_t i = 0; i < noted_count_; ++i) {
    if (noted_[i].get() == &block) return;
  }
  assert(noted_count_ < noted_max);
  block.add_count();
  noted_[noted_count_++] = Lease::adopt(&block);
}

std::byte* KeptMemory::place(std::size_t bytes) noexcept {
  // A message without bytes takes some too, so that the counts last for every message.
  const std::size_t padded = (std::max<std::size_t>(bytes, 1) + align - 1) / align * align;
  if (padded > left_ && (noted_enough() || !open(padded))) [[unlikely]]
    return nullptr;
  left_ -= padded;
  --counts_;
  return std::exchange(next_, next_ + padded);
}

bool KeptMemory::open(std::size_t bytes) noexcept {
  if (bytes > pool_.block_bytes()) return false;
  // Whoever waits for what was kept in the open block is not to wait for more.
  if (!idle() || open_->waiting_counts != 0) {
    close();
    Lease lease = pool_.take(&quota_);
    if (!lease) return false;
    open_ = lease.release();
    open_->kept_memory = this;  // a page may lie in it whose messages are kept one by one
    count_as_kept(*open_);
    pool_.add(*this);
    counts_ = 1;
  }
  // Nobody else uses the block: from its beginning.
  next_ = open_->data();
  left_ = open_->capacity();
  const std::size_t messages_max = left_ / align;
  assert(messages_max < UINT32_MAX);
  const auto counts = static_cast<std::uint32_t>(messages_max + 1);
  open_->add_counts(counts - counts_);
  counts_ = counts;
  return true;
}

void KeptMemory::close() noexcept {
  if (open_ == nullptr) return;
  leave();
  left_ = 0;
  std::exchange(open_, nullptr)->drop_counts(std::exchange(counts_, 0));
}

bool KeptMemory::close_if_idle() noexcept {
  if (idle()) close();
  return open_ == nullptr;
}

void KeptMemory::give_up() noexcept {
  if (!close_if_idle() && wanted_) wanted_();
}

}  // namespace netio::detail
