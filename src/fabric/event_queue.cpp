// Reads events when the descriptor says so, and until it is quiet.
#include "fabric/event_queue.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <sys/epoll.h>
#include <utility>

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include "base/helper_thread.hpp"
#include "base/out_of_memory.hpp"
#include "fabric/error.hpp"

namespace netio::detail {

EventQueue::EventQueue(Loop& loop, const Fabric& fabric) : loop_(loop), fabric_(fabric.get()) {
  fi_eq_attr attributes{};
  attributes.wait_obj = FI_WAIT_FD;
  const HelpersStart helpers;
  fid_eq* opened = nullptr;
  check_fabric(fi_eq_open(fabric.get(), &attributes, &opened, nullptr), "open an event queue");
  queue_.reset(opened);
  int fd = -1;
  check_fabric(fi_control(&opened->fid, FI_GETWAIT, &fd), "get the event queue's descriptor");
  watch_.emplace(loop, fd, EPOLLIN, [this](std::uint32_t) { read_all(); });
}

// The descriptor is quiet again only after fi_trywait, and that only with nothing left to read.
void EventQueue::read_all() {
  fid* object = &queue_->fid;
  constexpr int looks_max = 4;  // and again in the next turn: the descriptor is still readable
  for (int looks = 0; looks < looks_max; ++looks) {
    const bool quiet = fi_trywait(fabric_, &object, 1) == 0;
    bool any = false;
    while (read_one()) any = true;
    tell_all();
    if (quiet && !any) return;
  }
}

bool EventQueue::read_one() {
  // An entry, and room for what its peer sent with it, which is not used.
  constexpr std::size_t data_bytes_max = 256;
  alignas(fi_eq_cm_entry) std::array<std::byte, sizeof(fi_eq_cm_entry) + data_bytes_max> buffer;
  std::uint32_t code = 0;
  // Of a peer that closed a connection without an answer, the tcp provider tells the errno that is
  // left over from some other call. This one it tells most often anyway.
  errno = EINPROGRESS;
  const ssize_t got = fi_eq_read(queue_.get(), &code, buffer.data(), buffer.size(), 0);
  if (got == -FI_EAVAIL) return read_failure();
  if (got < static_cast<ssize_t>(sizeof(fi_eq_cm_entry))) return false;
  const auto& entry = *reinterpret_cast<const fi_eq_cm_entry*>(buffer.data());
  keep({code, entry.fid, Info(code == FI_CONNREQ ? entry.info : nullptr), 0});
  return true;
}

// Without memory for it, it is lost: who connects gives up in time, and who moves pages finds out
// by its operations.
void EventQueue::keep(Event event) noexcept {
  guard_memory([&] { events_.push_back(std::move(event)); },
               [&]() noexcept {
                 if (event.request) reject(event);
               });
}

void EventQueue::reject(const Event& event) noexcept {
  (void)fi_reject(reinterpret_cast<fid_pep*>(event.object), event.request->handle, nullptr, 0);
}

bool EventQueue::read_failure() {
  fi_eq_err_entry entry{};
  if (fi_eq_readerr(queue_.get(), &entry, 0) < 0) return false;
  keep({0, entry.fid, Info(), std::max(1, std::abs(entry.err))});
  return true;
}

// Telling may close objects, and so take events out of the list.
void EventQueue::tell_all() {
  while (!events_.empty()) {
    Event event = std::move(events_.front());
    events_.pop_front();
    if (!std::ranges::binary_search(objects_, event.object)) continue;
    auto& owner = *static_cast<ConnectionOwner*>(event.object->context);
    if (event.error != 0) {
      owner.on_connection_failed(event.error);
    } else if (event.code == FI_CONNREQ) {
      owner.on_request(std::move(event.request));
    } else if (event.code == FI_CONNECTED) {
      owner.on_connected();
    } else if (event.code == FI_SHUTDOWN) {
      owner.on_shutdown();
    }
  }
}

void EventQueue::add(fid* object) {
  objects_.insert(std::ranges::upper_bound(objects_, object), object);
}

// May run inside a call of the user's: what is read of others waits for the loop.
void EventQueue::forget(fid* object) {
  if (loop_.copied_by_fork()) return;  // what comes is the parent's, and no turn looks at the rest
  while (read_one()) {
  }
  std::erase_if(events_, [object](const Event& event) {
    if (event.object != object) return false;
    if (event.request) reject(event);
    return true;
  });
  std::erase(objects_, object);
  if (!events_.empty()) loop_.defer(*this);
}

}  // namespace netio::detail
