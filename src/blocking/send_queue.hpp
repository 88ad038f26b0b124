// Messages on their way from the thread that sends to the loop, in a ring of bytes: one writer, one
// reader. Short messages are copied into the ring, so that none needs memory of its own. Of a
// longer one the ring holds the Message. The writer may wait for room, and the reader for a
// message.
#pragma once

#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include <netio/message.hpp>

#include "blocking/queue.hpp"
#include "blocking/semaphore.hpp"

namespace netio::detail {

class SendQueue {
 public:
  // Throws Error for a number of messages that cannot be.
  explicit SendQueue(std::size_t messages_max)
      : messages_max_(checked_length(messages_max)),
        bytes_(std::bit_ceil((messages_max + 1) * entry_bytes_max)),
        memory_(std::make_unique_for_overwrite<std::uint64_t[]>(bytes_ / sizeof(std::uint64_t))) {}
  ~SendQueue() {
    while (Entry* const entry = front()) pop(*entry);
  }
  SendQueue(const SendQueue&) = delete;
  SendQueue& operator=(const SendQueue&) = delete;

  // It stands in front of its bytes, or of a Message.
  struct Entry {
    enum class Kind : std::uint32_t { copied, message, gap };
    std::uint32_t bytes;  // behind it; of a gap: with it
    Kind kind;
    std::uint64_t tag;

    [[nodiscard]] std::span<const std::byte> copied() const noexcept {
      return {reinterpret_cast<const std::byte*>(this + 1), bytes};
    }
    [[nodiscard]] Message& message() noexcept {
      return *std::launder(reinterpret_cast<Message*>(this + 1));
    }
  };

  // The writer's thread. False, and nothing done: there was no room until the time was over. Throws
  // std::bad_alloc if there is no memory for a long message.
  bool put(std::span<const std::byte> message, std::uint64_t tag,
           std::chrono::nanoseconds timeout) {
    if (message.size() > copied_bytes_max) return put_message(message, tag, timeout);
    std::byte* const place = find_room(sizeof(Entry) + padded(message.size()), timeout);
    if (place == nullptr) return false;
    auto* const entry =
        new (place) Entry{static_cast<std::uint32_t>(message.size()), Entry::Kind::copied, tag};
    if (!message.empty()) std::memcpy(entry + 1, message.data(), message.size());
    publish(*entry);
    return true;
  }
  // The reader waits for a message. True once: it is to be told.
  [[nodiscard]] bool reader_waits() noexcept {
    return reader_waits_.load(std::memory_order_relaxed) && reader_waits_.exchange(false);
  }

  // The reader's thread. The oldest message; null if there is none.
  [[nodiscard]] Entry* front() noexcept {
    while (next_read_ != written_seen_ || look()) {
      auto* const entry = std::launder(reinterpret_cast<Entry*>(at(next_read_)));
      if (entry->kind != Entry::Kind::gap) return entry;
      next_read_ += entry->bytes;
    }
    return nullptr;
  }
  // What front() gave is done with.
  void pop(Entry& entry) noexcept {
    next_read_ += sizeof(Entry) + padded(entry.bytes);
    if (entry.kind == Entry::Kind::message) entry.message().~Message();
    ++taken_;
  }
  // Tells the writer what was popped.
  void make_room() noexcept {
    read_.store(next_read_, std::memory_order_release);
    taken_told_.store(taken_, std::memory_order_seq_cst);
    if (writer_waits_.load(std::memory_order_seq_cst) && writer_waits_.exchange(false)) {
      room_.signal();
    }
  }
  // The reader waits from now on, and has to look once more after a while (see publish()). False if
  // a message has come meanwhile: then it does not wait.
  bool wait() noexcept {
    reader_waits_.exchange(true, std::memory_order_seq_cst);
    return !look() || !reader_waits_.exchange(false);
  }

 private:
  // There is room for messages_max entries, and a gap is smaller than one. So the ring is full by
  // the number of messages only.
  static constexpr std::size_t entry_bytes_max = 256;
  static constexpr std::size_t copied_bytes_max = entry_bytes_max - sizeof(Entry);
  static_assert(sizeof(Message) <= copied_bytes_max);

