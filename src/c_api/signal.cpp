// netio_signal, which wakes the loop from any thread, and netio_posix_signal, of the system.
#include <memory>

#include <netio/loop.hpp>

#include "c_api/error.hpp"
#include "c_api/handle.hpp"

namespace netio::c_api {
namespace {

struct SignalObject : Resident {
  SignalObject(ContextObject& home, netio_signal* own)
      : Resident(home), signal(home.loop(), [own] {
          if (own->cb != nullptr) own->cb(own->data);
        }) {}
  Signal signal;
};

struct PosixSignalObject : Resident {
  PosixSignalObject(ContextObject& home, netio_posix_signal* own, int number)
      : Resident(home), signals(home.loop(), {number}, [own](int raised) {
          if (own->cb != nullptr) own->cb(own->data, raised);
        }) {}
  PosixSignals signals;
};

}  // namespace

extern "C" {

NETIO_API int netio_signal_init(netio_eventloop* loop, netio_signal* signal) {
  return init_in(__func__, loop, signal, [signal](ContextObject& home) {
    return std::make_unique<SignalObject>(home, signal);
  });
}

// Any thread, and signal handlers: no lock and no memory is taken unless the struct is unusable.
NETIO_API int netio_signal_fire(netio_signal* signal) {
  auto* const object = object_of<SignalObject>(__func__, signal);
  if (object == nullptr) return last_code();
  if (object->loop().copied_by_fork()) [[unlikely]] {
    return fail(NETIO_ERROR, __func__, "its loop was made before fork(), in the parent process",
                "fire it there");
  }
  object->signal.notify();
  return NETIO_OK;
}

NETIO_API int netio_signal_free(netio_signal* signal) {
  return free_object<SignalObject>(__func__, signal);
}

NETIO_API int netio_posix_signal_init(netio_eventloop* loop, netio_posix_signal* signal,
                                      int number) {
  return init_in(__func__, loop, signal, [=](ContextObject& home) {
    return std::make_unique<PosixSignalObject>(home, signal, number);
  });
}

NETIO_API int netio_posix_signal_free(netio_posix_signal* signal) {
  return free_object<PosixSignalObject>(__func__, signal);
}

}  // extern "C"
}  // namespace netio::c_api
