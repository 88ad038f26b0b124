// Our ring of an ofi link, registered for the peer to write to: which of its slots are the peer's,
// and which are ours until the user has given back what lies in them. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <netio/loop.hpp>

#include "fabric/memory_region.hpp"
#include "memory/pool.hpp"
#include "memory/quota.hpp"
#include "wire/ring.hpp"

namespace netio::detail {

// What ?engine=ring asks for. No slots: the messages engine.
struct RingOptions {
  static constexpr std::size_t slots_max = 500;
  std::size_t slots = 0;
  std::size_t slot_bytes = 0;  // of payload
  // As many writes may be on their way to a side that has this ring: a page in each slot, and as
  // many notices, and a few. 0 without a ring.
  [[nodiscard]] std::size_t window() const noexcept;
};

class OfiRing {
 public:
  // All slots are the peer's. Throws Error without the memory, or where it cannot be registered.
  // What lies in a slot is charged to the quota from lend_out() on, until the slot is free again.
  OfiRing(Loop& loop, Domain& domain, const RingOptions& options, Quota* quota, MemoryRoom& room);
  OfiRing(const OfiRing&) = delete;
  OfiRing& operator=(const OfiRing&) = delete;

  // For our hello.
  [[nodiscard]] WireRing offer() const noexcept;

  // The peer wrote a page to the slot. False if that was not the peer's to write to.
  [[nodiscard]] bool arrived(std::size_t slot) noexcept;
  // Of a slot.
  [[nodiscard]] std::size_t slot_bytes() const noexcept { return pool_->block_bytes(); }
  [[nodiscard]] std::byte* data(std::size_t slot) const noexcept {
    return pool_->region().data() + slot * pool_->block_bytes();
  }
  [[nodiscard]] Block& block(std::size_t slot) noexcept { return *slots_[slot].get(); }
  // What lies there goes to the user, who may keep it. False without the quota for that; who keeps
  // nothing is always given the next one.
  [[nodiscard]] bool lend_out(std::size_t slot) noexcept;
  // The link is done with it; others may hold its memory for longer.
  void give_back(std::size_t slot) noexcept;
  // Takes back what others have let go of.
  void collect() noexcept;
  // The link goes. False if nothing in it is held by others: it may go too. Else it stays, with its
  // charges, until collect() has all of it.
  [[nodiscard]] bool outlives_link() noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept { return pool_->region().size(); }
  // Some slots are held by others: the store to wait for.
  [[nodiscard]] Store& store() noexcept { return *pool_; }
  [[nodiscard]] bool waits_for_others() const noexcept { return held_by_others_ != 0; }

  // Slots that are free, and that the peer was not told of.
  [[nodiscard]] std::size_t untold() const noexcept { return free_.size(); }
  [[nodiscard]] std::size_t slots() const noexcept { return slots_.size(); }
  // As far as this side knows, the peer has none to write to.
  [[nodiscard]] bool peer_has_none() const noexcept { return peers_ == 0; }
  // Writes up to `most` of them; they are the peer's once told() is called.
  std::size_t list(std::uint16_t* to, std::size_t most) const noexcept;
  void told(std::size_t slots) noexcept;

  // Nothing if there is none of that number.
  [[nodiscard]] std::span<const std::byte> notice(std::size_t index) const noexcept {
    if (index >= notices_count_) return {};
    return {notices_->region().data() + index * sizeof(RingNotice), sizeof(RingNotice)};
  }
  // A block that pages of notices may be said to lie in.
  [[nodiscard]] Block& notice_block() noexcept { return *notices_lease_.get(); }

 private:
  [[nodiscard]] std::size_t slot_of(const Block& block) const noexcept;

  Signal came_home_;
  Quota* quota_;
  Pool::Ptr pool_;
  Pool::Ptr notices_;
  std::size_t notices_count_;
  std::vector<Lease> slots_;  // those that are the peer's or free too: no one else gets them
  std::vector<bool> peers_own_;
  std::vector<std::uint16_t> free_;
  std::size_t peers_ = 0;
  std::size_t held_by_others_ = 0;
  Lease notices_lease_;
  std::optional<MemoryRegion> slots_region_;
  std::optional<MemoryRegion> notices_region_;
};

}  // namespace netio::detail