  static constexpr std::size_t padded(std::size_t bytes) noexcept {
    return (bytes + 7U) & ~std::size_t{7};
  }
  [[nodiscard]] std::byte* at(std::uint64_t position) noexcept {
    return reinterpret_cast<std::byte*>(memory_.get()) + (position & (bytes_ - 1));
  }
  bool look() noexcept {
    written_seen_ = written_.load(std::memory_order_acquire);
    return next_read_ != written_seen_;
  }

  bool put_message(std::span<const std::byte> message, std::uint64_t tag,
                   std::chrono::nanoseconds timeout) {
    Message copy = Message::copy_of(message, tag);
    std::byte* const place = find_room(sizeof(Entry) + sizeof(Message), timeout);
    if (place == nullptr) return false;
    auto* const entry = new (place) Entry{sizeof(Message), Entry::Kind::message, tag};
    new (entry + 1) Message(std::move(copy));
    publish(*entry);
    return true;
  }
  // A barrier before the look at reader_waits_ would cost as much as all else here. Without it the
  // writer may not see that the reader has just begun to wait, nor the reader that this was
  // written: so the reader looks again after a while.
  void publish(const Entry& entry) noexcept {
    next_write_ += sizeof(Entry) + padded(entry.bytes);
    ++put_;
    written_.store(next_write_, std::memory_order_release);
  }
  // An entry lies in one piece: what is left in front of the ring's end becomes a gap.
  [[nodiscard]] std::byte* find_room(std::size_t bytes, std::chrono::nanoseconds timeout) {
    const std::size_t to_end = bytes_ - (next_write_ & (bytes_ - 1));
    const std::size_t gap = to_end < bytes ? to_end : 0;
    if (!fits(gap + bytes) && !has_room(gap + bytes) && !wait_for_room(gap + bytes, timeout)) {
      return nullptr;
    }
    if (gap != 0) {
      write_gap(gap);
      next_write_ += gap;
    }
    return at(next_write_);
  }
  // Only its first 8 bytes are there for sure.
  void write_gap(std::size_t bytes) noexcept {
    const std::uint32_t word[2] = {static_cast<std::uint32_t>(bytes),
                                   static_cast<std::uint32_t>(Entry::Kind::gap)};
    std::memcpy(at(next_write_), word, sizeof word);
  }
  [[nodiscard]] bool fits(std::size_t bytes) const noexcept {
    return put_ - taken_seen_ < messages_max_ && next_write_ - read_seen_ + bytes <= bytes_;
  }
  [[nodiscard]] bool has_room(std::size_t bytes) noexcept {
    taken_seen_ = taken_told_.load(std::memory_order_seq_cst);
    read_seen_ = read_.load(std::memory_order_acquire);
    return fits(bytes);
  }
  bool wait_for_room(std::size_t bytes, std::chrono::nanoseconds timeout) {
    using Clock = std::chrono::steady_clock;
    const bool for_ever = timeout.count() < 0;
    const Clock::time_point begin = Clock::now();
    while (true) {
      writer_waits_.exchange(true, std::memory_order_seq_cst);
      if (has_room(bytes)) break;
      const std::chrono::nanoseconds left = timeout - (Clock::now() - begin);
      if (!for_ever && left.count() <= 0) break;
      (void)room_.wait(for_ever ? timeout : left);
      // Another signal may follow when the reader has made more room: it is only one look too many.
    }
    writer_waits_.store(false, std::memory_order_relaxed);
    return has_room(bytes);
  }

  const std::size_t messages_max_;
  const std::size_t bytes_;
  const std::unique_ptr<std::uint64_t[]> memory_;

  // Of the writer. Positions only grow; those in the ring are their remainders.
  alignas(64) std::uint64_t next_write_ = 0;
  std::uint64_t put_ = 0;  // messages
  std::uint64_t taken_seen_ = 0;
  std::uint64_t read_seen_ = 0;
  // Of the reader.
  alignas(64) std::uint64_t next_read_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t written_seen_ = 0;
  // Of both.
  alignas(64) std::atomic<std::uint64_t> written_{0};
  alignas(64) std::atomic<std::uint64_t> read_{0};
  std::atomic<std::uint64_t> taken_told_{0};
  alignas(64) std::atomic<bool> reader_waits_{true};
  std::atomic<bool> writer_waits_{false};
  Semaphore room_;
};

}  // namespace netio::detail
