// Slots are written in order; a slot is free again once the peer has read it, a page once the peer
// has given it back.
#include "transport/shm/sends.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace netio::detail {

namespace {

// The page's body as one piece, padded.
void copy_body(std::byte* to, const PageHeader& header, const Post& post) noexcept {
  std::memcpy(to, post.prefix.data(), post.prefix_bytes);
  if (post.body.bytes != 0) std::memcpy(to + post.prefix_bytes, post.body.data, post.body.bytes);
  const std::size_t bytes = post.prefix_bytes + post.body.bytes;
  std::memset(to + bytes, 0, header.bytes - bytes);
}

// The body into its slot, what lies in the slot's first line last: the reader looks at that line
// all the time, and would take it away between two stores.
void copy_inline(ShmSlot& slot, const PageHeader& header, const Post& post) noexcept {
  constexpr std::size_t first_line_bytes = 8;
  const bool framed = post.prefix_bytes != 0;
  const std::byte* const head = framed ? post.prefix.data() : post.body.data;
  const std::size_t head_bytes = framed ? post.prefix_bytes : post.body.bytes;
  std::byte* const to = slot.body.data();
  if (head_bytes < first_line_bytes) return copy_body(to, header, post);
  if (framed && post.body.bytes != 0) {
    std::memcpy(to + head_bytes, post.body.data, post.body.bytes);
  }
  const std::size_t bytes = post.prefix_bytes + post.body.bytes;
  std::memset(to + bytes, 0, header.bytes - bytes);
  std::memcpy(to + first_line_bytes, head + first_line_bytes, head_bytes - first_line_bytes);
  std::atomic_signal_fence(std::memory_order_release);
  std::memcpy(to, head, first_line_bytes);
}

// What belongs before and behind the payload. The same for every peer: written once, or another
// that reads it already would see it change.
const std::byte* complete_loan(const PageHeader& header, const Post& post) noexcept {
  std::byte* const prefix = post.body.lease->data() + loan_headroom - post.prefix_bytes;
  if (std::memcmp(prefix, post.prefix.data(), post.prefix_bytes) != 0) {
    std::memcpy(prefix, post.prefix.data(), post.prefix_bytes);
    const std::size_t bytes = post.prefix_bytes + post.body.bytes;
    std::memset(prefix + bytes, 0, header.bytes - bytes);
  }
  return prefix;
}

}  // namespace

ShmSends::ShmSends(ShmBoard& ours, const ShmBoard& theirs, const SharedMemory& memory, Pool& arena,
                   RangePool& loans, const std::size_t& links)
    : ours_(ours),
      theirs_(theirs),
      memory_(memory),
      arena_(arena),
      loans_(loans),
      links_(links),
      pages_(shm_pages) {
  free_pages_.reserve(shm_pages);
  for (std::uint32_t page = shm_pages; page-- > 0;) free_pages_.push_back(page);
}

// Copies lie one behind the other: what the peer keeps of short messages holds no block each.
Lease ShmSends::copy_into_arena(const PageHeader& header, const Post& post,
                                const std::byte*& data) noexcept {
  if (!copies_ || copies_->capacity() - copied_bytes_ < header.bytes) {
    copies_.reset();
    copied_bytes_ = 0;
    copies_ = arena_.take();
    if (!copies_) return {};
  }
  std::byte* const to = copies_->data() + copied_bytes_;
  copy_body(to, header, post);
  copied_bytes_ += header.bytes;
  data = to;
  return copies_;
}

bool ShmSends::is_loan(const Post& post) const noexcept {
  return post.body.lease && loans_.owns(*post.body.lease.get()) &&
         post.body.data == post.body.lease->data() + loan_headroom;
}

Lease ShmSends::in_arena(const PageHeader& header, const Post& post,
                         const std::byte*& data) noexcept {
  const bool whole = post.prefix_bytes == 0 && post.body.bytes % wire_align == 0;
  if (whole && post.body.lease && post.body.lease->owner() == &arena_) {
    data = post.body.data;
    return post.body.lease;
  }
  if (is_loan(post)) {
    data = complete_loan(header, post);
    return post.body.lease;
  }
  return copy_into_arena(header, post, data);
}

