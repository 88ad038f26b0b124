// See resend_queue.hpp.
#include "socket/resend_queue.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/out_of_memory.hpp"

namespace netio::detail {

ResendQueue& ResendQueue::operator=(ResendQueue&& other) noexcept {
  clear();
  leave();
  other.seal();
  if (!other.alone()) join(other);
  other.leave();
  bytes_max_ = other.bytes_max_;
  ring_ = std::exchange(other.ring_, {});
  first_ = std::exchange(other.first_, 0);
  count_ = std::exchange(other.count_, 0);
  bytes_held_ = std::exchange(other.bytes_held_, 0);
  pages_held_ = std::exchange(other.pages_held_, 0);
  pool_ = other.pool_;
  released_ = other.released_;
  given_up_ = std::exchange(other.given_up_, 0);
  told_ = std::exchange(other.told_, {});
  return *this;
}

// An item takes memory itself, which counts where messages are small and many.
std::size_t ResendQueue::cost(const Item& item) noexcept {
  return sizeof(Item) + item.lease->capacity();
}

bool ResendQueue::make_room() noexcept {
  if (count_ < ring_.size()) return true;
  bool made = true;
  guard_memory(
      [this] {
        std::vector<Item> larger(std::max<std::size_t>(16, 2 * ring_.size()));
        for (std::size_t i = 0; i < count_; ++i) larger[i] = std::move(at(i));
        ring_ = std::move(larger);
        first_ = 0;
      },
      [&made]() noexcept { made = false; });
  return made;
}

bool ResendQueue::make_room_to_copy(std::size_t bytes) noexcept {
  if (has_room_to_copy(bytes)) return true;
  if (!make_room()) return false;
  Lease page = pool_->take();
  if (!page) return false;
  const std::size_t room = page->capacity();
  copies_.close();
  copies_.open(std::move(page), room);
  return true;
}

ResendQueue::Item& ResendQueue::push(Item item) noexcept {
  assert(count_ < ring_.size());
  assert(count_ == 0 || at(count_ - 1).end() == item.position);
  bytes_held_ += cost(item);
  if (item.lease->owner() == pool_) ++pages_held_;
  Item& to = at(count_);
  to = std::move(item);
  to.told = told_;
  ++count_;
  return to;
}

void ResendQueue::add_page(std::uint64_t position, std::uint32_t messages, const Lease& lease,
                           std::span<const std::byte> frames) noexcept {
  seal();
  push({position, messages, true, 0, lease, frames.data(), frames.size()});
}

void ResendQueue::add_message(std::uint64_t position, const Lease& lease,
                              std::span<const std::byte> message, std::uint64_t tag) noexcept {
  seal();
  push({position, 1, false, tag, lease, message.data(), message.size()});
}

// The item that the open page of copies is of. A page that was opened for it has no item yet.
ResendQueue::Item& ResendQueue::item_of_copies(std::uint64_t position) noexcept {
  if (copies_.messages() != 0) return at(count_ - 1);
  return push({position, 0, true, 0, copies_.lease(), copies_.data(), 0});
}

void ResendQueue::copy_page(std::uint64_t position, std::uint32_t messages,
                            std::span<const std::byte> frames) noexcept {
  Item& item = item_of_copies(position);
  copies_.append_frames(frames.data(), frames.size(), messages);
  item.messages += messages;
  item.bytes = copies_.bytes();
}

void ResendQueue::copy_message(std::uint64_t position, std::span<const std::byte> message,
                               std::uint64_t tag) noexcept {
  Item& item = item_of_copies(position);
  copies_.append(message, tag);
  ++item.messages;
  item.bytes = copies_.bytes();
}

void ResendQueue::pop() noexcept {
  Item& item = at(0);
  bytes_held_ -= cost(item);
  if (item.lease->owner() == pool_) --pages_held_;
  item = {};
  first_ = (first_ + 1) & (ring_.size() - 1);
  if (--count_ == 0) seal();
}

void ResendQueue::clear() noexcept {
  while (count_ != 0) pop();
  seal();
}

const ResendQueue::Item* ResendQueue::find(std::uint64_t position) const noexcept {
  std::size_t low = 0;
  std::size_t high = count_;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    (at(middle).end() <= position ? low : high) =
        at(middle).end() <= position ? middle + 1 : middle;
  }
  return low < count_ && at(low).position <= position ? &at(low) : nullptr;
}

void ResendQueue::lie_idle() noexcept {
  seal();
  offer();
}

void ResendQueue::offer() noexcept {
  if (count_ != 0 && alone()) pool_->add(*this);
}

void ResendQueue::give_up_oldest() noexcept {
  if (count_ == 0) return;
  given_up_ += at(0).end() - std::max(at(0).position, released_);
  pop();
}

void ResendQueue::give_up_some(const StorePart& memory) noexcept {
  std::size_t index = 0;
  while (index < count_ && !memory.has(at(index).lease)) ++index;
  if (index == count_) return;
  for (++index; index != 0; --index) give_up_oldest();
}

void ResendQueue::give_up() noexcept {
  while (count_ != 0) give_up_oldest();
  leave();
}

}  // namespace netio::detail
