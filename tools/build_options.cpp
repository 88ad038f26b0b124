#include "build_options.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "build_help.hpp"
#include "fragment_stamp.hpp"
#include "parsed_option.hpp"
#include "peer_options.hpp"

namespace netio::cli {

namespace {

constexpr std::uint32_t units_max = 65'536;
constexpr std::uint64_t credit_max = 1024;  // a manager gives no more
constexpr std::size_t window_bytes_least = std::size_t{16} << 10U;

// 0 to 65,535, or 1 to 65,536.
std::uint32_t parse_unit_number(const std::string& text) {
  const std::uint64_t number = parse_count(text);
  if (number >= units_max) throw std::invalid_argument("is at most 65,535, not " + text);
  return static_cast<std::uint32_t>(number);
}

std::uint32_t parse_units(const std::string& text) {
  const std::uint64_t count = parse_count(text);
  if (count == 0 || count > units_max) {
    throw std::invalid_argument("is 1 to 65,536, not " + text);
  }
  return static_cast<std::uint32_t>(count);
}

std::uint32_t parse_run(const std::string& text) {
  const std::uint64_t run = parse_count(text);
  if (run > UINT32_MAX) throw std::invalid_argument("is at most 4,294,967,295, not " + text);
  return static_cast<std::uint32_t>(run);
}

std::uint64_t parse_range(const std::string& text) {
  const std::uint64_t events = parse_count(text);
  if (events == 0 || events > std::uint64_t{1} << 48U) {
    throw std::invalid_argument("is 1 to 2^48 events, not " + text);
  }
  return events;
}

std::size_t parse_fragment_bytes(const std::string& text) {
  const std::size_t bytes = parse_message_bytes(text);
  if (bytes < fragment_stamp_bytes) {
    throw std::invalid_argument(
        fmt::format("a generated fragment has at least {} bytes, which say whose it is, not {}",
                    fragment_stamp_bytes, text));
  }
  return bytes;
}

std::size_t parse_window_bytes(const std::string& text) {
  const std::size_t bytes = parse_message_bytes(text);
  if (bytes < window_bytes_least) throw std::invalid_argument("is at least 16KiB, not " + text);
  return bytes;
}

std::size_t parse_store_bytes(const std::string& text) {
  const std::size_t bytes = parse_message_bytes(text);
  if (bytes < std::size_t{4} << 10U) throw std::invalid_argument("is at least 4KiB, not " + text);
  return bytes;
}

std::uint32_t parse_credit(const std::string& text) {
  const std::uint64_t ranges = parse_count(text);
  if (ranges == 0 || ranges > credit_max) {
    throw std::invalid_argument(fmt::format("is 1 to {} ranges, not {}", credit_max, text));
  }
  return static_cast<std::uint32_t>(ranges);
}

// A time after which a builder or a unit counts as gone.
std::chrono::nanoseconds parse_lease(const std::string& text) {
  const std::chrono::nanoseconds time = parse_duration(text);
  if (time < std::chrono::milliseconds(10) || time > std::chrono::hours(24)) {
    throw std::invalid_argument("is 10ms to 24h, not " + text);
  }
  return time;
}

// All that build the same events have the same plan.
void add_plan(CLI::App& app, BuildPlan& plan) {
  const std::string group = "The plan (the same at all units and builders)";
  add_parsed_to(app, "--sources", "S", parse_units, plan.sources,
                "How many read-out units there are")
      ->group(group)
      ->required();
  add_parsed_to(app, "--range", "EVENTS", parse_range, plan.range_events,
                "Event numbers in a range (256): a range goes to one builder, the next range to "
                "the next one")
      ->group(group);
}

void add_builders(CLI::App& app, BuildArguments& build, const std::string& description) {
  add_parsed_to(app, "--builders", "B", parse_units, build.builders, description)
      ->group(app.get_option("--sources")->get_group());
}

void add_manager(CLI::App& app, std::string& manager) {
  app.add_option("--manager", manager,
                 "Where the event manager is (netio build manager), which gives ranges of events "
                 "to builders: tcp://host:5550")
      ->type_name("ADDRESS")
      ->check(why_no_address);
}

void add_meeting(CLI::App& app, BuildArguments& build, std::string_view peer, bool binds) {
  add_settings(app, build.peer, {peer, binds, true, false});
}

void say_who_is_waited_for(CLI::App& app, std::string_view who) {
  app.get_option("--connect-timeout")
      ->description(fmt::format("Give up when a {} has been away for so long (for ever)", who));
}

[[noreturn]] void refuse(const std::string& option, const std::string& why) {
  throw CLI::ValidationError(option, why);
}

void check_each_once(const std::vector<std::string>& addresses, const char* advice) {
  for (auto each = addresses.begin(); each != addresses.end(); ++each) {
    if (std::find(addresses.begin(), each, *each) == each) continue;
    refuse("ADDRESS", *each + " is there twice" + advice);
  }
}

void check_plan(std::uint32_t number, std::uint32_t count, const char* option, const char* what,
                const std::string& of) {
  if (number < count) return;
  refuse(option, fmt::format("there is no {} {}: with {} they are numbered from 0 to {}", what,
                             number, of, count - 1));
}

void add_load(CLI::App& app, ReadoutArguments& readout) {
  CLI::Option* const size =
      add_parsed_to(app, "--size", "BYTES", parse_fragment_bytes, readout.fragment_bytes,
                    "Generated load: size of each fragment (1KiB). It says its source and event, "
                    "and has a checksum, for build builder --verify");
  CLI::Option* const file =
      app.add_option("--file", readout.file,
                     "Send this file instead; -: standard input. Each frame is the fragment of one "
                     "event")
          ->type_name("FILE")
          ->excludes(size);
  add_parsed_to(app, "--frame", "HOW", FrameSpec::parse, readout.frame,
                "How the file becomes fragments: whole (default), line, fixed:BYTES, "
                "length:OFFSET,WIDTH,ADJUST")
      ->needs(file);
  add_parsed_to(app, "--events", "N", parse_count, readout.events,
                "How many events (until the end of the file, or Ctrl-C). A unit that joins a run "
                "late ends at the same event as the others");
  add_parsed_to(app, "--seconds", "TIME", parse_duration, readout.seconds,
                "For how long, counted from the start");
  add_parsed_to(app, "--rate", "RATE", parse_rate, readout.rate,
                "Send at most so much: 50k events a second, 1GB/s, 10Gb/s");
  add_parsed_to(app, "--run", "R", parse_run, readout.first.run, "Number of the run (1)");
  add_parsed_to(app, "--first-event", "N", parse_count, readout.first_event,
                "Number of the first event (0; with --manager, a unit that joins late is told)");
}

void settle_builders(ReadoutArguments& readout) {
  readout.plan.managed = !readout.manager.empty();
  if (readout.plan.managed) {
    if (!readout.addresses.empty()) {
      refuse("--manager", "the manager says where builders are: name no other ADDRESS");
    }
    readout.plan.builders = readout.builders.value_or(1);
    return;
  }
  if (readout.addresses.empty()) throw CLI::RequiredError("ADDRESS");
  if (readout.builders) {
    refuse("--builders", "is for a unit with --manager: without it, each builder has an ADDRESS");
  }
  readout.plan.builders = static_cast<std::uint32_t>(readout.addresses.size());
}

}  // namespace

void add_build_readout(CLI::App& app, ReadoutArguments& readout) {
  app.add_option("ADDRESS", readout.addresses,
                 "Where the builders listen, in the order of their numbers: "
                 "netio://host:5555, tcp://host:5555, shm://name, verbs://host:5555 or "
                 "ofi+PROVIDER://host:5555, as for netio send. None with --manager")
      ->type_name("")
      ->check(why_no_address);
  add_manager(app, readout.manager);
  add_parsed_to(app, "--source", "N", parse_unit_number, readout.source,
                "The number of this unit, from 0 on")
      ->required();
  add_plan(app, readout.plan);
  add_builders(app, readout, "With --manager: how many builder units there are (1)");
  add_load(app, readout);
  const std::string group = "The store (fragments of events that no builder is done with)";
  add_parsed_to(app, "--store", "BYTES", parse_store_bytes, readout.store_bytes_max,
                "How much it holds (64MiB); each fragment takes 64 bytes more than it has")
      ->group(group);
  add_choice_to(
      app, "--when-full", Choices<WhenFull>{{"again", WhenFull::again}, {"drop", WhenFull::drop}},
      readout.when_full,
      "When it is full: wait (again, the default), or drop the fragment and tell the builder")
      ->group(group);
  add_parsed_to(app, "--linger", "TIME", parse_duration, readout.linger,
                "At the end, wait until the builders are done at most so long (for ever; after "
                "Ctrl-C: 1s)")
      ->group(group);
  add_meeting(app, readout, "builder", false);
  say_who_is_waited_for(app, "builder, or with --manager the manager,");
  add_summary(app, readout.report);
  app.footer(std::string(help::build_readout_footer));
}

void add_build_builder(CLI::App& app, BuilderArguments& builder) {
  builder.peer.binds = true;
  app.add_option("ADDRESS", builder.addresses,
                 "Where units connect: netio://*:5555, tcp://*:5555, shm://name, "
                 "verbs://host:5555 or ofi+PROVIDER://host:5555; the host may be * and the port 0, "
                 "or the name *. Several addresses: at each of them. With --manager: tcp://*:0 if "
                 "there is none")
      ->type_name("")
      ->check(why_no_address);
  add_manager(app, builder.manager);
  add_parsed_to(app, "--builder", "N", parse_unit_number, builder.builder,
                "The number of this builder, from 0 on")
      ->required();
  add_plan(app, builder.plan);
  add_builders(app, builder, "How many builder units there are (with --manager: 1)");
  add_parsed_to(app, "--weight", "W", parse_units, builder.weight,
                "With --manager: the part of the events that it gets, beside the weights of the "
                "others (1)");
  add_parsed_to(app, "--credit", "N", parse_credit, builder.credit,
                "With --manager: how many ranges it is given at a time (8)");
  add_parsed_to(app, "--deadline", "TIME", parse_more_than_no_time, builder.deadline,
                "How long an event waits for a unit that could send its fragment, or is away "
                "(10s); then it is incomplete");
  add_parsed_to(app, "--meet-within", "TIME", parse_duration, builder.meet_within,
                "Without --manager: how long it waits for units that have not come since it was "
                "started, or was away from all of them; the deadline at least (10s)");
  add_parsed_to(app, "--window", "BYTES", parse_window_bytes, builder.window_bytes,
                "How much each unit may have sent of events that are not built (up to 4MiB)");
  add_parsed_to(app, "--turns", "N", parse_units, builder.turns,
                "How many units may send at a time, in turn (all)");
  app.add_option("--out,-o", builder.out,
                 "Write the events into this folder. Without it they are counted and discarded")
      ->type_name("FOLDER");
  app.add_flag("--append", builder.append,
               "Go on behind the events that an earlier run of this builder has written there")
      ->needs("--out");
  app.add_flag("--verify", builder.verify,
               "Check that each fragment is the one of its source and event, its checksum, and "
               "that no event is skipped (generated load)");
  app.add_flag("--complete", builder.complete, "End with 1 if an event was incomplete");
  add_parsed_to(app, "--events", "N", parse_more_than_none, builder.events, "End after N events");
  add_parsed_to(app, "--seconds", "TIME", parse_duration, builder.seconds,
                "End so long after the first unit came");
  app.add_flag("--stay", builder.stay, "Go on when all units, or the manager, have ended");
  add_meeting(app, builder, "unit", true);
  say_who_is_waited_for(app, "unit, or the manager of --manager,");
  add_summary(app, builder.report);
  app.footer(std::string(help::build_builder_footer));
}

void add_build_manager(CLI::App& app, ManagerArguments& manager) {
  manager.peer.binds = true;
  app.add_option("ADDRESS", manager.addresses,
                 "Where units and builders connect: netio://*:5550, tcp://*:5550, shm://name, "
                 "verbs://host:5550 or ofi+PROVIDER://host:5550; the host may be * and the port 0, "
                 "or the name *. Several addresses: at each of them")
      ->type_name("")
      ->check(why_no_address)
      ->required();
  add_plan(app, manager.plan);
  app.get_option("--range")->description(
      "Event numbers in a range (256): the manager gives each range to a builder");
  add_builders(app, manager, "How many builder units there are (1)");
  add_parsed_to(app, "--lease", "TIME", parse_lease, manager.lease,
                "A builder that does not report for two leases loses its ranges (1s)");
  add_parsed_to(app, "--unit-wait", "TIME", parse_lease, manager.wait,
                "A unit that is gone, has not come, or hangs for so long is not waited for (10s)");
  add_parsed_to(app, "--events", "N", parse_more_than_none, manager.events,
                "Stop in front of event N, and end when all events below it are built");
  add_parsed_to(app, "--run", "R", parse_run, manager.run,
                "The number of the run of that event (1)")
      ->needs("--events");
  add_parsed_to(app, "--seconds", "TIME", parse_duration, manager.seconds,
                "Stop so long after the start at what was produced until then");
  app.add_flag("--stay", manager.stay, "Go on when all units have ended");
  add_meeting(app, manager, "unit or builder", true);
  say_who_is_waited_for(app, "unit or builder");
  app.remove_option(app.get_option("--message-max"));
  add_summary(app, manager.report);
  app.footer(std::string(help::build_manager_footer));
}

void settle_build_readout(ReadoutArguments& readout) {
  settle_builders(readout);
  check_plan(readout.source, readout.plan.sources, "--source", "source",
             fmt::format("--sources {}", readout.plan.sources));
  check_each_once(readout.addresses, ": each builder has an address of its own");
  readout.first.number = readout.first_event.value_or(0);
  if (readout.first.number > event_number_max ||
      readout.events.value_or(0) > event_number_max - readout.first.number) {
    refuse("--first-event", "the numbers of a run end at 2^64 - 2");
  }
  if (readout.file.empty() && readout.fragment_bytes > readout.peer.message_bytes_max) {
    throw CLI::ValidationError("--size", fmt::format("{} is larger than --message-max, {}",
                                                     binary_bytes(readout.fragment_bytes),
                                                     binary_bytes(readout.peer.message_bytes_max)));
  }
  if (readout.file.empty() && readout.fragment_bytes + 64 > readout.store_bytes_max) {
    throw CLI::ValidationError(
        "--size", fmt::format("{} does not fit --store, {}", binary_bytes(readout.fragment_bytes),
                              binary_bytes(readout.store_bytes_max)));
  }
}

void settle_build_builder(BuilderArguments& builder) {
  builder.plan.managed = !builder.manager.empty();
  if (!builder.plan.managed) {
    if (builder.addresses.empty()) throw CLI::RequiredError("ADDRESS");
    if (!builder.builders) throw CLI::RequiredError("--builders");
    const char* const why = "is for a builder with an event manager (--manager)";
    if (builder.weight) refuse("--weight", why);
    if (builder.credit) refuse("--credit", why);
  } else if (builder.meet_within) {
    refuse("--meet-within", "is for a builder without an event manager, which waits itself");
  }
  builder.plan.builders = builder.builders.value_or(1);
  if (builder.addresses.empty()) builder.addresses.emplace_back("tcp://*:0");
  builder.peer.address = builder.addresses.front();
  check_each_once(builder.addresses, "");
  check_plan(builder.builder, builder.plan.builders, "--builder", "builder",
             fmt::format("--builders {}", builder.plan.builders));
}

void settle_build_manager(ManagerArguments& manager) {
  manager.plan.managed = true;
  manager.plan.builders = manager.builders.value_or(1);
}

}  // namespace netio::cli
