// Slots are written in order; a slot is free again once the peer has read it, a page once the peer
// has given it back.
#include "transport/shm/sends.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "base/point.hpp"

namespace netio::detail {

namespace {

// Before a body is written: the padding behind it, which is a part of its last word.
void pad(std::byte* to, const PageHeader& header, const Post& post) noexcept {
  if (post.prefix_bytes + post.body.bytes != header.bytes) {
    store_u64(to + header.bytes - wire_align, 0);
  }
}

// The page's body as one piece, padded.
void copy_body(std::byte* to, const PageHeader& header, const Post& post) noexcept {
  pad(to, header, post);
  std::memcpy(to, post.prefix.data(), post.prefix_bytes);
  if (post.body.bytes != 0) std::memcpy(to + post.prefix_bytes, post.body.data, post.body.bytes);
}

// The body into its slot, what lies in the slot's first cache line last: the reader looks at that
// line all the time, and would take it away between two stores.
void copy_inline(ShmSlot& slot, const PageHeader& header, const Post& post) noexcept {
  constexpr std::size_t first_line = 64 - offsetof(ShmSlot, body);
  const std::size_t prefix = post.prefix_bytes;
  const std::size_t payload = post.body.bytes;
  if (prefix + payload <= first_line) return copy_body(slot.body.data(), header, post);
  std::byte* const to = slot.body.data();
  std::byte* const second_line = to + first_line;
  const std::byte* const from = post.body.data;
  pad(to, header, post);
  if (prefix == frame_word_bytes) {  // of nearly all messages
    constexpr std::size_t before = first_line - frame_word_bytes;
    std::memcpy(second_line, from + before, payload - before);
    std::atomic_signal_fence(std::memory_order_release);
    store_u64(to, load_u64(post.prefix.data()));
    std::memcpy(to + frame_word_bytes, from, before);
  } else if (prefix == first_line) {  // with a tag, or of a request
    std::memcpy(second_line, from, payload);
    std::atomic_signal_fence(std::memory_order_release);
    std::memcpy(to, post.prefix.data(), first_line);
  } else if (prefix > first_line) {
    if (payload != 0) std::memcpy(to + prefix, from, payload);
    std::memcpy(second_line, post.prefix.data() + first_line, prefix - first_line);
    std::atomic_signal_fence(std::memory_order_release);
    std::memcpy(to, post.prefix.data(), first_line);
  } else {
    const std::size_t before = first_line - prefix;
    std::memcpy(second_line, from + before, payload - before);
    std::atomic_signal_fence(std::memory_order_release);
    std::memcpy(to, post.prefix.data(), prefix);
    std::memcpy(to + prefix, from, before);
  }
}

// What belongs before and behind the payload. The same for every peer: written once, or another
// that reads it already would see it change.
const std::byte* complete_loan(const PageHeader& header, const Post& post) noexcept {
  std::byte* const prefix = const_cast<std::byte*>(post.body.data) - post.prefix_bytes;
  if (std::memcmp(prefix, post.prefix.data(), post.prefix_bytes) != 0) {
    std::memcpy(prefix, post.prefix.data(), post.prefix_bytes);
    const std::size_t bytes = post.prefix_bytes + post.body.bytes;
    std::memset(prefix + bytes, 0, header.bytes - bytes);
  }
  return prefix;
}

}  // namespace

ShmSends::ShmSends(ShmBoard& ours, const ShmBoard& theirs, const SharedMemory& memory, Pool& arena,
                   RangePool& loans, const std::size_t& links, Copies* copies)
    : ours_(ours),
      theirs_(theirs),
      memory_(memory),
      arena_(arena),
      loans_(loans),
      links_(links),
      copied_(copies),
      holds_(shm_pages) {
  hold_of_.fill(none);
  free_pages_.reserve(shm_pages);
  free_holds_.reserve(shm_pages);
  for (std::uint32_t number = shm_pages; number-- > 0;) {
    free_pages_.push_back(number);
    free_holds_.push_back(static_cast<HoldNumber>(number));
  }
}

ShmSends::HoldNumber ShmSends::begin_hold(Lease lease) noexcept {
  const HoldNumber number = free_holds_.back();
  free_holds_.pop_back();
  bytes_like(lease) += lease->capacity();
  holds_[number].lease = std::move(lease);
  return number;
}

void ShmSends::drop_page(HoldNumber number) noexcept {
  ShmHold& hold = holds_[number];
  if (--hold.pages != 0) return;
  const std::size_t bytes = hold.lease->capacity();
  bytes_like(hold.lease) -= bytes;
  if (hold.lease->owner() != &arena_) loan_bytes_returned_ += bytes;
  hold.lease.reset();
  free_holds_.push_back(number);
  // Many links that are idle must not hold a block each.
  if (number == copies_) copies_ = none;
  if (number == latest_) latest_ = none;
}

bool ShmSends::is_loan(const Post& post) const noexcept {
  return post.body.lease && loans_.owns(*post.body.lease.get()) &&
         post.body.data >= post.body.lease->data() + loan_headroom;
}

// Where the body lies in memory that the peer reads, and what holds that memory. None if there is
// no memory for it, or none that this link may have.
ShmSends::HoldNumber ShmSends::hold_for(const PageHeader& header, Post& post,
                                        const std::byte*& data) noexcept {
  const bool whole = post.prefix_bytes == 0 && post.body.bytes % wire_align == 0;
  const bool in_place = whole && post.body.lease && post.body.lease->owner() == &arena_;
  if (in_place || lacked_loan_) {
    // Bodies of one block, as frames of a page that is sent in pieces, are charged for it once.
    const bool again = latest_ != none && holds_[latest_].lease.get() == post.body.lease.get();
    if (in_place && !again && has_its_share()) return none;
    data = lacked_loan_ ? complete_loan(header, post) : post.body.data;
    if (!again) latest_ = begin_hold(std::move(post.body.lease));
    return latest_;
  }
  // Copies lie one behind the other: what the peer keeps of short messages holds no block each.
  if (!fits_copies(header.bytes)) {
    if (has_its_share()) return none;
    Lease block = arena_.take();
    if (!block) return none;
    copies_ = begin_hold(std::move(block));
    copied_bytes_ = 0;
  }
  std::byte* const to = holds_[copies_].lease->data() + copied_bytes_;
  copy_body(to, header, post);
  count_copy(post);
  copied_bytes_ += header.bytes;
  data = to;
  return copies_;
}

// A link takes no more blocks than a fair part of the arena, less what pages that are being filled
// take.
bool ShmSends::has_its_share() const noexcept {
  const std::size_t fair = arena_.blocks() * 3 / 4 / std::max<std::size_t>(links_, 1);
  return out_bytes_ >= std::max<std::size_t>(fair, 2) * arena_.block_bytes();
}

// A link never has more than it leaves for others.
bool ShmSends::has_too_much(bool loan) const noexcept {
  if (loan) return loan_bytes_ > loans_.bytes_free();
  return out_bytes_ > arena_.blocks_free() * arena_.block_bytes();
}

bool ShmSends::put(const PageHeader& header, Post& post) noexcept {
  assert(room());
  NETIO_POINT(write);
  ShmSlot& slot = ours_.slots[sent_ % shm_slots];
  if (header.bytes <= slot.body.size()) {
    copy_inline(slot, header, post);
    count_copy(post);
    slot.place = ShmSlot::inline_body;
  } else {
    const std::byte* data = nullptr;
    lacked_loan_ = is_loan(post);
    lacked_bytes_ = header.bytes;
    if (free_pages_.empty() || has_too_much(lacked_loan_)) return false;
    const HoldNumber hold = hold_for(header, post, data);
    if (hold == none) return false;
    const std::uint32_t page = free_pages_.back();
    free_pages_.pop_back();
    slot.place = static_cast<std::uint64_t>(data - memory_.bytes().data());
    store_u64(slot.body.data(), page);
    hold_of_[page] = hold;
    ++holds_[hold].pages;
  }
  slot_bytes_[sent_ % shm_slots] = page_header_bytes + header.bytes;
  queued_bytes_ += page_header_bytes + header.bytes;
  store(slot.header.data(), header);
  slot.turn.store(++sent_, std::memory_order_release);
  NETIO_POINT(written);
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
    if (page >= shm_pages || hold_of_[page] == none) return false;
    drop_page(std::exchange(hold_of_[page], none));
    free_pages_.push_back(page);
    news = true;
  }
  return true;
}

// Counts what the peer has not given back, whether it has read it or not.
Holding ShmSends::holding(const StorePart& of) const noexcept {
  Holding held{0, loan_bytes_returned_};
  for (const ShmHold& hold : holds_) {
    if (of.has(hold.lease)) held.left += hold.lease->capacity();
  }
  return held;
}

std::size_t ShmSends::taken_of(std::size_t bytes_max) const noexcept {
  return std::max<std::size_t>(queued_bytes_, bytes_max / shm_slots * (sent_ - consumed_));
}

}  // namespace netio::detail
