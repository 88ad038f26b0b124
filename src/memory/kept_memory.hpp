// The memory of one socket's small kept messages: they are copied behind each other into blocks of
// the receive pool, which are charged to the socket's quota. Owner thread only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "memory/block.hpp"
#include "memory/pool.hpp"
#include "memory/quota.hpp"

namespace netio::detail {

// Bytes that were kept, with one count on the block they lie in now. The caller owns the count.
struct Kept {
  Block* block;
  const std::byte* data;
};

// One block is open at a time. The counts for the messages that it may take are added to it in
// advance, and each message is given one of them, which costs no atomic operation.
class KeptMemory final : private Reserve {
 public:
  // Somebody lacks memory while messages in the open block are kept. `wanted` has close_if_idle()
  // called now and then, because nothing tells when the last of them is released.
  KeptMemory(Pool& pool, Quota& quota, std::function<void()> wanted) noexcept;
  // Beside the one that the quota asks for memory. Nobody is told that somebody lacks memory.
  KeptMemory(Pool& pool, Quota& quota) noexcept;
  ~KeptMemory() override;
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;

  // Keeps bytes that lie in `block`, one message or several with what is between them: shares the
  // block (from shared_block_part of it on), or copies them to an address that is a multiple of 8.
  // A block that no socket received is always shared. Never fails: if there is no memory for a
  // copy, the block is shared. In the call-back in which a socket hands the block to its user.
  [[nodiscard]] static Kept keep(Block& block, std::span<const std::byte> bytes) noexcept;
  // Keeps them where they lie, however few they are.
  [[nodiscard]] static Kept share(Block& block, std::span<const std::byte> bytes) noexcept;
  // Copies bytes of `block` behind those that were copied before, however many they are. What is
  // kept of the copy later is kept as if it lay in `block`. If there is no memory, shares the
  // block.
  [[nodiscard]] Kept pack(Block& block, std::span<const std::byte> bytes) noexcept;

  // From now on the blocks in which something is kept are noted, until they are taken: at most so
  // many of one page, however often its messages are kept. Where copies would take one more, the
  // block of the page is shared instead.
  static constexpr std::size_t noted_max = 4;
  void note_blocks() noexcept { notes_ = true; }
  // Gives `take` a count on each.
  template <typename Take>
  void take_noted(Take&& take) noexcept {
    for (; noted_count_ != 0; --noted_count_) take(std::exchange(noted_[noted_count_ - 1], {}));
  }
  // Nobody uses what is kept in the block, or in what this holds open of it.
  [[nodiscard]] bool released(const Block& block) const noexcept {
    return block.counted(block.waiting_counts + (&block == open_ ? counts_ : 0));
  }
  [[nodiscard]] bool is_open(const Block& block) const noexcept { return &block == open_; }

  // The open block takes no more messages: it comes home when the last one in it is released.
  void close() noexcept;
  // Closes it if it holds none, and returns whether no block is open.
  bool close_if_idle() noexcept;
  // The open block, or 0; and that block if no message in it is kept any more.
  [[nodiscard]] std::size_t open_bytes() const noexcept {
    return open_ != nullptr ? open_->capacity() : 0;
  }
  [[nodiscard]] std::size_t idle_bytes() const noexcept { return idle() ? open_bytes() : 0; }

 private:
  static constexpr std::size_t align = 8;

  // Where a copy of so many bytes goes, in open_; null if there is no memory.
  std::byte* place(std::size_t bytes) noexcept;
  bool open(std::size_t bytes) noexcept;
  [[nodiscard]] bool idle() const noexcept { return open_ != nullptr && released(*open_); }
  void note(Block& block) noexcept;
  // One more can be noted, and that is for the block of the page.
  [[nodiscard]] bool noted_enough() const noexcept { return noted_count_ >= noted_max - 1; }
  void give_up() noexcept override;

  Pool& pool_;
  Quota& quota_;
  std::function<void()> wanted_;
  Block* open_ = nullptr;
  std::byte* next_ = nullptr;  // the next message goes here
  std::size_t left_ = 0;       // bytes from there to the end of the block
  std::uint32_t counts_ = 0;   // on the block that are still ours
  bool notes_ = false;
  std::array<Lease, noted_max> noted_;
  std::size_t noted_count_ = 0;
};

}  // namespace netio::detail
