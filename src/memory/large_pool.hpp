// Buffers for messages larger than a page: of few sizes, bounded in sum, kept for reuse so that a
// stream of large messages neither allocates nor faults.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "memory/memory_room.hpp"
#include "memory/ring.hpp"
#include "memory/store.hpp"

namespace netio::detail {

class LargePool final : public Store {
 public:
  // Is told when a buffer's memory is about to go back to the system, on the owner thread: whoever
  // registered it must not keep that. Leaves the pool when destroyed, which must come first.
  class Watcher : private RingNode {
   public:
    virtual ~Watcher() = default;
    virtual void on_buffer_gone(const Block& buffer) noexcept = 0;

   private:
    friend class LargePool;
  };
  void add(Watcher& watcher) noexcept { watcher.join(watchers_); }
  [[nodiscard]] bool owns(const Block& block) const noexcept { return block.owner() == this; }

  using Ptr = std::unique_ptr<LargePool, Store::Retire>;
  // Sizes are multiples of 128 KiB up to 1 MiB, and from there on eight between a power of two and
  // the next: a large message of a power of two and its frame take an eighth more than the message.
  // Each bound and quota counts whole buffers.
  static constexpr std::size_t buffer_bytes_min = std::size_t{128} << 10U;
  static constexpr std::size_t buffer_bytes_max = std::size_t{1} << 46U;  // half the address space

  // bytes_max bounds what is out plus what is kept; kept_bytes_max what is kept for reuse. New
  // memory is taken if `room` has room for it (null: always).
  static Ptr create(std::size_t bytes_max, std::size_t kept_bytes_max,
                    Owner owner = OwnerThread::calling(), MemoryRoom* room = nullptr);

  // At least `bytes`, aligned to 4096; not touched before it is written to, so that a lie about a
  // size costs address space, not memory. Empty when the bound or the quota does not allow it, or
  // there is no room for it: then what is kept has gone back to the system.
  [[nodiscard]] Lease take(std::size_t bytes, Quota* quota = nullptr) noexcept;
  // True if a take of `bytes` could succeed once others are released.
  [[nodiscard]] bool could_ever_take(std::size_t bytes,
                                     const Quota* quota = nullptr) const noexcept;
  // The last take failed because the system had no memory, and no buffer is out that could come
  // home.
  [[nodiscard]] bool system_refused() const noexcept { return system_refused_ && bytes_out_ == 0; }
  // The system refused memory since the last call: it is time to ask it again for who waits.
  [[nodiscard]] bool take_refusal() noexcept { return std::exchange(refused_, false); }
  // The most bytes that a take could succeed with; 0 if there is no memory for any.
  [[nodiscard]] std::size_t largest(const Quota* quota = nullptr) const noexcept;
  // What a take of `bytes` is charged: the size of its buffer; 0 if there is none of that size.
  [[nodiscard]] static std::size_t charged_bytes(std::size_t bytes) noexcept;

  // Three quarters of the pool. Memory that is on its way to strangers, which are peers that have
  // acknowledged nothing on their connection, is charged to this quota.
  [[nodiscard]] Quota& strangers() const noexcept { return *strangers_; }

  // A take failed because the pool had too little, and no buffer has come home since. Not set if
  // only a quota was spent.
  [[nodiscard]] bool lacked() const noexcept { return lacked_; }
  // As Pool::plenty().
  [[nodiscard]] bool plenty() const noexcept {
    return bytes_max_ - bytes_out_ >= bytes_max_ / 4 * 3;
  }
  // Less than a quarter is left, or not enough for another buffer of this size. Owner thread.
  [[nodiscard]] bool scarce(const Block& like) noexcept {
    collect();
    const std::size_t left = bytes_max_ - bytes_out_;
    return left < bytes_max_ / 4 || left < like.capacity();
  }

  [[nodiscard]] std::size_t bytes_max() const noexcept { return bytes_max_; }
  [[nodiscard]] std::size_t bytes_out() const noexcept { return bytes_out_; }
  [[nodiscard]] std::size_t bytes_kept() const noexcept { return bytes_kept_; }

 private:
  class Buffer;
  LargePool(std::size_t bytes_max, std::size_t kept_bytes_max, Owner owner, MemoryRoom* room)
      : Store(std::move(owner)),
        bytes_max_(bytes_max),
        kept_bytes_max_(kept_bytes_max),
        room_(room),
        strangers_(Quota::create(bytes_max / 4 * 3)) {}
  ~LargePool() override;
  void recycle(Block& block) noexcept override;
  void discard(Block& block) noexcept override;
  void forget_quotas() noexcept override;

  Buffer* take_kept(std::size_t capacity) noexcept;
  bool has_room(std::size_t capacity) noexcept;
  void free_buffer(Buffer& buffer) noexcept;
  // Frees kept buffers, the oldest first, until not more than `bytes_max` bytes are kept.
  void trim(std::size_t bytes_max) noexcept;

  const std::size_t bytes_max_;
  const std::size_t kept_bytes_max_;
  MemoryRoom* const room_;
  const Quota::Ptr strangers_;
  std::size_t bytes_out_ = 0;
  std::size_t bytes_kept_ = 0;
  bool lacked_ = false;
  bool system_refused_ = false;  // the last take
  bool refused_ = false;         // one since take_refusal()
  RingNode out_;                 // the head of all that are out
  RingNode kept_;                // the head of those kept, the newest last
  RingNode watchers_;
};

}  // namespace netio::detail
