// What pools have in common: blocks go out on the owner thread and come home from any; a store
// outlives its owner until the last block is home; whoever found it empty is told of returns. The
// owner thread is the one that uses the context. Only while it is in a turn of the loop is it known
// which one that is; otherwise each block comes home as from another thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "base/fork_watch.hpp"
#include "base/owner_thread.hpp"
#include "memory/block.hpp"
#include "memory/quota.hpp"
#include "memory/ring.hpp"

namespace netio::detail {

// Found a store empty (or its quota spent) and waits for memory. Owner thread only; unlinks itself.
class StoreWaiter : private RingNode {
 public:
  virtual ~StoreWaiter() = default;
  // From the loop, once per wait(): memory came home. Try again; wait() again if it is not enough.
  virtual void on_memory() noexcept = 0;
  // Why it waits. This decides which peers have to make room for it.
  enum class Lack : std::uint8_t {
    memory,           // The store had no memory: every peer that holds some makes room.
    strangers_quota,  // The quota of strangers is spent: peers whose memory is charged to it do.
    share,            // It holds its own share of the store: no other peer has to.
  };
  [[nodiscard]] virtual Lack lack() const noexcept { return Lack::memory; }
  void stop_waiting() noexcept { leave(); }
  [[nodiscard]] bool waiting() const noexcept { return !alone(); }

 private:
  friend class Store;
};

// One that makes a call of its owner's.
class CallingWaiter final : public StoreWaiter {
 public:
  explicit CallingWaiter(std::function<void()> call, Lack lack = Lack::memory) noexcept
      : call_(std::move(call)), lack_(lack) {}
  void on_memory() noexcept override { call_(); }
  [[nodiscard]] Lack lack() const noexcept override { return lack_; }

 private:
  std::function<void()> call_;
  Lack lack_;
};

// All blocks of a store, or only those that are charged to one quota.
struct StorePart {
  const BlockOwner* store = nullptr;
  const Quota* quota = nullptr;  // null: all blocks
  [[nodiscard]] bool has(const Block& block) const noexcept {
    return block.owner() == store && (quota == nullptr || block.quota == quota);
  }
  [[nodiscard]] bool has(const Lease& lease) const noexcept { return lease && has(*lease.get()); }
};

class Store : public BlockOwner {
 public:
  struct Retire {
    void operator()(Store* store) const noexcept { store->retire(); }
  };
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Called (any thread, must not throw or touch this store) when blocks came home while somebody
  // waits, or just stopped to. The owner then calls serve_waiters() on its thread. Set once, before
  // the first take.
  void set_wake(std::function<void()> wake);
  // Calls everybody who was waiting at entry once, in the order of their wait().
  void serve_waiters() noexcept;
  // At once after a take that failed, before anything else is released on this thread. Who waits
  // already, here or elsewhere, starts anew.
  void wait(StoreWaiter& waiter) noexcept;
  // Brings home what other threads returned: one relaxed load when that is nothing, so it can be
  // called every turn. Takes call it when they find nothing else. Owner thread.
  void collect() noexcept;
  // What comes home while somebody waits is left to who is served next: takes do not look for it.
  [[nodiscard]] bool waited_for() const noexcept { return !waiters_.alone(); }
  // The number of waiters with this reason. Walks the line.
  [[nodiscard]] std::size_t count_waiters(StoreWaiter::Lack lack) const noexcept;

  // Moves the charge for a block that is out to this quota. Owner thread.
  static void charge(Block& block, Quota& quota) noexcept;
  // Ends it. Owner thread.
  static void forget_quota(Block& block) noexcept;
  // The holder of the single count uses the block again: no message in it is kept any more. Owner
  // thread.
  static void forget_kept(Block& block) noexcept;
  void give_back(Block& block) noexcept final;

  // Those that came home unseen by collect() included. Owner thread.
  [[nodiscard]] std::size_t blocks_out() const noexcept { return blocks_out_; }

 protected:
  using Owner = std::shared_ptr<const OwnerThread>;
  explicit Store(Owner owner) noexcept : owner_(std::move(owner)), asks_(owner_.get()) {}
  virtual ~Store() = default;
  // This thread is in a turn of the loop: what it releases comes home at once.
  [[nodiscard]] bool owner_here() const noexcept {
    return asks_.load(std::memory_order_relaxed)->here();
  }
  // Counts a block as out, charged to `quota` if there is one.
  Lease hand_out(Block& block, Quota* quota) noexcept;
  // The block is home: put it in the free list. Owner thread.
  virtual void recycle(Block& block) noexcept = 0;
  // The block came home to a retired store. Any thread, several at once.
  virtual void discard(Block& block) noexcept = 0;
  // Calls forget_quota() for all blocks that may be out, so that nobody touches a quota after.
  virtual void forget_quotas() noexcept = 0;

 private:
  // The owner is gone; the last block home (now, or later on any thread) deletes the store.
  void retire() noexcept;
  void return_from_afar(Block& block) noexcept;
  void come_home(Block& block) noexcept;
  void wake() noexcept;
  void drop_holds(std::size_t holds) noexcept;

  // Owner thread.
  RingNode waiters_;             // the head; in the order of their wait()
  RingNode* place_ = &waiters_;  // before which a waiter joins
  std::size_t blocks_out_ = 0;
  std::function<void()> wake_;
  std::mutex wake_mutex_;  // between wake_ being called and its end at retirement
  // In a child of fork() wake_ is the parent's, and who had locked the mutex is not there.
  const unsigned made_at_ = fork_depth();
  const Owner owner_;                     // blocks that are out may come home when the loop is gone
  std::atomic<const OwnerThread*> asks_;  // owner_'s; once retired, one that is nobody's

  // Any thread. returned_ is a list of blocks, or one of the marks in store.cpp.
  alignas(64) std::atomic<std::uintptr_t> returned_{0};
  // What keeps the store alive: its owner, threads about to call wake_; once retired, blocks out.
  std::atomic<std::size_t> holds_{1};
};

}  // namespace netio::detail
