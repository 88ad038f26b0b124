#include "systems/fabric/event_queue.hpp"

#include <cstring>

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

namespace netio::bench::fabric {

EventQueue::EventQueue(fid_fabric& fabric) {
  fi_eq_attr attributes{};
  attributes.wait_obj = FI_WAIT_FD;
  fid_eq* queue = nullptr;
  check(fi_eq_open(&fabric, &attributes, &queue, nullptr), "fi_eq_open");
  queue_.reset(queue);
}

std::optional<Event> EventQueue::read() {
  std::uint32_t kind = 0;
  Entry entry{};
  const ssize_t got = fi_eq_read(queue_.get(), &kind, &entry, sizeof entry, 0);
  return event_of(got, kind, entry);
}

std::optional<Event> EventQueue::await(std::chrono::milliseconds within) {
  std::uint32_t kind = 0;
  Entry entry{};
  const ssize_t got =
      fi_eq_sread(queue_.get(), &kind, &entry, sizeof entry, static_cast<int>(within.count()), 0);
  return event_of(got, kind, entry);
}

void EventQueue::refuse_end() {
  while (const auto event = read()) {
    if (event->kind == FI_SHUTDOWN) throw std::runtime_error("the other end is gone");
  }
}

std::optional<Event> EventQueue::event_of(ssize_t got, std::uint32_t kind, const Entry& entry) {
  if (got == -FI_EAGAIN || got == -FI_ETIMEDOUT) return std::nullopt;
  if (got == -FI_EAVAIL) {
    fi_eq_err_entry error{};
    if (fi_eq_readerr(queue_.get(), &error, 0) < 0) return std::nullopt;
    fail("connect", error.err);
  }
  check(got, "fi_eq_read");
  fi_eq_cm_entry head{};
  std::memcpy(&head, entry.bytes.data(), sizeof head);
  Event event{kind, head.fid, Info(kind == FI_CONNREQ ? head.info : nullptr), {}};
  if (static_cast<std::size_t>(got) >= sizeof head + sizeof event.ring) {
    std::memcpy(&event.ring, entry.bytes.data() + sizeof head, sizeof event.ring);
  }
  return event;
}

int EventQueue::wait_fd() const {
  int fd = -1;
  check(fi_control(&queue_->fid, FI_GETWAIT, &fd), "FI_GETWAIT of the event queue");
  return fd;
}

}  // namespace netio::bench::fabric
