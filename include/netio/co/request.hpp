// Request for coroutines: each co_await asks, and is resumed with the end of its request, inside
// the socket's call-back. The waiters lie in the coroutines' frames and are found by the number of
// the request, so that a request takes no memory once the table of them has grown.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <netio/answer.hpp>
#include <netio/co/socket.hpp>
#include <netio/request.hpp>

namespace netio::detail {

class AskGate;

// A request that is awaited. First it waits in a line, if no peer has room, and then at the gate.
class AskWaiter : public SendWaiter {
 public:
  AskWaiter(AskGate& its_gate, const Ask& its_ask) noexcept : ask(its_ask), gate(its_gate) {}
  inline ~AskWaiter() override;
  // Whoever names a peer does not wait for it to connect.
  [[nodiscard]] bool is_to_wait() const noexcept override {
    return status == Status::again || (status == Status::not_connected && ask.peer == 0);
  }

  Ask ask;
  AskGate& gate;
  std::uint64_t id = 0;                 // not 0 while it is in the table
  AskWaiter* next_in_bucket = nullptr;  // there
  Outcome outcome = Outcome::not_executed;
  Message message;
};

class AskGate {
 public:
  static constexpr bool line_needs_peers = true;

  AskGate(Loop& loop, Request& socket)
      : loop_(loop), socket_(socket), given_(loop), buckets_(std::size_t{1} << bits_) {
    socket.on_reply([this](std::uint64_t id, const MessageView& answer) {
      if (AskWaiter* const waiter = take(id)) {
        waiter->message = answer.keep();
        end(*waiter, Outcome::answered);
      }
    });
    socket.on_failed([this](std::uint64_t id, Outcome outcome) {
      if (AskWaiter* const waiter = take(id)) end(*waiter, outcome);
    });
  }
  ~AskGate() {
    if (gone_ != nullptr) *gone_ = true;
    close();
  }
  AskGate(const AskGate&) = delete;
  AskGate& operator=(const AskGate&) = delete;

  // The requests end with the socket. The loop tells the coroutines that wait.
  void close() noexcept {
    given_.answer_all_later(Status::closed);
    for (AskWaiter*& bucket : buckets_) {
      while (bucket != nullptr) {
        AskWaiter& waiter = *std::exchange(bucket, bucket->next_in_bucket);
        waiter.id = 0;
        waiter.status = Status::closed;
        loop_.defer(waiter);
      }
    }
    count_ = 0;
  }
  void peer_went(const Down& /*down*/) noexcept {}

  // The line for requests to a given peer. They do not wait for each other.
  [[nodiscard]] SendLine& given() noexcept { return given_; }
  void serve(SendLine& line) noexcept {
    const GoneWatch watch(gone_);
    line.serve();
    if (!watch.gone()) given_.serve_each();
  }

  // The request of the waiter was sent.
  void enter(AskWaiter& waiter) noexcept {
    if (count_++ >= buckets_.size()) grow();
    put(waiter);
  }
  // The coroutine is destroyed.
  void cancel(AskWaiter& waiter) noexcept {
    const std::uint64_t id = waiter.id;
    if (take(id) != nullptr) (void)socket_.cancel(id);
  }
  [[nodiscard]] Loop& loop() noexcept { return loop_; }

 private:
  [[nodiscard]] AskWaiter*& bucket_of(std::uint64_t id) noexcept {
    constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;
    return buckets_[static_cast<std::size_t>((id * golden) >> (64U - bits_))];
  }
  void put(AskWaiter& waiter) noexcept {
    waiter.next_in_bucket = std::exchange(bucket_of(waiter.id), &waiter);
  }
  // Null if nobody waits for it.
  AskWaiter* take(std::uint64_t id) noexcept {
    AskWaiter** place = &bucket_of(id);
    while (*place != nullptr && (*place)->id != id) place = &(*place)->next_in_bucket;
    AskWaiter* const waiter = *place;
    if (waiter == nullptr) return nullptr;
    *place = waiter->next_in_bucket;
    waiter->id = 0;
    --count_;
    return waiter;
  }
  static void end(AskWaiter& waiter, Outcome outcome) noexcept {
    waiter.outcome = outcome;
    waiter.resume();
  }
  // Without memory the lists grow instead.
  void grow() noexcept {
    try {
      std::vector<AskWaiter*> before(2 * buckets_.size());
      before.swap(buckets_);
      ++bits_;
      for (AskWaiter* first : before) {
        while (first != nullptr) put(*std::exchange(first, first->next_in_bucket));
      }
    } catch (const std::bad_alloc&) {
      return;
    }
  }

