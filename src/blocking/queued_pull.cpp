// Pull in a thread of its own. Its loop never waits for the reader: when the queue is full it stops
// reading, and the reader wakes it when half of the queue is free.
#if __has_include(<readerwritercircularbuffer.h>)
#include <atomic>
#include <cassert>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "blocking/loop_thread.hpp"
#include "blocking/message_queue.hpp"

namespace netio::blocking {

struct QueuedPull::State {
  // What both threads use.
  struct Between {
    explicit Between(std::size_t messages_max) : queue(detail::checked_length(messages_max)) {}

    detail::MessageQueue queue;
    // Set by the loop before it looks at the full queue for a last time, taken by the reader after
    // it has made room: one of the two finds out.
    std::atomic<bool> stalled{false};
    std::atomic<Signal*> room{nullptr};  // set before the reader may receive
  };

  // In the loop's thread.
  class Feeder {
   public:
    Feeder(Context& context, const SocketOptions& options, Between& of_both)
        : between_(of_both), room_(context.loop(), [this] { go_on(); }), pull_(context, options) {
      between_.room = &room_;
      // Nothing in here may need memory: without it a message would be lost, or the process.
      pull_.on_message([this](const MessageView& message) {
        hand_over(message_, {Status::ok, message.keep(), pull_.sender_id()});
      });
      pull_.on_down([this](const PeerInfo& peer, const Down& down) {
        if (!peer.was_up && (!peer.dialed || peer.retrying)) return;
        // While nobody receives, those that go after the last message are told of as one.
        if (gone_) return;
        hand_over(gone_, {.status = Status::not_connected, .gone = remember(peer, down)});
      });
    }
    [[nodiscard]] netio::Pull& socket() noexcept { return pull_; }

   private:
    // Null without memory; receive() says so then.
    static std::unique_ptr<const Gone> remember(const PeerInfo& peer, const Down& down) noexcept {
      try {
        return std::make_unique<const Gone>(Gone{peer, down});
      } catch (const std::bad_alloc&) {
        return nullptr;
      }
    }
    [[nodiscard]] bool waiting() const noexcept { return message_ || gone_; }
    // Moved from only if it was taken.
    bool takes(Received& item) { return between_.queue.try_enqueue(std::move(item)); }
    bool takes(std::optional<Received>& item) {
      if (item && !takes(*item)) return false;
      item.reset();
      return true;
    }
    void hand_over(std::optional<Received>& place, Received item) {
      const bool waited = waiting();
      if (!waited && takes(item)) return;
      assert(!place);
      place = std::move(item);
      pull_.pause();
      if (!waited) go_on();
    }
    void go_on() {
      if (!takes_all()) {
        between_.stalled.exchange(true);
        if (!takes_all()) return;
      }
      pull_.resume();
    }
    bool takes_all() { return takes(message_) && takes(gone_); }

    Between& between_;
    // What the queue had no room for, in this order. While one of them waits, the socket is paused.
    std::optional<Received> message_;
    std::optional<Received> gone_;
    Signal room_;
    netio::Pull pull_;
  };

  explicit State(const QueueOptions& options)
      : between(options.messages_max), thread(options.context, options.socket, between) {}

  void wake_feeder() {
    if (between.stalled.exchange(false)) between.room.load()->notify();
  }

  Between between;
  detail::LoopThread<Feeder> thread;
};

bool queued_sockets_built() noexcept { return true; }

QueuedPull::QueuedPull(const QueueOptions& options) : state_(std::make_unique<State>(options)) {}
QueuedPull::~QueuedPull() = default;

std::string QueuedPull::bind(std::string_view address) {
  return state_->thread.call([&](auto& feeder) { return feeder.socket().bind(address); });
}
void QueuedPull::connect(std::string_view address) {
  state_->thread.call([&](auto& feeder) { feeder.socket().connect(address); });
}

Received QueuedPull::receive(std::chrono::nanoseconds timeout) {
  detail::MessageQueue& queue = state_->between.queue;
  Received received;
  if (state_->thread.copied_by_fork()) [[unlikely]] {
    received.status = Status::closed;
    return received;
  }
  if (!queue.try_dequeue(received)) {
    state_->wake_feeder();
    if (!queue.wait_dequeue_timed(received, detail::queue_time(timeout))) {
      received.status = Status::again;
    }
  } else if (state_->between.stalled.load(std::memory_order_relaxed) &&
             queue.size_approx() <= queue.max_capacity() / 2) {
    state_->wake_feeder();
  }
  if (received.status == Status::not_connected && !received.gone) [[unlikely]] {
    received.gone = std::make_unique<const Gone>(gone_unnamed());
  }
  return received;
}

}  // namespace netio::blocking
#endif
