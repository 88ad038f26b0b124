// Pull in a thread of its own. Its loop never waits for the reader: when the queue is full it stops
// reading, and the reader wakes it when half of the queue is free.
#if __has_include(<readerwritercircularbuffer.h>)
#include <atomic>
#include <deque>

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
      pull_.on_message([this](const MessageView& message) {
        hand_over({Status::ok, message.keep(), pull_.sender_id()});
      });
      pull_.on_down([this](const PeerInfo& peer, const Down& down) {
        if (!peer.was_up && (!peer.dialed || peer.retrying)) return;
        // While nobody receives, those that go after the last message are told of as one.
        if (!waiting_.empty() && waiting_.back().status == Status::not_connected) return;
        hand_over({.status = Status::not_connected,
                   .gone = std::make_unique<const Gone>(Gone{peer, down})});
      });
    }
    [[nodiscard]] netio::Pull& socket() noexcept { return pull_; }

   private:
    // Moved from only if it was taken.
    bool takes(Received& item) { return between_.queue.try_enqueue(std::move(item)); }
    void hand_over(Received item) {
      if (waiting_.empty() && takes(item)) return;
      waiting_.push_back(std::move(item));
      pull_.pause();
      if (waiting_.size() == 1) go_on();
    }
    void go_on() {
      do {
        while (!waiting_.empty() && takes(waiting_.front())) waiting_.pop_front();
        if (waiting_.empty()) return pull_.resume();
        between_.stalled.exchange(true);
      } while (takes_first_after_all());
    }
    bool takes_first_after_all() {
      if (!takes(waiting_.front())) return false;
      waiting_.pop_front();
      return true;
    }

    Between& between_;
    std::deque<Received> waiting_;
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
  return received;
}

}  // namespace netio::blocking
#endif
