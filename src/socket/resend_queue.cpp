// See resend_queue.hpp.
#include "socket/resend_queue.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace netio::detail {

ResendQueue& ResendQueue::operator=(ResendQueue&& other) noexcept {
  clear();
  leave();
  other.seal();
  if (!other.alone()) join(other);
  other.leave();
  bytes_max_ = other.bytes_max_;
  items_.swap(other.items_);
  bytes_held_ = std::exchange(other.bytes_held_, 0);
  pages_held_ = std::exchange(other.pages_held_, 0);
  pool_ = other.pool_;
  released_ = other.released_;
  given_up_ = std::exchange(other.given_up_, 0);
  told_ = std::exchange(other.told_, {});
  return *this;
}

void ResendQueue::use(Pool& pool) noexcept {
  if (pool_ == &pool) return;
  seal();
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const BlockOwner* const owner = items_[i].lease->owner();
    if (owner == pool_) --pages_held_;
    if (owner == &pool) ++pages_held_;
  }
  pool_ = &pool;
}

// An item takes memory itself, which counts where messages are small and many.
std::size_t ResendQueue::cost(const Item& item) noexcept {
  return sizeof(Item) + item.lease->capacity() + item.front.bytes;
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
  assert(empty() || items_[items_.size() - 1].end() == item.position);
  bytes_held_ += cost(item);
  if (item.lease->owner() == pool_) ++pages_held_;
  if (own_front_page(item, items_.size() - 1)) ++pages_held_;
  item.told = told_;
  return items_.push_back(std::move(item));
}

void ResendQueue::add_page(std::uint64_t position, std::uint32_t messages, const Lease& lease,
                           std::span<const std::byte> frames) noexcept {
  seal();
  push({position, messages, true, {}, lease, frames.data(), frames.size(), {}});
}

void ResendQueue::add_message(std::uint64_t position, const Lease& lease,
                              std::span<const std::byte> message, Label label,
                              const PostBody& front) noexcept {
  seal();
  push({position, 1, false, label, lease, message.data(), message.size(), front});
}

// The item that the open page of copies is of. A page that was opened for it has no item yet.
ResendQueue::Item& ResendQueue::item_of_copies(std::uint64_t position) noexcept {
  if (copies_.messages() != 0) return items_[items_.size() - 1];
  return push({position, 0, true, {}, copies_.lease(), copies_.data(), 0, {}});
}

void ResendQueue::copy_page(std::uint64_t position, std::uint32_t messages,
                            std::span<const std::byte> frames) noexcept {
  Item& item = item_of_copies(position);
  copies_.append_frames(frames.data(), frames.size(), messages);
  item.messages += messages;
  item.bytes = copies_.bytes();
}

void ResendQueue::copy_message(std::uint64_t position, std::span<const std::byte> message,
                               Label label) noexcept {
  Item& item = item_of_copies(position);
  copies_.append(message, label);
  ++item.messages;
  item.bytes = copies_.bytes();
}

void ResendQueue::pop() noexcept {
  Item& item = items_[0];
  bytes_held_ -= cost(item);
  if (item.lease->owner() == pool_) --pages_held_;
  if (own_front_page(item, 1)) --pages_held_;
  items_.pop_front();
  if (empty()) seal();
}

void ResendQueue::clear() noexcept {
  while (!empty()) pop();
  seal();
}

const ResendQueue::Item* ResendQueue::find(std::uint64_t position) const noexcept {
  std::size_t low = 0;
  std::size_t high = items_.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    (items_[middle].end() <= position ? low : high) =
        items_[middle].end() <= position ? middle + 1 : middle;
  }
  return low < items_.size() && items_[low].position <= position ? &items_[low] : nullptr;
}

void ResendQueue::RequestFields::set(std::uint64_t position, std::uint16_t field) noexcept {
  if (item_ == nullptr || position < next_ || position >= item_->end()) {
    item_ = const_cast<Item*>(queue_.find(position));
    if (item_ == nullptr) return;
    next_ = item_->position;
    if (item_->framed) walker_ = FrameWalker(item_->data, item_->bytes, ability::every_frame);
  }
  constexpr std::uint32_t field_mask = 0xffffU << frame_flag::request_shift;
  const std::uint32_t bits = std::uint32_t{field} << frame_flag::request_shift;
  if (!item_->framed) {
    item_->label.flags = (item_->label.flags & ~field_mask) | bits;
    return;
  }
  Frame frame;
  for (; next_ != position; ++next_) (void)walker_.next(frame);
  auto* const word = const_cast<std::byte*>(walker_.rest().data());
  ++next_;
  if (!walker_.next(frame)) return;
  store_u64(word, frame_word(frame.size, (frame.flags & ~field_mask) | bits));
}

void ResendQueue::lie_idle() noexcept {
  seal();
  offer();
}

void ResendQueue::offer() noexcept {
  if (!empty() && alone()) pool_->add(*this);
}

void ResendQueue::give_up_oldest() noexcept {
  if (empty()) return;
  given_up_ += items_[0].end() - std::max(items_[0].position, released_);
  pop();
}

void ResendQueue::give_up_some(const StorePart& memory) noexcept {
  std::size_t index = 0;
  const auto holds = [&](const Item& item) {
    return memory.has(item.lease) || memory.has(item.front.lease);
  };
  while (index < items_.size() && !holds(items_[index])) ++index;
  if (index == items_.size()) return;
  // A page of fronts is several items', and others may stand between them.
  const Block* const page = items_[index].front.lease.get();
  for (std::size_t i = index + 1; page != nullptr && i < items_.size(); ++i) {
    if (items_[i].front.lease.get() == page) index = i;
  }
  for (++index; index != 0; --index) give_up_oldest();
}

void ResendQueue::give_up() noexcept {
  while (!empty()) give_up_oldest();
  leave();
}

}  // namespace netio::detail
