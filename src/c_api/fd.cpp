// netio_fd: watches one file descriptor of the caller's.
#include <cstdint>
#include <memory>
#include <sys/epoll.h>

#include <netio/loop.hpp>

#include "c_api/error.hpp"
#include "c_api/handle.hpp"

namespace netio::c_api {
namespace {

struct FdObject : Resident {
  FdObject(ContextObject& home, netio_fd* own, int fd, std::uint32_t events)
      : Resident(home), watch(home.loop(), fd, events, [own, fd](std::uint32_t ready) {
          if (own->cb != nullptr) own->cb(own->data, fd, ready);
        }) {}
  Watch watch;
};

int fail_one_shot(const char* call) noexcept {
  return fail(NETIO_INVALID, call, "EPOLLONESHOT is not for watches",
              "call netio_fd_set_events() with 0 in the call-back instead");
}

}  // namespace

extern "C" {

NETIO_API int netio_fd_init(netio_eventloop* loop, netio_fd* watch, int fd, uint32_t events) {
  if ((events & EPOLLONESHOT) != 0) return fail_one_shot(__func__);
  return init_in(__func__, loop, watch, [=](ContextObject& home) {
    return std::make_unique<FdObject>(home, watch, fd, events);
  });
}

NETIO_API int netio_fd_set_events(netio_fd* watch, uint32_t events) {
  if ((events & EPOLLONESHOT) != 0) return fail_one_shot(__func__);
  return with<FdObject>(__func__, watch,
                        [events](FdObject& object) { object.watch.set_events(events); });
}

NETIO_API int netio_fd_free(netio_fd* watch) { return free_object<FdObject>(__func__, watch); }

}  // extern "C"
}  // namespace netio::c_api
