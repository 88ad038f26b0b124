// The way home of blocks. One atomic word, returned_, is the return list, the flag that somebody
// waits, and the end of the store; being one word it has one order, which settles every race:
//   - a waiter sets the mark only on an empty list; whoever pushes the first block replaces the
//     mark and thereby learns, alone, that it has to wake: no wake-up is lost or doubled;
//   - once retired, the word stays so: each block is in the list retire() took, or counts itself.
#include "memory/store.hpp"

namespace netio::detail {
namespace {

constexpr std::uintptr_t nothing_returned = 0;
constexpr std::uintptr_t somebody_waits = 1;  // and nothing is returned
constexpr std::uintptr_t store_retired = 2;
static_assert(alignof(Block) > store_retired, "a block's address differs from the marks");

constinit const OwnerThread nobody;

Block* list_of(std::uintptr_t returned) noexcept {
  return returned > store_retired ? reinterpret_cast<Block*>(returned) : nullptr;
}

}  // namespace

void Store::set_wake(std::function<void()> wake) {
  const std::lock_guard lock(wake_mutex_);
  wake_ = std::move(wake);
}

Lease Store::hand_out(Block& block, Quota* quota) noexcept {
  ++blocks_out_;
  place_ = &waiters_;
  block.reset_count();
  block.quota = quota;
  block.kept_memory = nullptr;
  if (quota != nullptr) quota->charge(block.capacity());
  return Lease::adopt(&block);
}

void Store::give_back(Block& block) noexcept {
  // What somebody waits for is not for who comes by first.
  return owner_here() && waiters_.alone() ? come_home(block) : return_from_afar(block);
}

void Store::return_from_afar(Block& block) noexcept {
  std::uintptr_t head = returned_.load(std::memory_order_acquire);
  while (head != store_retired) {
    // Up to the exchange the block is out, so the store lives; after it only this hold keeps it.
    const bool must_wake = head == somebody_waits;
    if (must_wake) holds_.fetch_add(1, std::memory_order_relaxed);
    block.next = list_of(head);
    // Release: what the holder did to the bytes comes before their next use. Nobody pops single
    // blocks, so an address seen twice (ABA) is the same list.
    const bool done =
        returned_.compare_exchange_weak(head, reinterpret_cast<std::uintptr_t>(&block),
                                        std::memory_order_acq_rel, std::memory_order_acquire);
    if (done && must_wake) wake();
    if (must_wake) drop_holds(1);
    if (done) return;
  }
  discard(block);
  drop_holds(1);
}

void Store::collect() noexcept {
  if (list_of(returned_.load(std::memory_order_relaxed)) == nullptr) return;
  // Only this thread takes a list away, so it is still one.
  Block* block = list_of(returned_.exchange(nothing_returned, std::memory_order_acquire));
  while (block != nullptr) come_home(*std::exchange(block, block->next));
}

void Store::come_home(Block& block) noexcept {
  --blocks_out_;
  forget_quota(block);
  recycle(block);
}

void Store::charge(Block& block, Quota& quota) noexcept {
  quota.charge(block.capacity());
  forget_quota(block);
  block.quota = &quota;
}

void Store::forget_quota(Block& block) noexcept {
  if (block.quota == nullptr) return;
  forget_kept(block);
  std::exchange(block.quota, nullptr)->discharge(block.capacity());
}

void Store::forget_kept(Block& block) noexcept {
  if (block.exchange_kept(false)) block.quota->forget_kept(block.capacity());
}

void Store::wait(StoreWaiter& waiter) noexcept {
  waiter.join(*place_);
  std::uintptr_t expected = nothing_returned;
  if (returned_.compare_exchange_strong(expected, somebody_waits, std::memory_order_acq_rel)) {
    return;
  }
  // Blocks came home since the take that failed, and nobody will push onto an empty list.
  if (expected != somebody_waits) wake();
}

std::size_t Store::count_waiters(StoreWaiter::Lack lack) const noexcept {
  std::size_t count = 0;
  for (const RingNode* node = waiters_.next(); node != &waiters_; node = node->next()) {
    if (static_cast<const StoreWaiter*>(node)->lack() == lack) ++count;
  }
  return count;
}

void Store::serve_waiters() noexcept {
  std::uintptr_t expected = somebody_waits;
  returned_.compare_exchange_strong(expected, nothing_returned, std::memory_order_relaxed);
  collect();
  RingNode end;     // Who waits from now on is behind it, and served in the next round;
  RingNode served;  // who got something before that, also behind who did not.
  end.join(waiters_);
  served.join(waiters_);
  while (waiters_.next() != &end) {
    auto& waiter = static_cast<StoreWaiter&>(*waiters_.next());
    waiter.leave();
    place_ = &served;
    waiter.on_memory();
  }
  place_ = &waiters_;
}

void Store::wake() noexcept {
  if (made_at_ != fork_depth()) return;
  const std::lock_guard lock(wake_mutex_);
  if (wake_) wake_();
}

void Store::retire() noexcept {
  // Waits for a call under way, which may use what the owner deletes next.
  if (made_at_ == fork_depth()) set_wake(nullptr);
  while (!waiters_.alone()) waiters_.next()->leave();
  collect();
  forget_quotas();
  holds_.fetch_add(blocks_out_, std::memory_order_relaxed);
  asks_.store(&nobody, std::memory_order_relaxed);
  Block* block = list_of(returned_.exchange(store_retired, std::memory_order_acq_rel));
  std::size_t holds = 1;
  for (; block != nullptr; ++holds) discard(*std::exchange(block, block->next));
  drop_holds(holds);
}

void Store::drop_holds(std::size_t holds) noexcept {
  if (holds_.fetch_sub(holds, std::memory_order_acq_rel) == holds) delete this;
}

}  // namespace netio::detail
