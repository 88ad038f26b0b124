// The event manager of managed event building: it gives ranges of events to build ends.
#include <chrono>
#include <ctime>
#include <stdexcept>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "systems/netio/netio.hpp"

namespace netio::bench {

namespace {

using nlohmann::ordered_json;

// A machine that is busy may leave a builder without a core for longer than two leases of 1 s, the
// default. Its events would be built twice then.
constexpr std::chrono::seconds lease{2};

// Of the thread of the loop alone: what the command asks is answered by another one.
std::int64_t cpu_of_this_thread_ns() noexcept {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

ordered_json tell(const EventManager& manager) {
  const ManagerBooks books = manager.books();
  return {{"loop_cpu_ns", cpu_of_this_thread_ns()},
          {"term", books.term},
          {"settled", books.settled},
          {"again", books.again},
          {"revoked", books.revoked},
          {"open", books.open}};
}

ManagerOptions options_for(const Options& options) {
  ManagerOptions manager;
  manager.plan = plan_of(options);
  manager.lease = lease;
  manager.wait = time_for_units;
  manager.socket = socket_options(options);
  return manager;
}

}  // namespace

Options options_of_manage_end(const Options& options) {
  Options end = options;
  if (!end.name.empty()) end.name.append("-manager");
  if (end.role == Role::manage) return end;
  end.port = end.build.manager_port;
  if (!end.build.manager_host.empty()) end.host = end.build.manager_host;
  return end;
}

void manage(Worker& worker) {
  const Options& options = worker.options;
  Context context(context_options(options));
  stop_with(worker, context);
  EventManager manager(context, options_for(options));
  manager.on_refused([](const PeerInfo&, std::string_view why) {
    end_with(std::runtime_error("refused a unit or a builder: " + std::string(why)));
  });
  manager.on_failed([](std::string_view why) { end_with(std::runtime_error(std::string(why))); });
  worker.on_snap([&](ordered_json& said) {
    said.update(ask_loop(context, [&manager] { return tell(manager); }));
  });
  worker.ready(port_of(options, manager.bind(address_of(options_of_manage_end(options)))));
  run(options, context);
  worker.join();
  worker.on_finish([last = tell(manager)](ordered_json& said) { said.update(last); });
}

}  // namespace netio::bench
