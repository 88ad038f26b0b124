// A fixed number of equal blocks in one region, reused last in, first out. Their memory is taken at
// set-up, or as far as blocks were ever out at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>

#include "memory/mapping.hpp"
#include "memory/memory_room.hpp"
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
  // The same, but memory is taken in steps when there is no free block, if `room` has room for it
  // (null: always). Where it is refused, the pool has fewer blocks until room->retry(). Memory that
  // is not shared prefers the room's NUMA node. Of `shared` nothing may be taken so far.
  static Ptr create_as_used(std::size_t block_bytes, std::size_t blocks, MemoryRoom* room,
                            Owner owner = OwnerThread::calling(),
                            std::shared_ptr<SharedMemory> shared = {});

  // Empty when there is none or the quota is spent: wait() for one then. Owner thread.
  [[nodiscard]] Lease take(Quota* quota = nullptr) noexcept {
    const bool look = free_ == nullptr || !owner_here() || ++takes_ == takes_between_looks ||
                      (quota != nullptr && !quota->fits(block_bytes_));
    if (look) [[unlikely]] {
      takes_ = 0;
      if (!waited_for()) collect();
      if (free_ == nullptr) take_step();
      if (free_ == nullptr) give_up_reserves([this] { return free_ != nullptr; });
      if (free_ == nullptr || (quota != nullptr && !quota->fits(block_bytes_))) return {};
    }
    --blocks_free_;
    return hand_out(*std::exchange(free_, free_->next), quota);
  }

  // Joins those that hold blocks of this pool which they do not need now, until it gives them up.
  void add(Reserve& reserve) noexcept { reserve.join(reserves_); }
  // Memory was taken for a block, or for all.
  [[nodiscard]] bool has_memory() const noexcept { return blocks_with_memory_ != 0; }
  // Takes memory for at least one more block. False if all have theirs, or it was refused.
  bool take_step() noexcept;
  // Takes the memory of all blocks, for who registers the region. False if it was refused.
  [[nodiscard]] bool take_all() noexcept;

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
    return blocks_free() < blocks_.size() / 2;
  }
  [[nodiscard]] bool plenty() noexcept {
    const std::size_t many = blocks_.size() / 4 * 3;
    if (blocks_free_ < many && !owner_here() && !waited_for()) collect();
    return blocks_free() >= many;
  }
  [[nodiscard]] std::size_t block_bytes() const noexcept { return block_bytes_; }
  [[nodiscard]] std::size_t blocks() const noexcept { return blocks_.size(); }
  // Without those that other threads returned since the last collect(), and those whose memory is
  // refused until room->retry(). Owner thread.
  [[nodiscard]] std::size_t blocks_free() const noexcept {
    return refused_ ? blocks_free_ - blocks_refused() : blocks_free_;
  }
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
  // What is taken at a time, at least: a huge page.
  static constexpr std::size_t step_bytes = huge_page_bytes;

  Pool(std::size_t block_bytes, std::size_t blocks, Mapping::Fill fill, MemoryRoom* room,
       Owner owner, std::shared_ptr<SharedMemory> shared);
  // Those that lie in the first `end` bytes of the region have memory from now on, and are free.
  void add_blocks(std::size_t end) noexcept;
  [[nodiscard]] std::size_t blocks_without_memory() const noexcept {
    return blocks_.size() - blocks_with_memory_;
  }
  [[nodiscard]] std::size_t blocks_refused() const noexcept;
  ~Pool() override = default;
  void recycle(Block& block) noexcept override;
  void discard(Block&) noexcept override {}  // goes with the region
  void forget_quotas() noexcept override;

  const std::size_t block_bytes_;
  const std::shared_ptr<SharedMemory> shared_;
  Mapping region_;  // nothing if it is shared
  std::deque<PoolBlock> blocks_;
  Block* free_ = nullptr;
  std::size_t blocks_free_ = 0;         // those without memory included
  std::size_t blocks_with_memory_ = 0;  // the first so many of them
  std::size_t bytes_with_memory_ = 0;   // of the region, from its start
  MemoryRoom* const room_;
  bool refused_ = false;             // memory for the rest, when it was last asked for
  std::uint64_t refused_round_ = 0;  // of it
  std::size_t takes_ = 0;            // since the last look
  bool peer_writes_ = false;
  RingNode reserves_;  // the head
};

}  // namespace netio::detail
