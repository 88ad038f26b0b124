// Counted memory. A Block describes bytes that some store owns; a Lease is one count on it.
// Counts may be dropped on any thread; the last one hands the block back to its store.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace netio::detail {

class Block;

class BlockOwner {
 public:
  // The last count is gone. Any thread. The owner may reuse or free the block at once.
  virtual void give_back(Block& block) noexcept = 0;
  // A peer owns the bytes, and may change them at any time.
  [[nodiscard]] virtual bool peer_writes() const noexcept { return false; }
  // Less than half of the memory is left: what holds some of it for long is better copied. On the
  // owner's thread only.
  [[nodiscard]] virtual bool runs_low() const noexcept { return false; }

 protected:
  ~BlockOwner() = default;
};

class KeptMemory;
class Quota;

class Block {
 public:
  Block(BlockOwner& owner, std::byte* data, std::size_t capacity) noexcept
      : owner_(&owner), data_(data), capacity_(capacity) {}
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] const BlockOwner* owner() const noexcept { return owner_; }

  void add_count() noexcept { counts_.fetch_add(1, std::memory_order_relaxed); }
  void drop_count() noexcept {
    // A single holder needs no read-modify-write: nobody else can add a count.
    if (counts_.load(std::memory_order_acquire) == 1 ||
        counts_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      owner_->give_back(*this);
    }
  }
  // True if this count is the only one: its holder may write to the bytes.
  [[nodiscard]] bool sole() const noexcept { return counted(1); }
  // Several counts of one holder, which gives them out without an atomic operation each. A block
  // has at most 2^32 - 1 counts.
  void add_counts(std::uint32_t counts) noexcept {
    counts_.fetch_add(counts, std::memory_order_relaxed);
  }
  void drop_counts(std::uint32_t counts) noexcept {
    if (counts_.fetch_sub(counts, std::memory_order_acq_rel) == counts) owner_->give_back(*this);
  }
  // True if there are exactly so many: if they are one holder's, nobody else uses the block.
  [[nodiscard]] bool counted(std::uint32_t counts) const noexcept {
    return counts_.load(std::memory_order_acquire) == counts;
  }

  // For the store: the block leaves it with one count.
  void reset_count() noexcept { counts_.store(1, std::memory_order_relaxed); }
  // For the store, while the block is home.
  void place(std::byte* data, std::size_t capacity) noexcept {
    data_ = data;
    capacity_ = capacity;
  }
  Block* next = nullptr;   // in the store's free or return list
  Quota* quota = nullptr;  // what it is charged to while it is out
  // Where small messages in this block are kept: set when a socket is handed the block up as
  // received memory. Null while the block is out for anything else. Owner thread.
  KeptMemory* kept_memory = nullptr;
  // Counts of those who do not use the block, and wait until nobody else does. Owner thread.
  std::uint32_t waiting_counts = 0;

  // Whether its quota counts the block as kept. Sets it, and returns what it was. Owner thread.
  bool exchange_kept(bool kept) noexcept { return std::exchange(kept_, kept); }

 private:
  BlockOwner* owner_;
  std::byte* data_;
  std::size_t capacity_;
  std::atomic<std::uint32_t> counts_{0};
  bool kept_ = false;
};

// One count on a Block.
class Lease {
 public:
  Lease() noexcept = default;
  static Lease adopt(Block* block) noexcept { return Lease(block); }
  Lease(const Lease& other) noexcept : block_(other.block_) {
    if (block_ != nullptr) block_->add_count();
  }
  Lease(Lease&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Lease& operator=(Lease other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Lease() {
    if (block_ != nullptr) block_->drop_count();
  }

  [[nodiscard]] Block* get() const noexcept { return block_; }
  Block* operator->() const noexcept { return block_; }
  explicit operator bool() const noexcept { return block_ != nullptr; }
  Block* release() noexcept { return std::exchange(block_, nullptr); }
  void reset() noexcept { *this = Lease(); }

 private:
  explicit Lease(Block* block) noexcept : block_(block) {}
  Block* block_ = nullptr;
};

}  // namespace netio::detail
