// The slow path of a slow subscriber. It is not reached while the link takes every message.
#include "pattern/publish/backlog.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include <netio/message.hpp>

#include "base/out_of_memory.hpp"
#include "memory/copy_thresholds.hpp"

namespace netio::detail {

namespace {

// Subscribers that are behind drop messages once so few pages are left for all others.
bool scarce(Pool& pool) noexcept {
  const std::size_t few = pool.blocks() / 4;
  if (pool.blocks_free() >= few) return false;
  pool.collect();
  return pool.blocks_free() < few;
}

// How near it is to scarce: from 0, all pages are free, to 1.
double scarcity(const Pool& pool) noexcept {
  const std::size_t few = pool.blocks() / 4;
  const std::size_t used = pool.blocks() - pool.blocks_free();
  return static_cast<double>(used) / static_cast<double>(pool.blocks() - few);
}

}  // namespace

bool Backlog::full(Pool& pool) const noexcept {
  return !empty() && (bytes() >= bytes_max_ || scarce(pool) || may_copy() == 0);
}

double Backlog::fill(std::size_t link_bytes, std::size_t link_bytes_max,
                     Pool& pool) const noexcept {
  if (full(pool)) return 1.0;
  const double most = static_cast<double>(link_bytes_max) + static_cast<double>(bytes_max_);
  const double waiting = static_cast<double>(link_bytes) + static_cast<double>(bytes());
  const double pages = empty() ? 0.0 : scarcity(pool);
  constexpr double not_full = 0.999;  // a queue of no bytes lets one message wait, and is full then
  return std::min(std::max(waiting / most, pages), not_full);
}

std::size_t Backlog::bytes_in(const StorePart& memory) const noexcept {
  std::size_t bytes = samples_.bytes_in(memory);
  for (const Item& item : items_) {
    if (memory.has(item.parcel.lease)) bytes += item.parcel.bytes;
  }
  return bytes;
}

void Backlog::set_budget(BehindBudget* budget) noexcept {
  if (budget_ != nullptr) budget_->bytes -= std::exchange(counted_, 0);
  budget_ = budget;
  update_budget();
}

void Backlog::update_budget() noexcept {
  if (budget_ == nullptr) return;
  const std::size_t now = copied();
  budget_->bytes += now - std::exchange(counted_, now);
}

std::size_t Backlog::may_copy() const noexcept {
  if (budget_ == nullptr) return SIZE_MAX;
  const std::size_t of_others = budget_->bytes - counted_;
  const std::size_t most = (budget_->bytes_max - std::min(of_others, budget_->bytes_max)) / 2;
  return most - std::min(copied(), most);
}

void Backlog::add(const Parcel& parcel, const Supplies& supplies, std::size_t body_max) noexcept {
  if (failed_) {
    stream_->drop_unposted(DropReason::not_sent, parcel.messages);
  } else {
    add_by_policy(parcel, supplies, body_max);
  }
  update_budget();
}

void Backlog::add_by_policy(const Parcel& parcel, const Supplies& supplies,
                            std::size_t body_max) noexcept {
  switch (policy_) {
    case Policy::block:
      break;
    case Policy::sample:
      return sample(parcel, supplies);
    case Policy::drop_new:
    case Policy::disconnect:
      if (fits(cost(parcel)) && copy_cost(parcel) <= may_copy() && !scarce(supplies.pages) &&
          !supplies.scarce(parcel.lease)) {
        break;
      }
      return drop(parcel.messages, DropReason::dropped_new);
    case Policy::drop_old:
      return add_newest(parcel, supplies, body_max);
  }
  enqueue(parcel, supplies, body_max);
}

bool Backlog::takes_large(std::size_t bytes, const Supplies& supplies) const noexcept {
  for (auto item = items_.begin(); bytes != 0 && item != items_.end(); ++item) {
    bytes -= std::min(bytes, supplies.large_bytes(item->parcel.lease));
  }
  return bytes == 0;
}

// Where large memory is scarce, a message is kept only in the place of others that took as much.
void Backlog::add_newest(const Parcel& parcel, const Supplies& supplies,
                         std::size_t body_max) noexcept {
  if (cost(parcel) > bytes_max_) return drop(parcel.messages, DropReason::dropped_new);
  const bool all = scarce(supplies.pages);
  const std::size_t wanted = supplies.scarce(parcel.lease) ? parcel.lease->capacity() : 0;
  if (!all && !takes_large(wanted, supplies)) {
    return drop(parcel.messages, DropReason::dropped_new);
  }
  std::size_t freed = 0;
  const auto too_much = [&] {
    return freed < wanted || !fits(cost(parcel)) || copy_cost(parcel) > may_copy();
  };
  while (all || too_much()) {
    const Lease dropped = drop_oldest();
    if (!dropped) break;
    freed += supplies.large_bytes(dropped);
  }
  if (too_much()) return drop(parcel.messages, DropReason::dropped_new);
  enqueue(parcel, supplies, body_max);
}

void Backlog::enqueue(const Parcel& parcel, const Supplies& supplies,
                      std::size_t body_max) noexcept {
  const bool small = !parcel.lease || (parcel.framed && parcel.bytes < parcel.lease->capacity() /
                                                                           waiting_block_part);
  if (small && append_to_tail(parcel, supplies.pages, body_max)) {
    if (parcel.lease) supplies.copies.add(parcel.bytes);
    return;
  }
  seal_tail();
  Item item;
  item.parcel = parcel;
  item.copied = copy_cost(parcel);
  if (!parcel.lease) {
    try {
      Message copy = Message::copy_of({parcel.data, parcel.bytes});
      item.parcel.data = copy.data();
      item.parcel.lease = Lease::adopt(copy.release_block());
    } catch (const std::bad_alloc&) {
      return drop(parcel.messages, DropReason::not_sent);
    }
  }
  if (!push(std::move(item))) return stream_->drop_unposted(DropReason::not_sent, parcel.messages);
  bytes_ += cost(parcel);
  messages_ += parcel.messages;
}

bool Backlog::push(Item item) noexcept {
  const std::size_t copied = item.copied;
  guard_memory([&] { items_.push_back(std::move(item)); }, [this]() noexcept { failed_ = true; });
  if (!failed_) copied_ += copied;
  return !failed_;
}

bool Backlog::append_to_tail(const Parcel& parcel, Pool& pool, std::size_t body_max) noexcept {
  const std::size_t need =
      parcel.framed ? parcel.bytes : OpenPage::frame_bytes(parcel.bytes, parcel.label);
  if (need > tail_.room()) {
    if (need > body_max) return false;
    seal_tail();
    Lease page = pool.take();
    if (!page) return false;
    tail_.open(std::move(page), body_max);
  }
  if (parcel.framed) {
    tail_.append_frames(parcel.data, parcel.bytes, parcel.messages);
  } else {
    tail_.append({parcel.data, parcel.bytes}, parcel.label);
  }
  bytes_ += need;
  messages_ += parcel.messages;
  return true;
}

void Backlog::seal_tail() noexcept {
  if (!tail_.is_open()) return;
  Item item;
  item.parcel = {Lease(), tail_.data(), tail_.bytes(), tail_.messages(), true, {}};
  item.parcel.lease = tail_.take();
  const std::size_t bytes = cost(item.parcel);
  const std::uint64_t messages = item.parcel.messages;
  if (push(std::move(item))) return;
  bytes_ -= bytes;
  messages_ -= messages;
  stream_->drop_unposted(DropReason::not_sent, messages);
}

void Backlog::sample(const Parcel& parcel, const Supplies& supplies) noexcept {
  if (!parcel.framed) {
    // If memory is short, take the message only if the one that it supersedes gives back as much.
    if (supplies.scarce(parcel.lease) &&
        supplies.large_bytes(samples_.shared(parcel.label.number)) < parcel.lease->capacity()) {
      return drop(1, DropReason::dropped_new);
    }
    (void)sample_one(parcel.label, {parcel.data, parcel.bytes}, parcel.lease);
    return;
  }
  FrameWalker walker(parcel.data, parcel.bytes, ability::every_frame);
  for (Frame frame; walker.next(frame);) {
    if (sample_one(frame.label(), {frame.payload, frame.size}, Lease())) {
      supplies.copies.add(frame.size);
    }
  }
}

bool Backlog::sample_one(Label label, std::span<const std::byte> message,
                         const Lease& lease) noexcept {
  const std::size_t room = bytes_max_ - std::min(bytes_, bytes_max_);
  const std::size_t more = may_copy();
  const std::size_t most =
      more < room - std::min(samples_.bytes(), room) ? samples_.bytes() + more : room;
  switch (samples_.put(label, message, lease, most)) {
    case Samples::Put::added:
      return true;
    case Samples::Put::replaced:
      drop(1, DropReason::superseded);
      return true;
    case Samples::Put::refused:
      drop(1, DropReason::dropped_new);
  }
  return false;
}

Lease Backlog::drop_oldest() noexcept {
  seal_tail();
  const auto oldest = std::find_if(items_.begin(), items_.end(), [](const Item& item) {
    return item.kind == Item::Kind::parcel;
  });
  if (oldest == items_.end()) return {};
  Lease dropped = std::move(oldest->parcel.lease);
  const std::uint64_t messages = oldest->parcel.messages;
  bytes_ -= cost(oldest->parcel);
  copied_ -= oldest->copied;
  messages_ -= messages;
  stream_->drop_unposted(DropReason::dropped_old, messages);
  overrun_ = true;
  *oldest = Item();
  oldest->kind = Item::Kind::gap;
  oldest->drops.add({messages, DropReason::dropped_old});
  const auto at = static_cast<std::size_t>(oldest - items_.begin());
  join_gaps(at);
  if (at != 0) join_gaps(at - 1);
  return dropped;
}

// This item and the next, if both are gaps.
void Backlog::join_gaps(std::size_t at) noexcept {
  if (at + 1 >= items_.size()) return;
  Item& gap = items_[at];
  const Item& next = items_[at + 1];
  if (gap.kind != Item::Kind::gap || next.kind != Item::Kind::gap) return;
  gap.drops.add(next.drops);
  items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(at) + 1);
}

