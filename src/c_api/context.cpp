// Contexts and their loops: netio_init() to netio_context_free().
#include <chrono>
#include <memory>
#include <string>

#include "c_api/error.hpp"
#include "c_api/handle.hpp"

namespace netio::c_api {
namespace {

static_assert(NETIO_IDLE_SLEEP == static_cast<int>(IdlePolicy::sleep));
static_assert(NETIO_IDLE_SPIN == static_cast<int>(IdlePolicy::spin));
static_assert(NETIO_IDLE_ADAPTIVE == static_cast<int>(IdlePolicy::adaptive));

ContextOptions from_c(const netio_context_options& c) {
  if (c.idle < NETIO_IDLE_SLEEP || c.idle > NETIO_IDLE_ADAPTIVE) {
    throw Error("netio_init_with", "there is no idle policy " + std::to_string(c.idle));
  }
  ContextOptions options;
  options.idle = static_cast<IdlePolicy>(c.idle);
  options.page_bytes = c.page_bytes;
  options.send_pool_bytes = c.send_pool_bytes;
  options.receive_pool_bytes = c.receive_pool_bytes;
  options.large_bytes_max = c.large_bytes_max;
  options.large_kept_bytes_max = c.large_kept_bytes_max;
  options.cpu = c.cpu;
  options.numa_node = c.numa_node;
  return options;
}

int fail_in_turn(const char* call) noexcept {
  return fail(NETIO_INVALID, call, "called from inside a call-back of the same loop",
              "let the call-back return first");
}

}  // namespace

extern "C" {

NETIO_API void netio_context_defaults(netio_context_options* options) {
  if (options == nullptr) return;
  const ContextOptions defaults;
  *options = {};
  options->idle = static_cast<int>(defaults.idle);
  options->page_bytes = defaults.page_bytes;
  options->send_pool_bytes = defaults.send_pool_bytes;
  options->receive_pool_bytes = defaults.receive_pool_bytes;
  options->large_bytes_max = defaults.large_bytes_max;
  options->large_kept_bytes_max = defaults.large_kept_bytes_max;
  options->cpu = defaults.cpu;
  options->numa_node = defaults.numa_node;
}

NETIO_API int netio_init(netio_context* context) {
  return init(__func__, context, [] { return std::make_unique<ContextObject>(ContextOptions{}); });
}

NETIO_API int netio_init_with(netio_context* context, const netio_context_options* options) {
  if (options == nullptr) return fail(NETIO_INVALID, __func__, "options is a null pointer");
  return init(__func__, context, [&] { return std::make_unique<ContextObject>(from_c(*options)); });
}

NETIO_API int netio_context_free(netio_context* context) {
  return with<ContextObject>(__func__, context, [context](ContextObject& object) -> int {
    constexpr auto call = "netio_context_free";
    if (object.loop().in_turn()) return fail_in_turn(call);
    if (object.residents != 0) {
      const std::string cause = std::to_string(object.residents) +
                                " sockets, units, timers, signals or descriptors live in it";
      return fail(NETIO_BUSY, call, cause.c_str(), "free them first");
    }
    const std::unique_ptr<ContextObject> last(&object);
    handle_of(*context) = {};
    return NETIO_OK;
  });
}

NETIO_API int netio_context_close(netio_context* context, uint64_t linger_ms, void (*call)(void*),
                                  void* data) {
  return with<ContextObject>(__func__, context, [=](ContextObject& object) {
    const std::chrono::nanoseconds linger = linger_of(linger_ms);
    if (call == nullptr) return object.context.close(linger);
    object.context.close(linger, [call, data] { call(data); });
  });
}

NETIO_API int netio_run(netio_eventloop* loop) {
  return with<ContextObject>(__func__, loop, [](ContextObject& object) -> int {
    if (object.loop().in_turn()) return fail_in_turn("netio_run");
    object.loop().run();
    return NETIO_OK;
  });
}

NETIO_API int netio_terminate(netio_eventloop* loop) {
  return with<ContextObject>(__func__, loop, [](ContextObject& object) { object.loop().stop(); });
}

NETIO_API int netio_run_once(netio_eventloop* loop, int64_t timeout_ns) {
  return with<ContextObject>(__func__, loop, [timeout_ns](ContextObject& object) -> int {
    if (object.loop().in_turn()) return fail_in_turn("netio_run_once");
    object.loop().run_once(std::chrono::nanoseconds(timeout_ns));
    return NETIO_OK;
  });
}

NETIO_API int netio_eventloop_fd(netio_eventloop* loop, int* fd) {
  if (fd == nullptr) return fail(NETIO_INVALID, __func__, "fd is a null pointer");
  return with<ContextObject>(__func__, loop,
                             [fd](ContextObject& object) { *fd = object.loop().fd(); });
}

NETIO_API int netio_post(netio_eventloop* loop, void (*call)(void*), void* data) {
  if (call == nullptr) return fail(NETIO_INVALID, __func__, "there is nothing to call");
  auto* const object = object_of<ContextObject>(__func__, loop);
  if (object == nullptr) return last_code();
  return guarded(__func__, [&] { object->loop().post([call, data] { call(data); }); });
}

}  // extern "C"
}  // namespace netio::c_api
