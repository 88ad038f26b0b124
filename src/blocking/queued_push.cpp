// Push in a thread of its own: its loop takes from the queue what the socket takes.
#include <atomic>

#include <netio/blocking.hpp>

#include "blocking/loop_thread.hpp"
#include "blocking/send_queue.hpp"

namespace netio::blocking {

struct QueuedPush::State {
  // What both threads use.
  struct Between {
    explicit Between(std::size_t messages_max) : queue(messages_max) {}

    detail::SendQueue queue;
    std::atomic<Signal*> filled{nullptr};  // set before the writer may send
  };

  // In the loop's thread.
  class Drain {
   public:
    Drain(Context& context, const SocketOptions& options, Between& of_both)
        : between_(of_both),
          filled_(context.loop(), [this] { go_on(); }),
          look_timer_(context.loop(), [this] { go_on(); }),
          linger_timer_(context.loop(), [this] { push_.close(std::chrono::nanoseconds(0)); }),
          push_(context, options) {
      between_.filled = &filled_;
      push_.on_writable([this] { go_on(); });
      push_.on_closed([this](Books last) {
        linger_timer_.stop();
        last.sent += refused_;
        last.dropped_by[static_cast<std::size_t>(DropReason::not_sent)] += refused_;
        closed_.set_value(last);
      });
    }
    [[nodiscard]] netio::Push& socket() noexcept { return push_; }

    // Once. The queue is filled no more.
    std::future<Books> close(std::chrono::nanoseconds linger) {
      closing_ = true;
      linger_ = linger.count() < 0 ? std::chrono::nanoseconds::max() : linger;
      linger_timer_.start_once(linger_);
      go_on();
      return closed_.get_future();
    }

   private:
    using Entry = detail::SendQueue::Entry;
    static constexpr std::size_t in_turn = 4096;  // messages
    // A writer that did not see that this thread waits wakes nobody.
    static constexpr std::chrono::milliseconds look_again_after{1};
    static constexpr std::size_t room_for = 256;  // messages, so that a writer can go on

    // A part of the queue in a turn: others of the loop have theirs, and acknowledgements are read.
    void go_on() {
      do {
        for (std::size_t left = in_turn; Entry* const next = between_.queue.front(); --left) {
          if (left == 0) {
            between_.queue.make_room();
            return filled_.notify();
          }
          const Status status = send(*next);
          // Closed: the linger time is over, and what is left was never taken.
          if (status == Status::again || status == Status::not_connected ||
              status == Status::closed) {
            return between_.queue.make_room();
          }
          // Else it was too large for the peers that are there, or for memory.
          if (status != Status::ok) ++refused_;
          between_.queue.pop(*next);
          found_ = true;
          if (left % room_for == 0) between_.queue.make_room();
        }
        between_.queue.make_room();
      } while (!between_.queue.wait());
      if (std::exchange(found_, false)) look_timer_.start_once(look_again_after);
      if (std::exchange(closing_, false)) push_.close(linger_);
    }
    Status send(Entry& next) noexcept {
      return next.kind == Entry::Kind::message ? push_.send(std::move(next.message()))
                                               : push_.send(next.copied(), next.tag);
    }

    Between& between_;
    std::uint64_t refused_ = 0;
    bool found_ = false;  // something in the queue, since the last look with none to follow
    bool closing_ = false;
    std::chrono::nanoseconds linger_{0};
    std::promise<Books> closed_;
    Signal filled_;
    Timer look_timer_;
    Timer linger_timer_;
    netio::Push push_;
  };

  explicit State(const QueueOptions& options)
      : message_bytes_max(options.socket.message_bytes_max),
        between(options.messages_max),
        thread(options.context, options.socket, between) {}

  std::size_t message_bytes_max;
  bool closed = false;
  Books books;  // once closed
  Between between;
  detail::LoopThread<Drain> thread;
};

QueuedPush::QueuedPush(const QueueOptions& options) : state_(std::make_unique<State>(options)) {}
QueuedPush::~QueuedPush() = default;

std::string QueuedPush::bind(std::string_view address) {
  return state_->thread.call([&](auto& drain) { return drain.socket().bind(address); });
}
void QueuedPush::connect(std::string_view address) {
  state_->thread.call([&](auto& drain) { drain.socket().connect(address); });
}
bool QueuedPush::unbind(std::string_view address) {
  return state_->thread.call([&](auto& drain) { return drain.socket().unbind(address); });
}
bool QueuedPush::disconnect(std::uint64_t peer, std::chrono::nanoseconds linger) {
  return state_->thread.call([&](auto& drain) { return drain.socket().disconnect(peer, linger); });
}
std::size_t QueuedPush::disconnect(std::string_view address, std::chrono::nanoseconds linger) {
  return state_->thread.call(
      [&](auto& drain) { return drain.socket().disconnect(address, linger); });
}

Status QueuedPush::send(std::span<const std::byte> message, std::chrono::nanoseconds timeout,
                        std::uint64_t tag) {
  if (state_->closed || state_->thread.copied_by_fork()) return Status::closed;
  if (message.size() > state_->message_bytes_max) return Status::too_big;
  State::Between& between = state_->between;
  if (!between.queue.put(message, tag, timeout)) return Status::again;
  if (between.queue.reader_waits()) between.filled.load(std::memory_order_relaxed)->notify();
  return Status::ok;
}

Books QueuedPush::close(std::chrono::nanoseconds linger) {
  if (!std::exchange(state_->closed, true)) {
    state_->books = state_->thread.call([&](auto& drain) { return drain.close(linger); }).get();
  }
  return state_->books;
}

}  // namespace netio::blocking