void Backlog::drop(std::uint64_t messages, DropReason reason) noexcept {
  overrun_ = true;
  stream_->drop_unposted(reason, messages);
  add_gap(messages, reason);
}

// Gaps that follow each other are one item: they need no memory for each drop.
void Backlog::add_gap(std::uint64_t messages, DropReason reason) noexcept {
  seal_tail();
  if (!items_.empty() && items_.back().kind == Item::Kind::gap) {
    items_.back().drops.add({messages, reason});
    return;
  }
  Item item;
  item.kind = Item::Kind::gap;
  item.drops.add({messages, reason});
  (void)push(std::move(item));
}

// Samples are packed first, so that they stay before the control frame. Samples without room or
// memory are dropped.
void Backlog::add_control(ControlKind kind, std::span<const std::byte> payload, Pool& pool,
                          std::size_t body_max) noexcept {
  while (!samples_.empty() && fits(samples_.bytes()) && !scarce(pool)) {
    if (!pack_samples(pool, body_max)) break;
  }
  if (!samples_.empty()) {
    drop(samples_.size(), DropReason::not_sent);
    samples_.clear();
  }
  seal_tail();
  Item item;
  item.kind = Item::Kind::control;
  item.control = kind;
  std::copy(payload.begin(), payload.end(), item.payload.begin());
  item.payload_bytes = payload.size();
  item.copied = sizeof(Item);
  if (push(std::move(item))) ++controls_;
  update_budget();
}

