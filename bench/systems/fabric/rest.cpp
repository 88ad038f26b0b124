#include "systems/fabric/rest.hpp"

#include <rdma/fi_errno.h>

namespace netio::bench::fabric {

Rest::Rest(const Worker& worker, Device& device, const StopEvent& stop)
    : device_(device),
      wait_(worker.options.idle ? Wait::sleep : worker.options.wait),
      epoll_(Wait::sleep) {
  if (wait_ == Wait::spin) return;
  epoll_.add(device.completions.wait_fd(), EPOLLIN, other_key);
  epoll_.add(device.events.wait_fd(), EPOLLIN, events_key);
  epoll_.add(stop.fd(), EPOLLIN, other_key);
}

bool Rest::spun_enough(std::size_t completed) noexcept {
  const std::int64_t now = now_ns();
  if (completed != 0) busy_at_ = now;
  return now - busy_at_ > spin_ns_max;
}

// fi_trywait arms a queue, or finds that it is not empty: reading the completion queue until it is
// empty first would be a read too many. The event queue stays armed until it wakes us.
void Rest::sleep() {
  std::array<fid*, 2> queues = {&device_.completions.get().fid, &device_.events.get().fid};
  const int answer = fi_trywait(device_.fabric.get(), queues.data(), events_armed_ ? 1 : 2);
  if (answer == -FI_EAGAIN) {
    events_ready_ = !events_armed_;
    return;
  }
  check(answer, "fi_trywait");
  events_armed_ = true;
  for (const epoll_event& event : epoll_.wait()) {
    if (event.data.u64 != events_key) continue;
    events_ready_ = true;
    events_armed_ = false;
  }
}

}  // namespace netio::bench::fabric
