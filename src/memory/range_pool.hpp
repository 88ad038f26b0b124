// Ranges of any size in one part of shared memory, bounded by it. The system gives the memory as
// far as it was ever used, and a range that came home is the first to go out again, still warm.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "memory/memory_room.hpp"
#include "memory/ring.hpp"
#include "memory/shared_memory.hpp"
#include "memory/store.hpp"

namespace netio::detail {

class RangePool final : public Store {
 public:
  using Ptr = std::unique_ptr<RangePool, Store::Retire>;
  // The part of `memory` from `offset`, a multiple of 4096, to its end; not taken from the system.
  // It is taken if `room` has room for it (null: always).
  static Ptr create(std::shared_ptr<SharedMemory> memory, std::size_t offset,
                    Owner owner = OwnerThread::calling(), MemoryRoom* room = nullptr);

  // At least `bytes`, aligned to 4096. Empty when no free range is as large, or the system has no
  // memory: wait() for others to come home, or for room->retry().
  [[nodiscard]] Lease take(std::size_t bytes) noexcept;
  [[nodiscard]] bool could_ever_take(std::size_t bytes) const noexcept {
    return bytes <= bytes_all();
  }
  // What a take of `bytes` is charged.
  [[nodiscard]] static std::size_t charged_bytes(std::size_t bytes) noexcept;
  // As in LargePool:
  [[nodiscard]] Quota& strangers() const noexcept { return *strangers_; }
  [[nodiscard]] bool lacked() const noexcept { return lacked_; }
  [[nodiscard]] std::size_t bytes_all() const noexcept { return memory_->bytes().size() - offset_; }
  // In however many pieces.
  [[nodiscard]] std::size_t bytes_free() const noexcept { return bytes_all() - bytes_out_; }
  // As Pool::plenty().
  [[nodiscard]] bool plenty() noexcept {
    const std::size_t much = bytes_all() / 4 * 3;
    if (bytes_free() < much && !owner_here() && !waited_for()) collect();
    return bytes_free() >= much;
  }
  // Less than a quarter is left, or no piece as large as this one. Owner thread.
  [[nodiscard]] bool scarce(const Block& like) noexcept;
  [[nodiscard]] bool owns(const Block& block) const noexcept { return block.owner() == this; }

 private:
  struct Range;
  RangePool(std::shared_ptr<SharedMemory> memory, std::size_t offset, Owner owner,
            MemoryRoom* room);
  ~RangePool() override;
  void recycle(Block& block) noexcept override;
  void discard(Block& block) noexcept override;
  void forget_quotas() noexcept override;

  [[nodiscard]] Range* find_free(std::size_t bytes) noexcept;
  [[nodiscard]] bool take_to(std::size_t end) noexcept;
  [[nodiscard]] bool cut(Range& range, std::size_t bytes) noexcept;
  void swallow_next(Range& range) noexcept;
  Range* make_range(std::byte* data, std::size_t bytes) noexcept;

  const std::shared_ptr<SharedMemory> memory_;
  const std::size_t offset_;
  MemoryRoom* const room_;
  std::size_t taken_to_;  // from the system
  const Quota::Ptr strangers_;
  Range* first_;  // at the lowest address; it is never joined to another
  std::size_t bytes_out_ = 0;
  bool lacked_ = false;
  RingNode free_;   // the head; the one that goes out next is first
  RingNode spare_;  // the head; records of ranges that are part of others now
};

}  // namespace netio::detail
