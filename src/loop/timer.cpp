// Timer: starts and stops itself in the loop's heap, and survives what its call-back does to it.
#include <algorithm>
#include <cassert>
#include <utility>

#include <netio/loop.hpp>

#include "loop/timer_heap.hpp"

namespace netio {
namespace {

constexpr std::int64_t one_shot = -1;  // for period_ns_

}  // namespace

Timer::Timer(Loop& loop, std::function<void()> on_expiry)
    : loop_(loop), on_expiry_(std::move(on_expiry)) {
  assert(on_expiry_);
  loop_.require_owner("make a timer");
  loop_.timers_->reserve_one();
}

Timer::~Timer() {
  stop();
  loop_.timers_->release_one();
  if (loop_.calling_ == this) loop_.calling_ = nullptr;
}

void Timer::start_once(std::chrono::nanoseconds delay) {
  loop_.require_owner("start a timer");
  period_ns_ = one_shot;
  start(delay.count());
}

void Timer::start_periodic(std::chrono::nanoseconds period) {
  loop_.require_owner("start a timer");
  period_ns_ = std::max<std::int64_t>(period.count(), 0);
  start(period_ns_);
}

void Timer::start(std::int64_t delay_ns) noexcept {
  const std::int64_t now_ns = loop_.now().count();
  const std::int64_t room_ns = detail::never_ns - now_ns;
  loop_.timers_->start(*this, now_ns + std::clamp<std::int64_t>(delay_ns, 0, room_ns));
  loop_.timer_started();
}

void Timer::stop() noexcept {
  assert(loop_.on_owner_thread());
  loop_.timers_->stop(*this);
}

// The function is moved aside while it runs, so that it outlives a Timer it destroys.
void Timer::expire() noexcept {
  Loop& loop = loop_;
  auto on_expiry = std::move(on_expiry_);
  loop.calling_ = this;
  on_expiry();
  if (loop.calling_ == this) on_expiry_ = std::move(on_expiry);
  loop.calling_ = nullptr;
}

}  // namespace netio