bool Backlog::pack_samples(Pool& pool, std::size_t body_max) noexcept {
  Item item;
  if (!samples_.take_shared(item.parcel)) {
    Lease page = pool.take();
    if (!page) return false;
    seal_tail();
    tail_.open(std::move(page), body_max);
    samples_.pack(tail_);
    bytes_ += tail_.bytes();
    messages_ += tail_.messages();
    seal_tail();
    return true;
  }
  const std::size_t bytes = cost(item.parcel);
  item.copied = sizeof(Item);
  if (!push(std::move(item))) {
    stream_->drop_unposted(DropReason::not_sent, 1);
    return false;
  }
  bytes_ += bytes;
  ++messages_;
  return true;
}

Backlog::Item* Backlog::front(Pool& pool, std::size_t body_max) noexcept {
  if (items_.empty()) seal_tail();
  if (items_.empty() && !samples_.empty()) (void)pack_samples(pool, body_max);
  return failed_ || items_.empty() ? nullptr : &items_.front();
}

void Backlog::pop() noexcept {
  const Item& item = items_.front();
  copied_ -= item.copied;
  if (item.kind == Item::Kind::parcel) {
    bytes_ -= cost(item.parcel);
    messages_ -= item.parcel.messages;
  }
  if (item.kind == Item::Kind::control) --controls_;
  items_.pop_front();
}

void Backlog::pop_posted() noexcept {
  Drops& drops = items_.front().drops;
  if (!drops.empty()) drops.pop_front();
  if (drops.empty()) pop();
  update_budget();
}

void Backlog::clear() noexcept {
  items_.clear();
  tail_.close();
  samples_.clear();
  bytes_ = 0;
  messages_ = 0;
  controls_ = 0;
  copied_ = 0;
  failed_ = overrun_ = false;
  update_budget();
}

}  // namespace netio::detail
