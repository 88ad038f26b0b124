// Pull in a thread of its own. Its loop never waits for the reader: when the queue is full it stops
// reading, and the reader wakes it when half of the queue is free. What the reader has taken is a
// counter, which the loop looks at when acknowledgements are due.
#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include <netio/blocking.hpp>

#include "blocking/loop_thread.hpp"
#include "blocking/queue.hpp"
#include "blocking/reader_books.hpp"

namespace netio::blocking {

namespace queued_pull {

using detail::ReaderMarks;

// A page, or a peer that went.
struct Item {
  KeptBatch page{};
  std::uint64_t sender = 0;
  bool gone = false;
  std::unique_ptr<const Gone> who{};  // null without memory; receive() says so then
};

// What both threads use.
struct Between {
  explicit Between(std::size_t messages_max) : queue(messages_max) {}

  detail::Queue<Item> queue;  // one place for each message, so that pages always find one
  ReaderMarks marks;
  std::atomic<Signal*> wake{nullptr};  // set before the reader may receive
};

// In the loop's thread.
class Feeder {
 public:
  Feeder(Context& context, const SocketOptions& options, Between& of_both)
      : between_(of_both),
        loop_(context.loop()),
        wake_(context.loop(), [this] { on_wake(); }),
        pull_(context, options) {
    between_.wake = &wake_;
    pull_.acknowledge_when_taken([this] { return look(); });
    // Nothing in here may need memory: without it messages would be lost, or the process.
    pull_.on_batch([this](const Batch& batch) { hand_over(batch); });
    pull_.on_down([this](const PeerInfo& peer, const Down& down) {
      if (!peer.was_up && (!peer.dialed || peer.retrying)) return;
      // While nobody receives, those that go after the last message are told of as one.
      if (gone_) return;
      gone_ = Item{.gone = true, .who = remember(peer, down)};
      go_on();
    });
  }
  ~Feeder() = default;
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  [[nodiscard]] netio::Pull& socket() noexcept { return pull_; }

  // Once. The good-bye says what was taken: a sender that hears it has the rest as dropped.
  std::future<void> close() {
    pull_.acknowledge();
    pull_.on_closed([this](const Books&) { closed_.set_value(); });
    pull_.close(good_bye_within);
    return closed_.get_future();
  }
  [[nodiscard]] const Loop& loop() const noexcept { return loop_; }

 private:
  // A destructor waits so long at most.
  static constexpr std::chrono::milliseconds good_bye_within{100};
  // Of messages in the queue. With a single sender there is one.
  static constexpr std::size_t runs_max = 1024;

  static std::unique_ptr<const Gone> remember(const PeerInfo& peer, const Down& down) noexcept {
    try {
      return std::make_unique<const Gone>(Gone{peer, down});
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  [[nodiscard]] std::uint64_t messages_max() const noexcept { return between_.queue.items_max(); }
  [[nodiscard]] std::uint64_t taken() const noexcept {
    return between_.marks.taken.load(std::memory_order_seq_cst);
  }
  [[nodiscard]] bool full() const noexcept {
    return books_.put() - taken() >= messages_max() || books_.full();
  }

  // There is room, or the socket would be paused.
  void hand_over(const Batch& batch) noexcept {
    books_.put(batch.size(), pull_.place());
    put({.page = batch.keep(), .sender = pull_.sender_id()});
    if (full()) go_on();
  }
  void put(Item item) noexcept {
    [[maybe_unused]] const bool taken = between_.queue.put(std::move(item));
    assert(taken);
  }
  void on_wake() noexcept {
    if (owed_) pull_.acknowledge();
    go_on();
  }
  // Puts what waits into the queue if there is room. Then the socket goes on, or is paused until
  // half of the queue is free.
  void go_on() noexcept {
    account();
    if (gone_ && !full()) {
      books_.put_other();
      put(*std::exchange(gone_, std::nullopt));
    }
    const bool waits = gone_ || (pull_.paused() ? !half_free() : full());
    if (waits) {
      pull_.pause();
    } else {
      pull_.resume();
    }
    set_wake();
  }
  [[nodiscard]] bool half_free() const noexcept {
    return books_.put() - taken() <= messages_max() / 2 && !books_.full();
  }

  // Acknowledgements may be due. Once the reader has done nothing since the last look it is to wake
  // the loop, which looks once more: the reader may just have taken something, and not seen that.
  bool look() noexcept {
    const bool moved = account();
    if (moved && pull_.paused()) go_on();  // the reader may not have seen that it was to wake
    if (books_.empty()) {
      owed_ = false;
    } else if (moved) {
      owed_ = false;
      return true;
    } else if (!owed_) {
      owed_ = true;
      set_wake();
      return true;
    }
    set_wake();
    return false;
  }
  // True if the reader has taken anything since the last time.
  bool account() noexcept {
    const std::uint64_t now = taken();
    if (now == accounted_) return false;
    accounted_ = now;
    books_.take(now, [this](const BatchPlace& place) { pull_.taken(place); });
    return true;
  }
  void set_wake() noexcept {
    std::uint64_t at = ReaderMarks::never;
    if (pull_.paused()) {
      at = books_.put() - std::min(messages_max(), books_.put() - accounted_) / 2;
    }
    if (owed_) at = std::min(at, accounted_ + 1);
    between_.marks.wake_at.store(at, std::memory_order_seq_cst);
    if (taken() >= at) wake_.notify();
  }

  Between& between_;
  Loop& loop_;
  detail::ReaderBooks books_{runs_max};
  std::uint64_t accounted_ = 0;  // of what the reader has taken
  bool owed_ = false;            // the next message that is taken is to be acknowledged at once
  std::optional<Item> gone_;     // what the queue had no room for; then the socket is paused
  std::promise<void> closed_;
  Signal wake_;
  netio::Pull pull_;
};

}  // namespace queued_pull

struct QueuedPull::State {
  explicit State(const QueueOptions& options)
      : between(options.messages_max), thread(options.context, options.socket, between) {}

