// netio_timer: calls back once or periodically.
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>

#include <netio/loop.hpp>

#include "c_api/error.hpp"
#include "c_api/handle.hpp"

namespace netio::c_api {
namespace {

struct TimerObject : Resident {
  TimerObject(ContextObject& home, netio_timer* own)
      : Resident(home), timer(home.loop(), [own] {
          if (own->cb != nullptr) own->cb(own->data);
        }) {}
  Timer timer;
};

// What is longer than 292 years is as long.
std::chrono::nanoseconds times(std::uint64_t count, std::uint64_t unit_ns) noexcept {
  constexpr std::uint64_t most_ns = std::numeric_limits<std::int64_t>::max();
  return std::chrono::nanoseconds(count > most_ns / unit_ns ? most_ns : count * unit_ns);
}

int start(const char* call, netio_timer* timer, std::chrono::nanoseconds time, bool once) noexcept {
  return with<TimerObject>(call, timer, [=](TimerObject& object) -> int {
    if (timer->cb == nullptr) {
      return fail(NETIO_INVALID, call, "the timer has no cb", "set it after netio_timer_init()");
    }
    once ? object.timer.start_once(time) : object.timer.start_periodic(time);
    return NETIO_OK;
  });
}

}  // namespace

extern "C" {

NETIO_API int netio_timer_init(netio_eventloop* loop, netio_timer* timer) {
  return init_in(__func__, loop, timer, [timer](ContextObject& home) {
    return std::make_unique<TimerObject>(home, timer);
  });
}

NETIO_API int netio_timer_start_s(netio_timer* timer, uint64_t period_s) {
  return start(__func__, timer, times(period_s, 1'000'000'000), false);
}
NETIO_API int netio_timer_start_ms(netio_timer* timer, uint64_t period_ms) {
  return start(__func__, timer, times(period_ms, 1'000'000), false);
}
NETIO_API int netio_timer_start_us(netio_timer* timer, uint64_t period_us) {
  return start(__func__, timer, times(period_us, 1'000), false);
}
NETIO_API int netio_timer_start_ns(netio_timer* timer, uint64_t period_ns) {
  return start(__func__, timer, times(period_ns, 1), false);
}
NETIO_API int netio_timer_start_once_ns(netio_timer* timer, uint64_t delay_ns) {
  return start(__func__, timer, times(delay_ns, 1), true);
}

NETIO_API int netio_timer_stop(netio_timer* timer) {
  return with<TimerObject>(__func__, timer, [](TimerObject& object) { object.timer.stop(); });
}
NETIO_API int netio_timer_free(netio_timer* timer) {
  return free_object<TimerObject>(__func__, timer);
}

}  // extern "C"
}  // namespace netio::c_api
