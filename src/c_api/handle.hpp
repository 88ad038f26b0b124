// How a struct of the caller's leads to its object, and what is said when it does not. The seal
// fits one object in one place: what was not made, was freed, copied or moved is found out. Only
// the owner thread gets at objects, except where it says "any thread".
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <netio.h>
#include <netio/context.hpp>

#include "c_api/error.hpp"

namespace netio::c_api {

struct ContextObject {
  explicit ContextObject(const ContextOptions& options) : context(options) {}
  [[nodiscard]] Loop& loop() noexcept { return context.loop(); }

  Context context;
  std::size_t residents = 0;  // of which none may outlive the context
};

// Lives in a context.
class Resident {
 public:
  explicit Resident(ContextObject& home) noexcept : home_(home) { ++home_.residents; }
  Resident(const Resident&) = delete;
  Resident& operator=(const Resident&) = delete;
  [[nodiscard]] Loop& loop() noexcept { return home_.loop(); }
  [[nodiscard]] ContextObject& home() noexcept { return home_; }

 protected:
  ~Resident() { --home_.residents; }

 private:
  ContextObject& home_;
};

// Structs lie at even addresses: one of zeros has another seal, and no pointer is one by chance.
inline std::uintptr_t seal_of(const netio_handle& handle) noexcept {
  return (reinterpret_cast<std::uintptr_t>(&handle) + 1) ^
         reinterpret_cast<std::uintptr_t>(handle.object);
}
inline bool sealed(const netio_handle& handle) noexcept { return handle.seal == seal_of(handle); }

// Of a linger time in C; what is too long for nanoseconds is the longest there is.
inline std::chrono::nanoseconds linger_of(std::uint64_t ms) noexcept {
  using std::chrono::milliseconds;
  constexpr auto most = std::chrono::duration_cast<milliseconds>(std::chrono::nanoseconds::max());
  return milliseconds(std::min(ms, static_cast<std::uint64_t>(most.count())));
}

// Where the handle is in each struct.
template <typename Struct>
auto& handle_of(Struct& own) noexcept {
  if constexpr (requires { own.socket; }) {
    return own.socket.handle;
  } else if constexpr (requires { own.evloop; }) {
    return own.evloop.handle;
  } else {
    return own.handle;
  }
}

// The object of a usable struct, on any thread; null once it was said what is wrong.
template <typename Object, typename Struct>
Object* object_of(const char* call, Struct* own) noexcept {
  if (own != nullptr && sealed(handle_of(*own))) [[likely]]
    return static_cast<Object*>(handle_of(*own).object);
  fail_struct(call, own);
  return nullptr;
}

inline bool on_owner_thread(const char* call, Loop& loop) noexcept {
  if (loop.on_owner_thread()) [[likely]]
    return true;
  fail(NETIO_WRONG_THREAD, call, "called from another thread than the one that runs the loop",
       "use netio_post() or netio_signal_fire() to get there");
  return false;
}

// What `work` makes of the object, on the owner thread.
template <typename Object, typename Struct, typename Work>
int with(const char* call, Struct* own, Work&& work) noexcept {
  auto* const object = object_of<Object>(call, own);
  if (object == nullptr || !on_owner_thread(call, object->loop())) return last_code();
  return guarded(call, [&] { return work(*object); });
}

// Clears the struct and gives it the object that `make` returns.
template <typename Struct, typename Make>
int init(const char* call, Struct* own, Make&& make) noexcept {
  if (own == nullptr) return fail_null(call);
  netio_handle& handle = handle_of(*own);
  if (sealed(handle)) {
    return fail(NETIO_INVALID, call, "this struct is in use", "free it first, or take another");
  }
  return guarded(call, [&] {
    auto object = make();
    *own = {};
    handle.object = object.release();
    handle.seal = seal_of(handle);
  });
}

// The same in a context or loop.
template <typename Home, typename Struct, typename Make>
int init_in(const char* call, Home* home, Struct* own, Make&& make) noexcept {
  auto* const context = object_of<ContextObject>(call, home);
  if (context == nullptr || !on_owner_thread(call, context->loop())) return last_code();
  return init(call, own, [&] { return make(*context); });
}

// The struct is the caller's again. The object may be the one whose call-back this is.
template <typename Object, typename Struct>
int free_object(const char* call, Struct* own) noexcept {
  return with<Object>(call, own, [own](Object& object) {
    const std::unique_ptr<Object> last(&object);
    handle_of(*own) = {};
  });
}

}  // namespace netio::c_api
