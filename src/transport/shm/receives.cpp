// Every word of the peer's is read once, and checked.
#include "transport/shm/receives.hpp"

#include <algorithm>
#include <utility>

#include "base/point.hpp"
#include "memory/copy_thresholds.hpp"

namespace netio::detail {

namespace {
std::uint64_t read_once(const std::uint64_t& word) noexcept {
  return load_once(reinterpret_cast<const std::byte*>(&word));
}

// A page of many messages, or one message with all that may stand before it.
std::uint64_t largest_body(std::size_t page_bytes, std::uint64_t message_bytes_max) noexcept {
  const std::uint64_t message = std::min<std::uint64_t>(message_bytes_max, UINT32_MAX);
  return std::max<std::uint64_t>(page_bytes, wire_padded(message) + frame_prefix_bytes_max);
}
}  // namespace

ShmReceives::ShmReceives(ShmBoard& ours, const ShmBoard& theirs, ShmPeerMemory& memory, Pool& pool,
                         std::size_t page_bytes, const LinkOptions& options) noexcept
    : ours_(ours),
      theirs_(theirs),
      memory_(memory),
      pool_(pool),
      quota_(options.receive_quota),
      large_quota_(options.large_quota),
      copied_(options.copies),
      fills_blocks_(options.fills_blocks),
      body_bytes_max_(largest_body(page_bytes, options.message_bytes_max)) {}

// For another copy, behind those that may still be in use. Null for want of memory.
std::byte* ShmReceives::room_for(std::size_t bytes) noexcept {
  if (copies_ && copies_->sole()) {
    copied_bytes_ = 0;
    Store::forget_kept(*copies_.get());
  }
  if (!copies_ || copies_->capacity() - copied_bytes_ < bytes) {
    copies_.reset();
    copies_ = pool_.take(quota_);
    copied_bytes_ = 0;
    if (!copies_) return nullptr;
  }
  return copies_->data() + copied_bytes_;
}

// Others may need the memory before the next page comes. A block in which the owner keeps something
// would not come home, so the rest of it may be filled.
void ShmReceives::give_copies_back() noexcept {
  if (!fills_blocks_ || (copies_ && copies_->sole())) copies_.reset();
}

// All that a slot holds, whatever of it is the page's: this many words need no loop.
Block* ShmReceives::copy_slot(const ShmSlot& slot, std::size_t bytes,
                              std::span<const std::byte>& body) noexcept {
  std::byte* const to = room_for(slot.body.size());
  if (to == nullptr) return nullptr;
#pragma GCC unroll 10
  for (std::size_t at = 0; at < sizeof slot.body; at += wire_align) {
    store_u64(to + at, load_once(slot.body.data() + at));
  }
  copied_bytes_ += bytes;
  body = {to, bytes};
  return copies_.get();
}

Block* ShmReceives::copy_out(std::span<const std::byte> from,
                             std::span<const std::byte>& body) noexcept {
  const std::size_t bytes = from.size();
  std::byte* const to = room_for(bytes);
  if (to == nullptr) return nullptr;
  for (std::size_t at = 0; at < bytes; at += wire_align) {
    store_u64(to + at, load_once(from.data() + at));
  }
  copied_bytes_ += bytes;
  body = {to, bytes};
  return copies_.get();
}

// Returns the memory of the page. If null, defect_ says what is wrong, or there was no memory.
Block* ShmReceives::fetch(const ShmSlot& slot, const PageHeader& header,
                          std::span<const std::byte>& body) noexcept {
  const std::uint64_t place = read_once(slot.place);
  defect_ = netio::detail::defect(header);
  if (defect_ != nullptr) return nullptr;
  if (place == ShmSlot::inline_body) {
    if (header.bytes <= slot.body.size()) return copy_slot(slot, header.bytes, body);
    defect_ = "a page that is longer than its slot";
    return nullptr;
  }
  // Before the memory is looked at: the first look at so much takes long.
  if (header.bytes > body_bytes_max_) {
    defect_ = "a page that is larger than any message that is allowed here";
    reason_ = DownReason::message_too_big;
    return nullptr;
  }
  const std::uint64_t page = load_once(slot.body.data());
  defect_ = memory_.look(page, place, header.bytes, body);
  if (defect_ != nullptr) return nullptr;
  if (header.bytes <= given_back_bytes_max) {
    Block* const copy = copy_out(body, body);
    if (copy == nullptr) return nullptr;
    memory_.pass_back(page);
    if (copied_ != nullptr) copied_->add(header.bytes);
    return copy;
  }
  Quota* quota = header.bytes > pool_.block_bytes() ? large_quota_ : quota_;
  // The page is larger than the quota will ever allow. Skip the quota here; the check of the
  // message size refuses it later.
  if (quota != nullptr && header.bytes > quota->bytes_max()) quota = nullptr;
  if (quota != nullptr && !quota->fits(header.bytes)) {
    give_copies_back();  // what we hold ourselves is not to be waited for
    if (!quota->fits(header.bytes)) return nullptr;
  }
  page_ = memory_.take(page, body, quota);
  return page_.get();
}

ShmReceives::Result ShmReceives::take(LinkEvents& events, const bool& paused, int budget) noexcept {
  Result result = Result::more;
  const std::uint64_t before = taken_;
  while (budget-- > 0) {
    if (paused) {
      result = Result::paused;
      break;
    }
    if (!waiting()) {
      result = Result::empty;
      break;
    }
    NETIO_POINT(read);
    const ShmSlot& slot = next_slot();
    const PageHeader header = load_page_header(slot.header.data());
    if (peer_is_gone_ && says_bye(header)) {
      result = Result::over;
      break;
    }
    std::span<const std::byte> body;
    Block* const block = fetch(slot, header, body);
    if (block == nullptr) {
      result = defect_ != nullptr ? Result::bad : Result::starved;
      break;
    }
    NETIO_POINT(was_read);
    ++taken_;
    bytes_ += page_header_bytes + header.bytes;
    events.on_page(header, *block, body);
    page_.reset();
    // Tell the sender now that this page was read, so that it can continue while we read the next
    // large page.
    if (header.bytes > given_back_bytes_max)
      ours_.consumed.store(taken_, std::memory_order_release);
  }
  give_copies_back();
  if (taken_ != before) ours_.consumed.store(taken_, std::memory_order_release);
  return result;
}

void ShmReceives::discard() noexcept {
  for (std::size_t slot = 0; slot < shm_slots && waiting(); ++slot) ++taken_;
  ours_.consumed.store(taken_, std::memory_order_release);
}

}  // namespace netio::detail
