// The receive side of a shm link: takes pages from the peer's slots in order. Bodies that came in a
// slot are copied out of it before the peer may use it again. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "memory/pool.hpp"
#include "transport/link.hpp"
#include "transport/shm/board.hpp"
#include "transport/shm/peer_memory.hpp"
#include "transport/transport.hpp"

namespace netio::detail {

class ShmReceives {
 public:
  enum class Result : std::uint8_t {
    empty,    // all there was is taken
    more,     // the budget is spent
    paused,   // `paused` became true
    over,     // a good-bye of a peer that ended without waiting for ours
    starved,  // no memory, or none that the quota allows
    bad,      // the peer breaks the rules: defect()
  };
  // `page_bytes` is what this side's hello said.
  ShmReceives(ShmBoard& ours, const ShmBoard& theirs, ShmPeerMemory& memory, Pool& pool,
              std::size_t page_bytes, const LinkOptions& options) noexcept;

  // Gives up to `budget` pages to `events`, each of which may set `paused`.
  Result take(LinkEvents& events, const bool& paused, int budget) noexcept;
  // The peer has ended, and not in order.
  void peer_is_gone() noexcept { peer_is_gone_ = true; }
  // Throws away what is there: the peer may go on.
  void discard() noexcept;
  [[nodiscard]] bool waiting() const noexcept {
    const ShmSlot& slot = next_slot();
    __builtin_prefetch(slot.body.data() + slot.body.size() - 1);  // both lines come at once
    return slot.turn.load(std::memory_order_acquire) == taken_ + 1;
  }
  [[nodiscard]] const char* defect() const noexcept { return defect_; }
  // Of the defect.
  [[nodiscard]] DownReason reason() const noexcept { return reason_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  [[nodiscard]] const ShmSlot& next_slot() const noexcept {
    return theirs_.slots[taken_ % shm_slots];
  }
  Block* fetch(const ShmSlot& slot, const PageHeader& header,
               std::span<const std::byte>& body) noexcept;
  Block* copy_out(std::span<const std::byte> from, std::span<const std::byte>& body) noexcept;
  Block* copy_slot(const ShmSlot& slot, std::size_t bytes,
                   std::span<const std::byte>& body) noexcept;
  std::byte* room_for(std::size_t bytes) noexcept;
  void give_copies_back() noexcept;

  ShmBoard& ours_;
  const ShmBoard& theirs_;
  ShmPeerMemory& memory_;
  Pool& pool_;
  Quota* quota_;
  Quota* large_quota_;
  Copies* copied_;           // counts short bodies of the peer's memory; null: nobody does
  const bool fills_blocks_;  // see LinkOptions
  const std::uint64_t body_bytes_max_;  // of a page
  std::uint64_t taken_ = 0;             // slots
  std::uint64_t bytes_ = 0;
  Lease copies_;  // of short bodies, one behind the other
  std::size_t copied_bytes_ = 0;
  Lease page_;  // of the peer's, while it is delivered
  bool peer_is_gone_ = false;
  const char* defect_ = nullptr;
  DownReason reason_ = DownReason::protocol_error;
};

}  // namespace netio::detail
