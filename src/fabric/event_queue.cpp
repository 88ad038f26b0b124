// Reads events when the descriptor says so, and until it is quiet.
#include "fabric/event_queue.hpp"

#include <array>
#include <sys/epoll.h>
#include <utility>

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include "fabric/error.hpp"

namespace netio::detail {

namespace {

void tell(ConnectionOwner& owner, std::uint32_t code, const fi_eq_cm_entry& entry) noexcept {
  switch (code) {
    case FI_CONNREQ:
      owner.on_request(Info(entry.info));
      break;
    case FI_CONNECTED:
      owner.on_connected();
      break;
    case FI_SHUTDOWN:
      owner.on_shutdown();
      break;
    default:
      break;
  }
}

}  // namespace

EventQueue::EventQueue(Loop& loop, const Fabric& fabric) : fabric_(fabric.get()) {
  fi_eq_attr attributes{};
  attributes.wait_obj = FI_WAIT_FD;
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
    if (quiet && !any) return;
  }
}

bool EventQueue::read_one() {
  // An entry, and room for what its peer sent with it, which is not used.
  constexpr std::size_t data_bytes_max = 256;
  alignas(fi_eq_cm_entry) std::array<std::byte, sizeof(fi_eq_cm_entry) + data_bytes_max> buffer;
  std::uint32_t code = 0;
  const ssize_t got = fi_eq_read(queue_.get(), &code, buffer.data(), buffer.size(), 0);
  if (got == -FI_EAVAIL) return read_failure();
  if (got < static_cast<ssize_t>(sizeof(fi_eq_cm_entry))) return false;
  const auto& entry = *reinterpret_cast<const fi_eq_cm_entry*>(buffer.data());
  if (auto* const owner = static_cast<ConnectionOwner*>(entry.fid->context)) {
    tell(*owner, code, entry);
  }
  return true;
}

bool EventQueue::read_failure() {
  fi_eq_err_entry entry{};
  if (fi_eq_readerr(queue_.get(), &entry, 0) < 0) return false;
  if (auto* const owner = static_cast<ConnectionOwner*>(entry.fid->context)) {
    owner->on_connection_failed(entry.err < 0 ? -entry.err : entry.err);
  }
  return true;
}

}  // namespace netio::detail
