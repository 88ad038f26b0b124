// The receiving end of event building: a BuilderUnit. --plain: a Pull that gets the same messages
// from as many Pushes, which is what building is held against. Both read the same of each message.
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "systems/netio/netio.hpp"
#include "systems/netio/timed.hpp"

namespace netio::bench {

namespace {

using nlohmann::ordered_json;

void tell_copies(ordered_json& said, const Counters& counters) {
  said["copies"] = counters.copies;
  said["bytes_copied"] = counters.bytes_copied;
}

// Takes events, and counts them.
class Building {
 public:
  Building(Worker& worker, Context& context)
      : worker_(worker), builder_(context, options_for(worker.options)) {
    builder_.on_event([this](const Event& event) { take(event); });
    builder_.on_manager_refused([](std::string_view why) {
      end_with(std::runtime_error("was refused by the manager: " + std::string(why)));
    });
  }
  Building(const Building&) = delete;
  Building& operator=(const Building&) = delete;

  std::string bind(const std::string& address) {
    const Options& options = worker_.options;
    std::string bound = builder_.bind(address);
    if (options.build.managed) builder_.join(address_of(options_of_manage_end(options)));
    return bound;
  }

  void tell(ordered_json& said) const {
    const BuilderBooks books = builder_.books();
    said["events"] = books.complete + books.incomplete;
    said["incomplete"] = books.incomplete;
    said["again"] = books.again;
    said["open_bytes_max"] = books.open_bytes_max;
    said["open"] = books.open;
    std::uint64_t late = 0;
    std::uint64_t built = 0;
    for (const auto& source : books.sources) {
      late += source.late;
      built += source.built;
    }
    said["late"] = late;
    said["built"] = built;
    tell_copies(said, builder_.counters());
  }

 private:
  static BuilderOptions options_for(const Options& options) {
    BuilderOptions building;
    building.plan = plan_of(options);
    building.builder = options.build.number;
    building.deadline = time_for_units;
    building.window_bytes = options.build.window_bytes;
    if (options.build.credit != 0) building.credit = options.build.credit;
    building.socket = socket_options(options);
    return building;
  }

  void take(const Event& event) noexcept {
    const bool timed = is_timed(event.id().number, worker_.options);
    const bool managed = worker_.options.build.managed;
    std::int64_t first_sent = INT64_MAX;
    for (std::size_t source = 0; source < event.size(); ++source) {
      const EventFragment fragment = event[source];
      if (!fragment.here) continue;
      // Which ranges come here is not known before.
      if (managed) worker_.tally.expect(source, event.id().number);
      worker_.tally.take(fragment.bytes());
      if (timed) first_sent = std::min(first_sent, read_time(fragment.bytes()));
    }
    if (timed && first_sent != INT64_MAX) worker_.round_trip(now_ns() - first_sent);
  }

  Worker& worker_;
  BuilderUnit builder_;
};

// Takes the same messages from Pushes.
class Taking {
 public:
  Taking(Worker& worker, Context& context)
      : worker_(worker), pull_(context, socket_options(worker.options)) {
    pull_.on_batch([this](const Batch& batch) {
      for (const MessageView message : batch) take(message);
    });
  }
  Taking(const Taking&) = delete;
  Taking& operator=(const Taking&) = delete;

  std::string bind(const std::string& address) { return pull_.bind(address); }
  void tell(ordered_json& said) const {
    said["built"] = worker_.tally.messages();
    tell_copies(said, pull_.counters());
  }

 private:
  void take(const MessageView& message) noexcept {
    worker_.tally.take(message.bytes());
    if (is_timed(message.tag(), worker_.options)) {
      worker_.round_trip(now_ns() - read_time(message.bytes()));
    }
  }

  Worker& worker_;
  Pull pull_;
};

template <typename End>
ordered_json tell(const Worker& worker, const End& end) {
  ordered_json said = {{"messages", worker.tally.messages()}};
  end.tell(said);
  return said;
}

template <typename End>
void run_end(Worker& worker) {
  const Options& options = worker.options;
  Context context(context_options(options));
  stop_with(worker, context);
  End end(worker, context);
  worker.on_snap([&](ordered_json& said) {
    said.update(ask_loop(context, [&] { return tell(worker, end); }));
  });
  worker.ready(
      port_of(options, end.bind(address_of(options_of_build_end(options, options.build.number)))));
  run(options, context);
  worker.join();
  worker.on_finish([last = tell(worker, end)](ordered_json& said) { said.update(last); });
}

}  // namespace

BuildPlan plan_of(const Options& options) {
  const BuildOptions& build = options.build;
  return {build.readouts, build.builders, build.range_events,
          build.managed || options.role == Role::manage};
}

Options options_of_build_end(const Options& options, std::uint32_t number) {
  Options end = options;
  if (!end.name.empty()) end.name.append("-").append(std::to_string(number));
  if (!end.build.ports.empty()) end.port = end.build.ports.at(number);
  if (!end.build.hosts.empty()) end.host = end.build.hosts.at(number);
  return end;
}

void build(Worker& worker) {
  worker.options.build.plain ? run_end<Taking>(worker) : run_end<Building>(worker);
}

}  // namespace netio::bench