// By a page: all of a block or loan of its own, or its part of a block with copies.
std::size_t ShmSends::taken_by(const Lease& lease, const PageHeader& header) const noexcept {
  return lease.get() == copies_.get() ? header.bytes : lease->capacity();
}

// A link has a fair part of the arena, less what pages that are being filled take; and never more
// than it leaves for others. Of loans, that alone.
bool ShmSends::has_its_share(bool loan) const noexcept {
  if (loan) return loan_bytes_out() > loans_.bytes_free();
  const std::size_t block = arena_.block_bytes();
  const std::size_t fair = arena_.blocks() * 3 / 4 / std::max<std::size_t>(links_, 1);
  return out_bytes_ >= std::max<std::size_t>(fair, 2) * block ||
         out_bytes_ > arena_.blocks_free() * block;
}

bool ShmSends::put(const PageHeader& header, Post& post) noexcept {
  assert(room());
  ShmSlot& slot = ours_.slots[sent_ % shm_slots];
  if (header.bytes <= slot.body.size()) {
    copy_inline(slot, header, post);
    slot.place = ShmSlot::inline_body;
    slot.page = 0;
  } else {
    const std::byte* data = nullptr;
    lacked_loan_ = is_loan(post);
    if (free_pages_.empty() || has_its_share(lacked_loan_)) return false;
    Lease lease = in_arena(header, post, data);
    if (!lease) return false;
    const std::uint32_t page = free_pages_.back();
    free_pages_.pop_back();
    slot.place = static_cast<std::uint64_t>(data - memory_.bytes().data());
    slot.page = page;
    page_bytes_[page] = taken_by(lease, header);
    (lease->owner() == &arena_ ? out_bytes_ : loan_bytes_posted_) += page_bytes_[page];
    pages_[page] = std::move(lease);
  }
  slot_bytes_[sent_ % shm_slots] = page_header_bytes + header.bytes;
  queued_bytes_ += page_header_bytes + header.bytes;
  store(slot.header.data(), header);
  slot.turn.store(++sent_, std::memory_order_release);
  post.body.lease.reset();
  return true;
}

bool ShmSends::news() const noexcept {
  return theirs_.consumed.load(std::memory_order_relaxed) != consumed_ ||
         theirs_.returned.load(std::memory_order_relaxed) != returned_;
}

bool ShmSends::reap(bool& news) noexcept {
  const std::uint64_t consumed = theirs_.consumed.load(std::memory_order_acquire);
  if (consumed - consumed_ > sent_ - consumed_) return false;
  news = consumed != consumed_;
  for (; consumed_ != consumed; ++consumed_) queued_bytes_ -= slot_bytes_[consumed_ % shm_slots];
  const std::uint64_t returned = theirs_.returned.load(std::memory_order_acquire);
  if (returned - returned_ > pages_out()) return false;
  for (; returned_ != returned; ++returned_) {
    const std::uint32_t page =
        theirs_.returns[returned_ % shm_pages].load(std::memory_order_relaxed);
    if (page >= shm_pages || !pages_[page]) return false;
    if (pages_[page]->owner() == &arena_) {
      out_bytes_ -= page_bytes_[page];
    } else {
      loan_bytes_returned_ += page_bytes_[page];
    }
    pages_[page].reset();
    free_pages_.push_back(page);
    news = true;
  }
  // Many links that are idle must not hold a block each.
  if (news && copies_ && copies_->sole()) copies_.reset();
  return true;
}

// Counts the pages that the peer has not given back, whether it has read them or not.
Holding ShmSends::holding(const StorePart& of) const noexcept {
  Holding held{0, loan_bytes_returned_};
  for (std::size_t page = 0; page < pages_.size(); ++page) {
    if (of.has(pages_[page])) held.left += page_bytes_[page];
  }
  return held;
}

std::size_t ShmSends::taken_of(std::size_t bytes_max) const noexcept {
  return std::max<std::size_t>(queued_bytes_, bytes_max / shm_slots * (sent_ - consumed_));
}

}  // namespace netio::detail
