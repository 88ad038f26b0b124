// The send side of a shm link: pages go into slots of our board; what is too long for a slot lies
// in the context's arena until the peer gives it back. Owner thread only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "memory/copies.hpp"
#include "memory/pool.hpp"
#include "memory/range_pool.hpp"
#include "memory/shared_memory.hpp"
#include "transport/link.hpp"
#include "transport/shm/board.hpp"

namespace netio::detail {

// A block of the arena, or a loan, in which pages lie that the peer has not given back. While there
// is one such page, nobody else can use the rest of the block: a link is charged for all of it.
struct ShmHold {
  Lease lease;
  std::uint32_t pages = 0;
};

class ShmSends {
 public:
  // `arena` and `loans` lie in `memory`, which the peer maps. `links` counts those that
  // share them, `copies` (or null) what is copied.
  ShmSends(ShmBoard& ours, const ShmBoard& theirs, const SharedMemory& memory, Pool& arena,
           RangePool& loans, const std::size_t& links, Copies* copies);

  // A free slot.
  [[nodiscard]] bool room() const noexcept { return sent_ - consumed_ < shm_slots; }
  // Takes the post: its lease, or a copy of a body that does not lie in the arena. False if there
  // is no memory for that, or no free page. There must be room().
  bool put(const PageHeader& header, Post& post) noexcept;
  // Where to wait when put() was false; and whether there is some of what it lacked.
  [[nodiscard]] Store& wanted() noexcept {
    return lacked_loan_ ? static_cast<Store&>(loans_) : arena_;
  }
  [[nodiscard]] bool memory() const noexcept {
    if (free_pages_.empty() || has_too_much(lacked_loan_)) return false;
    if (lacked_loan_ || fits_copies(lacked_bytes_)) return true;
    return !has_its_share() && arena_.blocks_free() != 0;
  }

  // What the peer has read and given back since. False if its numbers make no sense. `news`:
  // whether there was any.
  bool reap(bool& news) noexcept;
  // A look without taking: reap() would find something.
  [[nodiscard]] bool news() const noexcept;

  // The peer has read all there is, as far as reap() has seen.
  [[nodiscard]] bool consumed() const noexcept { return consumed_ == sent_; }
  [[nodiscard]] bool idle() const noexcept { return consumed() && pages_out() == 0; }
  [[nodiscard]] std::size_t pages_out() const noexcept { return shm_pages - free_pages_.size(); }
  [[nodiscard]] std::size_t arena_bytes_out() const noexcept { return out_bytes_; }
  [[nodiscard]] std::size_t loan_bytes_out() const noexcept { return loan_bytes_; }
  // See Link::holding.
  [[nodiscard]] Holding holding(const StorePart& of) const noexcept;
  // Of `bytes_max`, what the peer has not read: small pages run out of slots first. Pages that it
  // keeps are bounded by the arena alone.
  [[nodiscard]] std::size_t taken_of(std::size_t bytes_max) const noexcept;
  // The connection is over: what the peer has not given back.
  [[nodiscard]] std::vector<ShmHold> take_holds() noexcept { return std::exchange(holds_, {}); }

 private:
  using HoldNumber = std::uint16_t;
  static constexpr HoldNumber none = shm_pages;

  void count_copy(const Post& post) noexcept {
    if (post.body.lease && post.body.bytes != 0 && copied_ != nullptr) {
      copied_->add(post.body.bytes);
    }
  }
  [[nodiscard]] bool is_loan(const Post& post) const noexcept;
  [[nodiscard]] bool has_its_share() const noexcept;
  [[nodiscard]] bool has_too_much(bool loan) const noexcept;
  [[nodiscard]] HoldNumber hold_for(const PageHeader& header, Post& post,
                                    const std::byte*& data) noexcept;
  HoldNumber begin_hold(Lease lease) noexcept;
  void drop_page(HoldNumber number) noexcept;
  // There is room for so much behind the copies.
  [[nodiscard]] bool fits_copies(std::size_t bytes) const noexcept {
    return copies_ != none && arena_.block_bytes() - copied_bytes_ >= bytes;
  }
  [[nodiscard]] std::size_t& bytes_like(const Lease& lease) noexcept {
    return lease->owner() == &arena_ ? out_bytes_ : loan_bytes_;
  }

  ShmBoard& ours_;
  const ShmBoard& theirs_;
  const SharedMemory& memory_;
  Pool& arena_;
  RangePool& loans_;
  const std::size_t& links_;
  Copies* copied_;          // counts bodies that were copied out of other memory; null: nobody does
  std::uint64_t sent_ = 0;  // slots written
  std::uint64_t consumed_ = 0;    // of them, read by the peer as far as we know
  std::uint64_t returned_ = 0;    // entries of the peer's returns taken
  std::size_t queued_bytes_ = 0;  // in slots that the peer has not read
  std::array<std::size_t, shm_slots> slot_bytes_{};
  // The last page that put() wanted memory for.
  bool lacked_loan_ = false;
  std::size_t lacked_bytes_ = 0;
  std::vector<std::uint32_t> free_pages_;
  std::array<HoldNumber, shm_pages> hold_of_;  // each page that is out
  // As many as pages suffice: when put() returns, each hold has a page.
  std::vector<ShmHold> holds_;
  std::vector<HoldNumber> free_holds_;
  HoldNumber latest_ = none;  // of a body that lies where it was
  HoldNumber copies_ = none;  // the block that is being filled with copies
  std::size_t copied_bytes_ = 0;
  // Of all holds: blocks of the arena, and loans.
  std::size_t out_bytes_ = 0;
  std::size_t loan_bytes_ = 0;
  std::uint64_t loan_bytes_returned_ = 0;  // so far
};

}  // namespace netio::detail
