#include "build_faults/members.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <thread>
#include <utility>

#include <netio/netio.hpp>

namespace netio::test {

using namespace std::chrono_literals;  // NOLINT

namespace {

constexpr std::uint64_t run = 1;
constexpr auto look_every = 1ms;

BuildPlan plan(const System& system) {
  return {units_count, system.builders, system.range_events, system.managed};
}

ContextOptions memory() {
  ContextOptions options;
  options.send_pool_bytes = std::size_t{8} << 20U;
  options.receive_pool_bytes = std::size_t{16} << 20U;
  return options;
}

SocketOptions socket(const System& system) {
  SocketOptions options;
  // A network that carries nothing says nothing, either.
  if (!system.builder_hosts.empty()) options.heartbeat_after = system.lease / 5;
  options.reconnect_after_min = 5ms;
  options.reconnect_after_max = 50ms;
  return options;
}

// Units without a manager look for a builder where it was before.
std::string address_of(const System& system, std::uint32_t builder) {
  const bool hosts = !system.builder_hosts.empty();
  const unsigned port = system.managed ? 0 : system.first_port + builder;
  return "tcp://" + (hosts ? system.builder_hosts[builder] : "127.0.0.1") + ":" +
         std::to_string(port);
}

// The one before may not have left the port yet.
template <typename Listener>
void bind_at(Listener& listener, const std::string& address) {
  for (int attempts = 0;; ++attempts) {
    try {
      listener.bind(address);
      return;
    } catch (const Error&) {
      if (attempts == 500) throw;
      std::this_thread::sleep_for(10ms);
    }
  }
}

std::uint64_t word_of(std::uint32_t source, std::uint64_t event) {
  return event * 1'000'003 + source;
}

void check(const System& system, const Event& event) {
  for (std::uint32_t source = 0; source < units_count; ++source) {
    const EventFragment fragment = event[source];
    if (!fragment.here) continue;
    std::uint64_t word = 0;
    if (fragment.bytes().size() >= sizeof word) {
      std::memcpy(&word, fragment.bytes().data(), sizeof word);
    }
    if (word != word_of(source, event.id().number)) ++system.board->wrong;
  }
}

void note(const System& system, const Event& event) {
  check(system, event);
  if (event.id().number >= events_max) return;
  EventRecord& record = system.board->events[event.id().number];
  std::int64_t never = 0;
  record.first_ns.compare_exchange_strong(never, monotonic_ns());
  if (!event.complete()) {
    for (std::uint16_t source = 0; source < units_count; ++source) {
      if (event[source].missing == Missing::no) continue;
      record.lacks_source = source;
      record.lacks_why = static_cast<std::uint16_t>(event[source].missing);
    }
    ++record.incomplete;
  }
  if (event.again()) {
    ++system.board->again;
  } else {
    ++record.unmarked;
  }
  ++record.times;
}

// What a user does with an event: it takes time, and no core.
class Work {
 public:
  // If the machine lets this process sleep for too long, the next events take less, so that its
  // speed is as it should be also on a machine that is busy.
  void take(std::int64_t work_ns) {
    if (work_ns == 0) return;
    const std::int64_t until = monotonic_ns() + work_ns - late_ns_;
    std::this_thread::sleep_for(std::chrono::nanoseconds(until - monotonic_ns()));
    late_ns_ = std::clamp<std::int64_t>(monotonic_ns() - until, 0, late_ns_max);
  }

 private:
  static constexpr std::int64_t late_ns_max = 100'000'000;
  std::int64_t late_ns_ = 0;
};

}  // namespace

std::int64_t monotonic_ns() noexcept {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

std::uint64_t produced(const System& system, std::int64_t now_ns) noexcept {
  const std::int64_t start = system.board->start_ns;
  if (start == 0 || now_ns < start) return 0;
  const auto elapsed = static_cast<std::uint64_t>(now_ns - start);
  return std::min(elapsed / 1'000 * system.rate / 1'000'000, system.board->stop_at.load());
}

int manager_process(const System& system) {
  Context context(memory());
  ManagerOptions options;
  options.plan = plan(system);
  options.lease = options.wait = system.lease;
  options.socket = socket(system);
  EventManager manager(context, options);
  bind_at(manager, system.manager);
  bool stopping = false;
  Timer look(context.loop(), [&] {
    if (system.board->stop_at == UINT64_MAX || std::exchange(stopping, true)) return;
    manager.stop({run, system.board->stop_at}, [&] { context.stop(); });
  });
  look.start_periodic(look_every);
  context.run();
  return 0;
}

int builder_process(const System& system, std::uint32_t number) {
  BuilderOptions options;
  options.plan = plan(system);
  options.builder = number;
  options.deadline = system.lease;
  options.socket = socket(system);
  Context context(BuilderUnit::with_memory(options, memory()));
  BuilderUnit builder(context, options);
  Work work;
  builder.on_event([&](const Event& event) {
    note(system, event);
    work.take(system.board->work_ns[number]);
    ++system.board->built[number];
  });
  builder.on_up([&](std::uint32_t, const PeerInfo&) { ++system.board->met; });
  bind_at(builder, address_of(system, number));
  if (system.managed) {
    builder.on_manager_up([&](const PeerInfo&) { ++system.board->ready; });
    builder.join(system.manager);
  } else {
    ++system.board->ready;
  }
  Timer look(context.loop(), [&] {
    if (system.board->over) context.stop();
  });
  look.start_periodic(look_every);
  context.run();
  return 0;
}

int unit_process(const System& system, std::uint32_t source, bool late) {
  Context context(memory());
  ReadoutOptions options;
  options.plan = plan(system);
  options.source = source;
  options.socket = socket(system);
  ReadoutUnit unit(context, options);
  if (system.managed) {
    unit.join(system.manager);
  } else {
    for (std::uint32_t number = 0; number < system.builders; ++number) {
      unit.connect(number, address_of(system, number));
    }
  }
  std::uint64_t next = 0;
  bool begun = false;
  bool ending = false;
  std::array<std::uint64_t, 25> fragment{};
  Timer look(context.loop(), [&] {
    const std::uint64_t below = produced(system, monotonic_ns());
    if (!begun) {
      if (unit.builders_connected() < system.builders) return;
      begun = true;
      next = late ? below : 0;
      system.board->begun_at[source] = next;
      unit.advance({run, next});
      ++system.board->ready;
    }
    for (; next < below; ++next) {
      fragment[0] = word_of(source, next);
      if (unit.send({run, next}, std::as_bytes(std::span(fragment))) != Status::ok) break;
    }
    if (next == system.board->stop_at && !std::exchange(ending, true)) {
      unit.advance({run, next});
      unit.finish(1h, [&] { context.stop(); });
    }
  });
  look.start_periodic(look_every);
  context.run();
  return 0;
}

}  // namespace netio::test
