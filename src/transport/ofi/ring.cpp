// Slots go from the peer to the link, to the user, and back.
#include "transport/ofi/ring.hpp"

#include <algorithm>
#include <utility>

#include "fabric/error.hpp"
#include "memory/mapping.hpp"
#include "wire/frame.hpp"

namespace netio::detail {

namespace {

// Of a page beside its payload: its header, the prefix of a frame, padding.
constexpr std::size_t page_overhead = page_header_bytes + frame_prefix_bytes_max + wire_align;
constexpr std::size_t notices_more = 8;

constexpr std::size_t whole_pages(std::size_t bytes) noexcept {
  return (bytes + small_page_bytes - 1) / small_page_bytes * small_page_bytes;
}

std::size_t block_bytes(const RingOptions& options) noexcept {
  return whole_pages(options.slot_bytes + page_overhead);
}

// With the memory of all, which the peer writes to.
Pool::Ptr make_slots(const RingOptions& options, MemoryRoom& room,
                     std::shared_ptr<const OwnerThread> owner) {
  Pool::Ptr slots =
      Pool::create_as_used(block_bytes(options), options.slots, &room, std::move(owner));
  if (!slots->take_all()) throw room.error("take memory for a ring");
  return slots;
}

}  // namespace

std::size_t RingOptions::window() const noexcept {
  if (slots == 0) return 0;
  return std::min<std::size_t>(2 * slots + notices_more, 1024);
}

OfiRing::OfiRing(Loop& loop, Domain& domain, const RingOptions& options, Quota* quota,
                 MemoryRoom& room)
    : came_home_(loop, [this] { pool_->serve_waiters(); }),
      quota_(quota),
      pool_(make_slots(options, room, loop.owner())),
      notices_(Pool::create(whole_pages(options.window() * sizeof(RingNotice)), 1, loop.owner())),
      notices_count_(options.window()),
      slots_(pool_->blocks()),
      peers_own_(slots_.size(), true),
      peers_(slots_.size()),
      notices_lease_(notices_->take()),
      slots_region_(std::in_place, domain, pool_->region(), MemoryRegion::Use::ring),
      notices_region_(std::in_place, domain, notices_->region(), MemoryRegion::Use::ring) {
  free_.reserve(slots_.size());
  pool_->let_peer_write();
  pool_->set_wake([this] { came_home_.notify(); });
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Lease lease = pool_->take();
    const std::size_t slot = slot_of(*lease.get());
    slots_[slot] = std::move(lease);
  }
}

WireRing OfiRing::offer() const noexcept {
  WireRing ring;
  ring.address = slots_region_->remote_address(pool_->region().data());
  ring.key = slots_region_->key();
  ring.notices_address = notices_region_->remote_address(notices_->region().data());
  ring.notices_key = notices_region_->key();
  ring.slots = static_cast<std::uint32_t>(slots_.size());
  ring.slot_bytes = static_cast<std::uint32_t>(pool_->block_bytes());
  ring.notices = static_cast<std::uint32_t>(notices_count_);
  return ring;
}

bool OfiRing::arrived(std::size_t slot) noexcept {
  if (slot >= slots_.size() || !peers_own_[slot]) return false;
  peers_own_[slot] = false;
  --peers_;
  return true;
}

bool OfiRing::lend_out(std::size_t slot) noexcept {
  Block& block = *slots_[slot].get();
  if (quota_ == nullptr || block.quota != nullptr) return true;
  if (quota_->kept_bytes() != 0 && !quota_->fits(block.capacity())) return false;
  Store::charge(block, *quota_);
  return true;
}

void OfiRing::give_back(std::size_t slot) noexcept {
  if (slots_[slot]->sole()) {
    Store::forget_quota(*slots_[slot].get());
    free_.push_back(static_cast<std::uint16_t>(slot));
  } else {
    slots_[slot].reset();
    ++held_by_others_;
  }
}

bool OfiRing::outlives_link() noexcept {
  slots_region_.reset();
  notices_region_.reset();
  for (Lease& slot : slots_) {
    if (!slot || slot->sole()) continue;
    slot.reset();
    ++held_by_others_;
  }
  collect();
  return held_by_others_ != 0;
}

void OfiRing::collect() noexcept {
  while (held_by_others_ != 0) {
    Lease home = pool_->take();
    if (!home) return;
    const std::size_t slot = slot_of(*home.get());
    slots_[slot] = std::move(home);
    free_.push_back(static_cast<std::uint16_t>(slot));
    --held_by_others_;
  }
}

std::size_t OfiRing::list(std::uint16_t* to, std::size_t most) const noexcept {
  const std::size_t count = std::min(most, free_.size());
  std::copy(free_.end() - static_cast<std::ptrdiff_t>(count), free_.end(), to);
  return count;
}

void OfiRing::told(std::size_t slots) noexcept {
  for (; slots != 0; --slots) {
    peers_own_[free_.back()] = true;
    free_.pop_back();
    ++peers_;
  }
}

std::size_t OfiRing::slot_of(const Block& block) const noexcept {
  return static_cast<std::size_t>(block.data() - pool_->region().data()) / pool_->block_bytes();
}

}  // namespace netio::detail