  queued_pull::Between between;
  detail::LoopThread<queued_pull::Feeder> thread;
};

QueuedPull::QueuedPull(const QueueOptions& options)
    : state_(std::make_unique<State>(options)),
      marks_(&state_->between.marks),
      loop_(&state_->thread.inside().loop()) {}

// Without memory for that nothing is said, and the connections end all the same.
QueuedPull::~QueuedPull() {
  if (loop_->copied_by_fork()) return;
  at_hand_.release();  // with Acknowledge::released it would hold back what was taken of it
  try {
    state_->thread.call([](auto& feeder) { return feeder.close(); }).wait();
  } catch (const std::exception&) {
    return;
  }
}

std::string QueuedPull::bind(std::string_view address) {
  return state_->thread.call([&](auto& feeder) { return feeder.socket().bind(address); });
}
void QueuedPull::connect(std::string_view address) {
  state_->thread.call([&](auto& feeder) { feeder.socket().connect(address); });
}
bool QueuedPull::unbind(std::string_view address) {
  return state_->thread.call([&](auto& feeder) { return feeder.socket().unbind(address); });
}
bool QueuedPull::disconnect(std::uint64_t peer, std::chrono::nanoseconds linger) {
  return state_->thread.call(
      [&](auto& feeder) { return feeder.socket().disconnect(peer, linger); });
}
std::size_t QueuedPull::disconnect(std::string_view address, std::chrono::nanoseconds linger) {
  return state_->thread.call(
      [&](auto& feeder) { return feeder.socket().disconnect(address, linger); });
}

Received QueuedPull::receive_next_page(std::chrono::nanoseconds timeout) {
  Received received;
  if (loop_->copied_by_fork()) [[unlikely]] {
    received.status = Status::closed;
    return received;
  }
  auto& queue = state_->between.queue;
  while (true) {
    at_hand_.release();
    // More than was given, if a peer has changed its page.
    taken_ = page_end_;
    marks_->taken.store(taken_, std::memory_order_release);
    queued_pull::Item item;
    if (!queue.take(item, std::chrono::nanoseconds(0))) {
      std::atomic_thread_fence(std::memory_order_seq_cst);
      wake_loop();
      if (!queue.take(item, timeout)) return received;
    }
    if (item.gone) {
      marks_->taken.store(page_end_ = ++taken_, std::memory_order_release);
      wake_loop();
      received.status = Status::not_connected;
      received.gone = item.who ? std::move(item.who) : std::make_unique<const Gone>(gone_unnamed());
      return received;
    }
    page_end_ = taken_ + item.page.size();
    at_hand_.open(std::move(item.page), item.sender, false);
    detail::MessageCursor::Place place;
    if (!at_hand_.next(place)) continue;
    marks_->taken.store(++taken_, std::memory_order_release);
    wake_loop();
    return at_hand_.received(place);
  }
}

// If it is to be.
void QueuedPull::wake_loop() noexcept {
  std::uint64_t at = marks_->wake_at.load(std::memory_order_relaxed);
  if (taken_ < at) return;
  if (!marks_->wake_at.compare_exchange_strong(at, detail::ReaderMarks::never)) return;
  state_->between.wake.load(std::memory_order_relaxed)->notify();
}

}  // namespace netio::blocking
