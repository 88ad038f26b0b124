// ReadoutUnit for coroutines: a coroutine whose fragment does not fit the store waits for room.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include <netio/co/sending.hpp>
#include <netio/readout_unit.hpp>

namespace netio::co {

// What allocate() of a ReadoutUnit gives. True if there is a message.
struct [[nodiscard]] Allocated {
  Status status = Status::closed;  // as of ReadoutUnit::allocate(), but never again
  Message message{};               // empty if `status` is not ok

  // Whether there is a message.
  explicit operator bool() const noexcept { return status == Status::ok; }
};

}  // namespace netio::co

namespace netio::detail {

// What co_await allocate(...) waits in.
class AllocateAwaiter final : public SendWaiter {
 public:
  AllocateAwaiter(SendLine& line, ReadoutUnit& unit, EventId event, std::size_t bytes,
                  std::size_t head_bytes) noexcept
      : line_(line), unit_(unit), event_(event), bytes_(bytes), head_bytes_(head_bytes) {}
  // It takes no room in the store, so it need not wait for those in the line.
  [[nodiscard]] bool await_ready() noexcept {
    status = attempt();
    return !is_to_wait();
  }
  void await_suspend(std::coroutine_handle<> waiting) noexcept {
    set_waiting(waiting);
    line_.enter(*this);
  }
  [[nodiscard]] co::Allocated await_resume() noexcept { return {status, std::move(message_)}; }

  Status attempt() noexcept override {
    Status answer = Status::again;
    message_ = unit_.allocate(event_, bytes_, answer, head_bytes_);
    return answer;
  }

 private:
  SendLine& line_;
  ReadoutUnit& unit_;
  EventId event_;
  std::size_t bytes_;
  std::size_t head_bytes_;
  Message message_;
};

}  // namespace netio::detail

namespace netio::co {

// A netio::ReadoutUnit whose fragments wait for room in the store. Any number of coroutines may
// wait; they are served in order, and events have to ascend in that order.
//
// Destroying it answers `closed` to all coroutines that wait for it, from the loop. They must not
// touch it then. finish() answers `closed` to those that send as well, and so does Context::close()
// at its end.
class ReadoutUnit : public netio::ReadoutUnit {
 public:
  // As netio::ReadoutUnit.
  ReadoutUnit(Context& context, const ReadoutOptions& options)
      : netio::ReadoutUnit(context, options), loop_(context.loop()), line_(loop_) {
    netio::ReadoutUnit::on_room([this] { line_.serve(); });
    on_settled({});
    on_finished({});
  }
  ~ReadoutUnit() {
    if (gone_ != nullptr) *gone_ = true;
    settling_.resume_later(loop_, false);
    finishing_.resume_later(loop_, books());
  }
  ReadoutUnit(const ReadoutUnit&) = delete;
  ReadoutUnit& operator=(const ReadoutUnit&) = delete;

  // As send() of netio::ReadoutUnit; where that answers again, this waits. The bytes must stay as
  // they are until the answer.
  [[nodiscard]] auto send(EventId event, std::span<const std::byte> fragment,
                          FragmentStatus status = FragmentStatus::good) noexcept {
    return attempt([this, event, fragment, status] {
      return netio::ReadoutUnit::send(event, fragment, status);
    });
  }
  // The same for a message that was kept or allocated. It must live until the answer. It is empty
  // afterwards if the answer is ok, and untouched otherwise.
  [[nodiscard]] auto send(EventId event, Message&& fragment,
                          FragmentStatus status = FragmentStatus::good) noexcept {
    return attempt([this, event, &fragment, status] {
      return netio::ReadoutUnit::send(event, std::move(fragment), status);
    });
  }
  // The same for a fragment of several segments, which must stay as they are until the answer.
  [[nodiscard]] auto send_segments(EventId event, std::span<const Segment> segments,
                                   FragmentStatus status = FragmentStatus::good) noexcept {
    return attempt([this, event, segments, status] {
      return netio::ReadoutUnit::send_segments(event, segments, status);
    });
  }
  // Waits until the unit has taken the loan. on_released tells when the loan ends.
  [[nodiscard]] auto lend(EventId event, std::span<const std::byte> fragment, std::uint64_t token,
                          FragmentStatus status = FragmentStatus::good) noexcept {
    return attempt([this, event, fragment, token, status] {
      return netio::ReadoutUnit::lend(event, fragment, token, status);
    });
  }
  // As allocate() of netio::ReadoutUnit; where that answers again, this waits. Gives an Allocated.
  // Its message has no place among those that wait to be sent: it comes behind them.
  [[nodiscard]] auto allocate(EventId event, std::size_t bytes,
                              std::size_t head_bytes = 0) noexcept {
    return detail::AllocateAwaiter(line_, *this, event, bytes, head_bytes);
  }

  // Waits until settled() is `below` or more, and gives true. It gives false if this was finished
  // or destroyed before. One coroutine at a time may wait. At the end of a run:
  // advance(end_of_run(run)), and co_await until_settled(end_of_run(run)).
  [[nodiscard]] auto until_settled(EventId below) {
    if (settled() >= below) return decltype(settling_)::at_once(true);
    if (finished_) return decltype(settling_)::at_once(false);
    settling_.check_free();
    settles_below_ = below;
    return settling_.wait();
  }

  // Begins to finish at once, whether it is awaited or not: see ReadoutUnit::finish(). Awaiting the
  // result, now or later, waits for its end, and gives the books. One coroutine at a time may wait.
  // The result must not outlive this, unless a coroutine waits for it.
  auto finish(std::chrono::nanoseconds linger = std::chrono::seconds(5)) {
    netio::ReadoutUnit::finish(linger, {});
    line_.answer_all_later(Status::closed);
    return finishing_.wait();
  }

  // As of netio::ReadoutUnit. They are called before the coroutines that wait are resumed:
  void on_settled(std::function<void(EventId)> call) {
    netio::ReadoutUnit::on_settled([this, call = std::move(call)](EventId below) {
      const detail::GoneWatch watch(gone_);
      if (call) call(below);
      if (!watch.gone() && below >= settles_below_) settling_.resume(true);
    });
  }
  void on_finished(std::function<void()> call) {
    netio::ReadoutUnit::on_finished([this, call = std::move(call)] {
      const detail::GoneWatch watch(gone_);
      if (call) call();
      if (!watch.gone()) has_finished();
    });
  }

 private:
  using netio::ReadoutUnit::on_room;

  template <class Attempt>
  detail::SendAwaiter<Attempt> attempt(Attempt attempt) noexcept {
    return detail::SendAwaiter<Attempt>(line_, attempt);
  }
  void has_finished() {
    finished_ = true;
    line_.answer_all_later(Status::closed);
    settling_.resume_later(loop_, settled() >= settles_below_);
    finishing_.end(loop_, books());
  }

  Loop& loop_;
  detail::SendLine line_;
  detail::WaitingPlace<bool> settling_;
  EventId settles_below_;
  bool finished_ = false;
  detail::WaitingPlace<ReadoutBooks> finishing_;
  bool* gone_ = nullptr;
};

}  // namespace netio::co
