// What the plays of the failing allocator share: a victim, another context, and turns of both.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include <netio/netio.hpp>

#include "support/allocation_counter.hpp"

namespace netio::test {

using namespace std::chrono_literals;  // NOLINT

// For so long it is played with failing memory, or until everything has come: what was on a
// connection that broke may never come.
inline constexpr std::chrono::milliseconds patience{100};

inline ContextOptions small() {
  ContextOptions options;
  options.page_bytes = 4096;
  options.send_pool_bytes = 64U << 12U;
  options.receive_pool_bytes = 256U << 12U;
  options.large_bytes_max = 1U << 20U;
  return options;
}

// A builder reserves memory for the large fragments of all its units.
inline ContextOptions with_large_memory() {
  ContextOptions options = small();
  options.large_bytes_max = 16U << 20U;
  return options;
}

inline SocketOptions hasty() {
  SocketOptions options;
  options.name = "a socket whose name takes memory";
  options.reconnect_after_min = 1ms;
  options.reconnect_after_max = 2ms;
  options.handshake_within = 1s;
  options.stall_after = 1s;
  return options;
}

// Says what is wrong and ends the child.
[[noreturn]] inline void give_up(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::_Exit(3);
}

// A victim and another context, turned alternately.
class Scene {
 public:
  explicit Scene(std::string at, const ContextOptions& memory = small())
      : address(std::move(at)), victim(memory), other(memory) {}

  void turn() {
    bool worked = false;
    {
      const Armed armed;
      worked = turn_victim();
    }
    worked |= other.loop().run_once(std::chrono::nanoseconds(0));
    if (!worked) std::this_thread::sleep_for(50us);
  }
  void turns(int count) {
    for (int i = 0; i < count; ++i) turn();
  }
  // True if it comes true.
  bool until(const std::function<bool()>& condition, std::chrono::milliseconds limit = 10s) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      turn();
    }
    return true;
  }
  void must(const std::function<bool()>& condition, const char* what) {
    if (!until(condition)) give_up(std::string("never: ") + what);
  }
  // A set-up call of the victim's may say that there is no memory.
  bool call(const std::function<void()>& work) {
    try {
      const Armed armed;
      work();
      return true;
    } catch (const std::bad_alloc&) {
    } catch (const Error&) {
    }
    return false;
  }
  void check(const Socket& socket) {
    const Books books = socket.books();
    if (books.sent != books.acknowledged + books.dropped() + books.unsettled()) {
      give_up("the books do not add up");
    }
  }
  // The rest of the scene is played with all memory there is.
  void relent() {
    fail_allocations(0, 1);
    fail_allocations_of_others(0, 1);
  }

  std::string address;
  // Which allocations fail, for a victim in a thread of its own.
  std::uint64_t failing_first = 0;
  std::uint64_t failing_count = 1;
  Context victim;
  Context other;
  // True if there was work. Called with the victim's memory failing.
  std::function<bool()> turn_victim = [this] {
    return victim.loop().run_once(std::chrono::nanoseconds(0));
  };
};

// What a call-back of the victim's allocates is not netio's.
template <typename Function>
auto disarmed(Function function) {
  return [function](auto&&... arguments) {
    const Armed armed(false);
    function(std::forward<decltype(arguments)>(arguments)...);
  };
}

inline const std::string small_message(200, 's');
inline const std::string large_message(20'000, 'l');

// Everything by the C API (c_play.cpp).
void through_c(Scene& scene);
// The victim waits (blocking_play.cpp); and has a loop in a thread of its own.
void blocking_pull(Scene& scene);
void queued_pull(Scene& scene);
// It asks, or answers (request_play.cpp).
void ask(Scene& scene);
void answer(Scene& scene);
// It passes on (forward_play.cpp).
void pass_on(Scene& scene);
void publish_on(Scene& scene);
void ask_on(Scene& scene);
// It builds events, or reads out (building_play.cpp).
void build(Scene& scene);
void read_out(Scene& scene);
// The same with an event manager, which is another process's.
void build_managed(Scene& scene);
void read_out_managed(Scene& scene);
// It manages the building of events (manager_play.cpp).
void manage(Scene& scene);

}  // namespace netio::test