  Loop& loop_;
  Request& socket_;
  SendLine given_;
  unsigned bits_ = 6;
  std::size_t count_ = 0;
  std::vector<AskWaiter*> buckets_;  // two to the power of bits_
  bool* gone_ = nullptr;
};

inline AskWaiter::~AskWaiter() {
  if (id != 0) gate.cancel(*this);
}

template <>
struct GateOf<Request> {
  using Type = AskGate;
};

// What co_await ask(...) waits in. `Send` makes one call of the socket.
template <class Send>
class AskAwaiter final : public AskWaiter {
 public:
  AskAwaiter(AskGate& its_gate, SendLine& any, const Ask& its_ask, Send send) noexcept
      : AskWaiter(its_gate, its_ask),
        line_(its_ask.peer == 0 ? any : its_gate.given()),
        send_(send) {}
  // Only if nothing was sent, and waiting does not change that.
  [[nodiscard]] bool await_ready() noexcept {
    if (ask.within.count() < 0) {
      status = Status::invalid;
      return true;
    }
    if (ask.peer == 0 && !line_.empty()) return false;
    status = attempt();
    return status != Status::ok && !is_to_wait();
  }
  void await_suspend(std::coroutine_handle<> waiting) {
    set_waiting(waiting);
    if (status == Status::ok) return answered();
    if (ask.within.count() > 0) {
      const std::chrono::nanoseconds now = gate.loop().now();
      until_ = now + std::min(ask.within, std::chrono::nanoseconds::max() - now);
      timer_.emplace(gate.loop(), [this] { expire(); });
      timer_->start_once(ask.within);
    }
    line_.enter(*this);
  }
  [[nodiscard]] Answer await_resume() noexcept {
    if (status == Status::closed) outcome = Outcome::cancelled;
    return {status, outcome, std::move(message)};
  }

  Status attempt() noexcept override {
    if (until_.count() != 0) {
      ask.within = std::max(until_ - gate.loop().now(), std::chrono::nanoseconds(1));
    }
    std::uint64_t number = 0;
    const Status result = send_(number, ask);
    id_sent_ = number;
    return result;
  }
  void answered() noexcept override {
    timer_.reset();
    if (status != Status::ok) return resume();
    id = id_sent_;
    gate.enter(*this);
  }

 private:
  // Its time was over while it waited for room.
  void expire() noexcept {
    if (scheduled()) return;
    leave();
    status = Status::again;
    outcome = Outcome::timed_out;
    resume();
  }

  SendLine& line_;
  Send send_;
  std::uint64_t id_sent_ = 0;
  std::chrono::nanoseconds until_{0};  // 0: without a time limit, or it was sent at once
  std::optional<Timer> timer_;
};

}  // namespace netio::detail

namespace netio::co {

// A netio::Request whose ask() is awaited.
class Request : public AwaitedSocket<netio::Request> {
 public:
  // Throws Error for options that make no sense.
  explicit Request(Context& context, const RequestOptions& asking = {},
                   const SocketOptions& options = {})
      : AwaitedSocket(context, asking, options) {
    netio::Request::on_writable([this] { gate().serve(line()); });
  }

  // Asks, and waits for the end of the request: see Answer. If no peer has room, this waits for
  // that first, also for the first peer to connect; those that wait are served in order. The time
  // limit counts from this call. If Ask::peer names a peer that is not connected, this answers
  // not_connected at once. It also does so if the last peer goes while this waits for room. The
  // bytes must stay as they are until then. Any number of coroutines may wait. If a coroutine is
  // destroyed while it waits, its request is cancelled.
  [[nodiscard]] auto ask(std::span<const std::byte> request, const Ask& how = {}) {
    return detail::AskAwaiter(gate(), line(), how,
                              [this, request](std::uint64_t& id, const Ask& ask) {
                                return netio::Request::send(request, id, ask);
                              });
  }
  // The same with a time limit. One that is over, 0 or negative, is the shortest.
  [[nodiscard]] auto ask(std::span<const std::byte> request, std::chrono::nanoseconds within) {
    return ask(request, limited(within));
  }
  // The same for a text:
  [[nodiscard]] auto ask(std::string_view text, const Ask& how = {}) {
    return ask(std::as_bytes(std::span(text)), how);
  }
  [[nodiscard]] auto ask(std::string_view text, std::chrono::nanoseconds within) {
    return ask(text, limited(within));
  }
  // The same for several segments, which must stay as they are until the answer.
  [[nodiscard]] auto ask_segments(std::span<const Segment> segments, const Ask& how = {}) {
    return detail::AskAwaiter(gate(), line(), how,
                              [this, segments](std::uint64_t& id, const Ask& ask) {
                                return netio::Request::send_segments(segments, id, ask);
                              });
  }
  // Two texts in braces would be one text, from the first to the second: see ask_segments().
  template <class... How>
  void ask(std::initializer_list<const char*> texts, How... how) = delete;
  // The same for a message that was kept or allocated. It must live until the answer. It is empty
  // afterwards if the request was sent, and untouched otherwise:
  [[nodiscard]] auto ask(Message&& request, const Ask& how = {}) {
    return detail::AskAwaiter(gate(), line(), how,
                              [this, &request](std::uint64_t& id, const Ask& ask) {
                                return netio::Request::send(std::move(request), id, ask);
                              });
  }
  [[nodiscard]] auto ask(Message&& request, std::chrono::nanoseconds within) {
    return ask(std::move(request), limited(within));
  }

 private:
  // Of Ask, 0 is for ever.
  static Ask limited(std::chrono::nanoseconds within) noexcept {
    return {.within = std::max(within, std::chrono::nanoseconds(1))};
  }

  using netio::Request::cancel;
  using netio::Request::on_failed;
  using netio::Request::on_reply;
  using netio::Request::on_writable;
  using netio::Request::send_to_all;
};

}  // namespace netio::co
