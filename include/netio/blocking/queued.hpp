// Sockets whose loop has a thread of its own, and a queue between it and the thread that uses them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <netio/blocking/received.hpp>
#include <netio/books.hpp>
#include <netio/context.hpp>
#include <netio/export.hpp>
#include <netio/loop.hpp>
#include <netio/options.hpp>
#include <netio/status.hpp>

namespace netio::detail {

// For the library: what the reader of a queue tells the loop. Each word has one writer at a time,
// and a line of its own.
struct ReaderMarks {
  static constexpr std::uint64_t never = UINT64_MAX;
  // How many messages, and peers that went, receive() has given so far.
  alignas(64) std::atomic<std::uint64_t> taken{0};
  // The reader wakes the loop once it has taken so many.
  alignas(64) std::atomic<std::uint64_t> wake_at{never};
};

}  // namespace netio::detail

namespace netio::blocking {

// What can be chosen for a queued socket.
struct QueueOptions {
  ContextOptions context;  // of the context in its thread
  SocketOptions socket;    // of the socket there
  // Messages that may lie in the queue; when it is full, the peer is held back (Pull), or send()
  // waits (Push). A Pull may exceed it by the rest of a page. 1 to 16,777,216.
  std::size_t messages_max = 4096;
};

// A Pull whose loop runs in a thread of its own; each page is kept and handed over through a
// lock-free queue. A message is acknowledged once receive() has given it: what lies in the queue is
// not. One thread, any, may use it. Throws Error if the context cannot be made, or for a
// messages_max that cannot be. The loop's thread takes no signals. Time limits are of the monotonic
// clock: setting the time of day moves none. Peers that go while the queue is full are told of
// (not_connected) as one.
class NETIO_API QueuedPull {
 public:
  // Starts the thread.
  explicit QueuedPull(const QueueOptions& options = {});
  // Messages in the queue are lost: their senders count them as dropped, and not as acknowledged.
  // Says good-bye, and waits for at most 100 ms until the senders have heard it. A sender that did
  // not hear it does not know what became of them.
  ~QueuedPull();
  QueuedPull(const QueuedPull&) = delete;
  QueuedPull& operator=(const QueuedPull&) = delete;

  // As Socket has them; they wait for the loop's thread:
  std::string bind(std::string_view address);
  void connect(std::string_view address);
  bool unbind(std::string_view address);
  bool disconnect(std::uint64_t peer, std::chrono::nanoseconds linger = std::chrono::seconds(5));
  std::size_t disconnect(std::string_view address,
                         std::chrono::nanoseconds linger = std::chrono::seconds(5));

  // Waits for the next message, or that a peer goes, at most so long: see Received. Throws
  // std::bad_alloc if there was no memory to remember which peer went, nor is now to say so.
  [[nodiscard]] Received receive(std::chrono::nanoseconds timeout = for_ever) {
    detail::MessageCursor::Place place;
    if (loop_->copied_by_fork() || !at_hand_.next(place)) [[unlikely]]
      return receive_next_page(timeout);
    marks_->taken.store(++taken_, std::memory_order_release);
    if (taken_ >= marks_->wake_at.load(std::memory_order_relaxed)) [[unlikely]]
      wake_loop();
    return at_hand_.received(place);
  }

 private:
  struct State;
  Received receive_next_page(std::chrono::nanoseconds timeout);
  void wake_loop() noexcept;

  detail::PageAtHand at_hand_;
  std::uint64_t taken_ = 0;
  std::uint64_t page_end_ = 0;  // taken_, once all of the page at hand is taken
  std::unique_ptr<State> state_;
  detail::ReaderMarks* marks_;
  const Loop* loop_;
};

// The other way: what is sent is copied into the queue, and the loop's thread sends it on.
class NETIO_API QueuedPush {
 public:
  // Starts the thread.
  explicit QueuedPush(const QueueOptions& options = {});
  ~QueuedPush();  // without close(): what lies in the queue is lost
  QueuedPush(const QueuedPush&) = delete;
  QueuedPush& operator=(const QueuedPush&) = delete;

  // As Socket has them; they wait for the loop's thread:
  std::string bind(std::string_view address);
  void connect(std::string_view address);
  bool unbind(std::string_view address);
  bool disconnect(std::uint64_t peer, std::chrono::nanoseconds linger = std::chrono::seconds(5));
  std::size_t disconnect(std::string_view address,
                         std::chrono::nanoseconds linger = std::chrono::seconds(5));

  // ok: the queue has it. again: it was full until the time was over. Never not_connected: the
  // queue waits for the peer:
  [[nodiscard]] Status send(std::span<const std::byte> message, std::chrono::nanoseconds timeout,
                            std::uint64_t tag = 0);
  [[nodiscard]] Status send(std::string_view text, std::chrono::nanoseconds timeout,
                            std::uint64_t tag = 0) {
    return send(std::as_bytes(std::span(text)), timeout, tag);
  }
  // Two texts in braces would be one text, from the first to the second.
  template <class... Rest>
  void send(std::initializer_list<const char*> texts, Rest... rest) = delete;

  // Sends what lies in the queue, and returns when all is acknowledged or `linger` has passed
  // (negative: for ever); what is not in `sent` then was never taken from the queue. What the peers
  // that were there, or memory, could not take at all is in it as dropped (not_sent).
  Books close(std::chrono::nanoseconds linger = std::chrono::seconds(5));

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace netio::blocking
