// A fixed number of equal blocks in one region, taken at set-up, reused last in, first out.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <utility>

#include "memory/mapping.hpp"
#include "memory/shared_memory.hpp"
#include "memory/store.hpp"

namespace netio::detail {

class Pool final : public Store {
 public:
  using Ptr = std::unique_ptr<Pool, Store::Retire>;
  // block_bytes: a multiple of 4096. The region is faulted in here: huge pages where the machine
  // has reserved any, else transparent ones asked for. Throws netio::Error without memory.
  // With `shared`, at the start of that memory, which other processes may read.
  static Ptr create(std::size_t block_bytes, std::size_t blocks,
                    Owner owner = OwnerThread::calling(),
                    std::shared_ptr<SharedMemory> shared = {});

  // Empty when there is none or the quota is spent: wait() for one then. Owner thread.
  [[nodiscard]] Lease take(Quota* quota = nullptr) noexcept {
    const bool look = free_ == nullptr || !owner_here() || ++takes_ == takes_between_looks ||
                      (quota != nullptr && !quota->fits(block_bytes_));
    if (look) [[unlikely]] {
      takes_ = 0;
      if (!waited_for()) collect();
      if (free_ == nullptr) give_up_reserves([this] { return free_ != nullptr; });
      if (free_ == nullptr || (quota != nullptr && !quota->fits(block_bytes_))) return {};
    }
    --blocks_free_;
    return hand_out(*std::exchange(free_, free_->next), quota);
  }

  // Joins those that hold blocks of this pool which they do not need now, until it gives them up.
  void add(Reserve& reserve) noexcept { reserve.join(reserves_); }
  // Asks them for it one after the other, until there is enough.
  template <typename Enough>
  void give_up_reserves(Enough&& enough) noexcept {
    for (RingNode* node = reserves_.next(); node != &reserves_ && !enough();) {
      // It may leave.
      static_cast<Reserve*>(std::exchange(node, node->next()))->give_up();
    }
  }

  // Takes so many bytes of another store. Those who hold blocks of this pool may hold some of that
  // too, and give up as much as it takes; nothing if it can never be enough.
  template <typename SizedPool>
  [[nodiscard]] Lease take_from(SizedPool& store, std::size_t bytes) noexcept {
    Lease taken = store.take(bytes);
    if (taken || !store.could_ever_take(bytes)) return taken;
    give_up_reserves([&] {
      taken = store.take(bytes);
      return static_cast<bool>(taken);
    });
    return taken;
  }

  // A peer may write to its blocks at any time, from now on.
  void let_peer_write() noexcept { peer_writes_ = true; }
  [[nodiscard]] bool peer_writes() const noexcept override { return peer_writes_; }
  // Who waits for blocks of its own to come home takes more only then: the first blocks of many
  // who are slow must not leave the others without any.
  [[nodiscard]] bool runs_low() const noexcept override {
    return blocks_free_ < blocks_.size() / 2;
  }
  [[nodiscard]] bool plenty() noexcept {
    const std::size_t many = blocks_.size() / 4 * 3;
    if (blocks_free_ < many && !owner_here() && !waited_for()) collect();
    return blocks_free_ >= many;
  }
  [[nodiscard]] std::size_t block_bytes() const noexcept { return block_bytes_; }
  [[nodiscard]] std::size_t blocks() const noexcept { return blocks_.size(); }
  // Without those that other threads returned since the last collect(). Owner thread.
  [[nodiscard]] std::size_t blocks_free() const noexcept { return blocks_free_; }
  // For registration with a fabric.
  [[nodiscard]] std::span<std::byte> region() const noexcept {
    return shared_ ? shared_->bytes().first(block_bytes_ * blocks_.size()) : region_.bytes();
  }
  [[nodiscard]] bool huge_pages() const noexcept { return region_.huge_pages(); }

 private:
  // A line each: their counts are dropped by different threads.
  struct alignas(64) PoolBlock final : Block {
    using Block::Block;
  };
  static_assert(sizeof(PoolBlock) == 64);
  // Collecting costs the line that other threads write to: now and then, so that what they
  // returned is reused while it is warm. Outside of a turn it is each time, because what this
  // thread releases comes home in the same way.
  static constexpr std::size_t takes_between_looks = 64;

  Pool(std::size_t block_bytes, std::size_t blocks, Owner owner,
       std::shared_ptr<SharedMemory> shared);
  ~Pool() override = default;
  void recycle(Block& block) noexcept override;
  void discard(Block&) noexcept override {}  // goes with the region
  void forget_quotas() noexcept override;

  const std::size_t block_bytes_;
  const std::shared_ptr<SharedMemory> shared_;
  Mapping region_;  // nothing if it is shared
  std::deque<PoolBlock> blocks_;
  Block* free_ = nullptr;
  std::size_t blocks_free_ = 0;
  std::size_t takes_ = 0;  // since the last look
  bool peer_writes_ = false;
  RingNode reserves_;  // the head
};

}  // namespace netio::detail
