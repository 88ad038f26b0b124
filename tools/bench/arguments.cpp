#include "bench/arguments.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/common_options.hpp"
#include "bench/delay.hpp"
#include "help.hpp"
#include "parsed_option.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

const std::vector<std::size_t> untouched_loan_bytes = {64, std::size_t{64} << 20U};
// A page of the default size holds messages up to 64 KiB, less its headers.
const std::vector<std::size_t> copies_bytes = {64,
                                               1U << 10U,
                                               std::size_t{16} << 10U,
                                               std::size_t{40} << 10U,
                                               std::size_t{64} << 10U,
                                               300U << 10U,
                                               std::size_t{4} << 20U};
const std::vector<std::size_t> touched_loan_bytes = {std::size_t{64} << 10U};

void add_throughput(CLI::App& app, BenchArguments& bench) {
  add_common(app, bench);
  add_choice_to<bool>(
      app, "--pattern", {{"push", false}, {"request", true}}, bench.requests,
      "push (one way: Push and Pull); or request: Request and Reply, one of each, against "
      "ZeroMQ's DEALER and ROUTER, contexts of nng, and pair, two ends of a Pair (push)");
  add_parsed(
      app, "--concurrent", "N", parse_count,
      [&bench](std::uint64_t count) {
        if (count < 1 || count > 100'000) {
          throw CLI::ValidationError("--concurrent", "is 1 to 100000");
        }
        bench.concurrent = static_cast<std::uint32_t>(count);
      },
      "With --pattern request: requests that are under way at once (1000)");
  add_mode(app, bench);
  add_comparison(app, bench);
  add_sizes(app, bench);
  add_plot(app, bench);
  add_window(app, bench);
}

void add_latency(CLI::App& app, BenchArguments& bench) {
  add_common(app, bench);
  add_choice_to<bool>(
      app, "--pattern", {{"pair", false}, {"request", true}}, bench.requests,
      "pair (two ends of a Pair); or request: Request and Reply, against the same peers and "
      "against pair (pair)");
  add_mode(app, bench);
  add_comparison(app, bench);
  add_sizes(app, bench);
  add_plot(app, bench);
  add_window(app, bench);
  add_rate(app, bench, "requests a second",
           "Open loop: so many requests a second, each timed from when it was to leave. Without it "
           "the next leaves when the last has returned");
  app.add_option("--percentiles", bench.percentiles,
                 "Write NAME.hgrm for each system into this folder, for HdrHistogram's plotters")
      ->type_name("FOLDER");
}

void add_loan(CLI::App& app, BenchArguments& bench) {
  app.preparse_callback([&bench](std::size_t) {
    bench.address = "shm://*";
    bench.message_bytes.clear();
  });
  add_common(app, bench);
  app.get_option("ADDRESS")->description(
      "Where the ends meet (shm://*); or inproc://NAME, two threads; or any other, where there is "
      "no memory to lend and the payload travels");
  add_comparison(app, bench);
  add_sizes(app, bench, "(untouched: 64,64MiB; touched: 64KiB)");
  add_choice_to<bool>(
      app, "--touch", {{"none", false}, {"all", true}}, bench.touched,
      "none: neither end touches the loan, and round trips of one at a time are timed; all: the "
      "sender copies its data into it, the receiver reads every line, one way and as fast as it "
      "goes, against peers (none)");
  CLI::Option* const wait = app.get_option("--wait");
  wait->description(
      "When idle: sleep, spin (lowest latency, one core), adaptive (untouched: spin, as waking up "
      "would hide the rest; touched: sleep)");
  app.parse_complete_callback([&bench, wait] {
    if (bench.message_bytes.empty()) {
      bench.message_bytes = bench.touched ? touched_loan_bytes : untouched_loan_bytes;
    }
    if (wait->count() == 0 && !bench.touched) bench.wait = IdlePolicy::spin;
  });
}

void add_connections(CLI::App& app, BenchArguments& bench) {
  add_common(app, bench);
  add_mode(app, bench);
  add_comparison(app, bench);
  add_parsed(
      app, "--count", "N", parse_count,
      [&bench](std::uint64_t count) {
        if (count < 2 || count > 100'000) {
          throw CLI::ValidationError("--count", "is 2 to 100000");
        }
        bench.connections = static_cast<std::uint32_t>(count);
      },
      "Sending connections into one receiver (1000)");
}

void add_audience(CLI::App& app, FanoutArguments& fanout) {
  add_number(
      app, "--subscribers", 1, 10'000, [&fanout](std::uint32_t n) { fanout.subscribers = n; },
      "Subscribers (1); up to 16 have a process each, more share four");
  add_number(
      app, "--tags", 1, 10'000'000, [&fanout](std::uint32_t n) { fanout.tags = n; },
      "Tags that are published, a message each in turn (1000); no two are neighbours");
  add_number(
      app, "--recipients", 0, 10'000, [&fanout](std::uint32_t n) { fanout.recipients = n; },
      "Subscribers that want these tags (all); each other one wants as many of its own");
  app.add_flag_callback(
      "--unsubscribed", [&fanout] { fanout.recipients = 0; },
      "Nobody wants what is published; the same as --recipients 0");
  add_number(
      app, "--stop", 0, 10'000, [&fanout](std::uint32_t n) { fanout.stopped = n; },
      "Subscribers that are stopped (SIGSTOP) while the others are measured");
  add_choice(
      app, "--policy", policies(), [&fanout](Policy policy) { fanout.policy = to_string(policy); },
      "What subscribers ask for in case they are slow: block (default), drop_new, drop_old, "
      "sample, disconnect");
  app.add_flag("--resolved", fanout.resolved, "Each tag is looked up once, before");
  add_choice_to<bool>(app, "--order", {{"turn", false}, {"random", true}}, fanout.shuffled,
                      "Of the tags: turn (ascending), random (drawn once)");
}

void add_fanout(CLI::App& app, BenchArguments& bench) {
  add_common(app, bench);
  add_mode(app, bench);
  add_comparison(
      app, bench,
      "push (a Push to one Pull), TAGSxSUBSCRIBERS such as 10x1 (the same publisher with "
      "so many tags, each wanted by so many subscribers, none of them stopped), zmq, "
      "nng; or none");
  add_sizes(app, bench);
  add_audience(app, bench.fanout);
  add_rate(app, bench, "messages a second",
           "So many messages a second, in small bursts. Without it as fast as it goes");
}

void add_surface(CLI::App& app, BenchArguments& bench) {
  add_common(app, bench);
  add_choice_to<std::string>(
      app, "--api",
      {{"c", "c"},
       {"coroutine", "coroutine"},
       {"asio", "asio"},
       {"blocking", "blocking"},
       {"queued", "queued"},
       {"resume", "resume"},
       {"segments", "segments"},
       {"gathered", "gathered"},
       {"python", "python"}},
      bench.api,
      "c; coroutine; asio (the loop inside Asio's); blocking (the thread turns the loop while it "
      "waits); queued (a loop and a queue beside it; one way only); resume (call-backs again, and "
      "both ends keep 8 MiB of what is not acknowledged); segments (call-backs again, and each "
      "message is sent as its first 64 bytes and the rest; one way only, and its CPU against "
      "gathered); gathered (these two are copied together first); python (arrays of messages whose "
      "words are summed, each message by itself, and requests, in the python3 of the path, also "
      "against pyzmq if it has that) (coroutine)");
  add_choice_to(
      app, "--mode", modes(), bench.mode,
      "One way, but of c, coroutine, blocking and queued: buffered or unbuffered (buffered)");
  app.add_option("--rounds", bench.rounds, "Rounds; in each, both have their turns (5)")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  add_sizes(app, bench);
}

void add_copies(CLI::App& app, BenchArguments& bench) {
  app.preparse_callback([&bench](std::size_t) { bench.message_bytes = copies_bytes; });
  add_sizes(app, bench, "(64,1KiB,16KiB,40KiB,64KiB,300KiB,4MiB)");
  add_choice_to(app, "--mode", modes(), bench.mode,
                "Of all sockets: buffered or unbuffered (both, one after the other)");
  app.add_flag("--markdown", bench.markdown, "Print the table of docs/any-wire.md");
  add_result(app, bench.report);
}

void add_relay_bench(CLI::App& app, BenchArguments& bench) {
  add_common(app, bench);
  app.get_option("ADDRESS")->description(
      "Where the sender meets the relay (tcp://127.0.0.1:0); all three processes are here");
  app.remove_option(app.get_option("--remote"));
  app.add_option("--to", bench.to,
                 "Where the relay meets the receiver, such as ofi+tcp://127.0.0.1:0 (as ADDRESS)")
      ->type_name("ADDRESS");
  add_mode(app, bench);
  app.get_option("--mode")->description("buffered or unbuffered (buffered)");
  add_comparison(
      app, bench,
      "raw (read and write of 256 KiB at once); zmq (zmq_proxy, PULL to PUSH, more messages "
      "waiting "
      "than by default), zmq-defaults, zmq-2-threads (of I/O in each process); released (netio, "
      "and "
      "the relay acknowledges what the receiver has); own (netio, and the relay sends memory of "
      "its "
      "own for each message); direct (netio, without a relay, over the second wire); or none. raw "
      "and zmq run where both wires are tcp");
  add_sizes(app, bench);
}

void add_build(CLI::App& app, BenchArguments& bench) {
  app.preparse_callback([&bench](std::size_t) { bench.message_bytes = {std::size_t{10} << 10U}; });
  add_common(app, bench);
  app.remove_option(app.get_option("--remote"));
  add_wire(app, bench);
  app.add_option("--rounds", bench.rounds, "Rounds; in each, both have their turns (5)")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  app.add_flag_callback(
      "--no-check", [&bench] { bench.check = false; },
      "Leave out the round in which every byte is checked");
  add_sizes(app, bench, "(10KiB); a fragment has 16 bytes at least");
  BenchBuildArguments& build = bench.build;
  add_number(
      app, "--readouts", 1, 64, [&build](std::uint32_t n) { build.readouts = n; },
      "Read-out units, a process each (4)");
  add_number(
      app, "--builders", 1, 64, [&build](std::uint32_t n) { build.builders = n; },
      "Builder units, a process each (2)");
  add_number(
      app, "--range", 1, 1'000'000'000, [&build](std::uint32_t n) { build.range_events = n; },
      "Events that go to one builder before the next has its turn (256)");
  add_bytes(app, "--store", build.store_bytes, "Of each read-out unit (64MiB)");
  add_bytes(
      app, "--unit-window", build.window_bytes,
      "What a builder may have of one unit in open events (by its receive pool, 4MiB at most)");
  app.add_flag("--managed", build.managed,
               "Measure event building with an event manager, too, which is a process more");
  add_number(
      app, "--credit", 1, 1'000, [&build](std::uint32_t n) { build.credit = n; },
      "How many ranges the manager gives a builder at a time (8)");
  app.get_option("--credit")->needs("--managed");
  app.add_flag("--namespaces", build.namespaces,
               "Give each process a network namespace of its own, joined by a bridge (tcp)");
  add_rate(app, bench, "events a second",
           "So many events a second, in small bursts. Without it as fast as it goes");
  add_csv(app, bench, "Write each turn of each round into FILE, a line each");
}

void add_mesh(CLI::App& app, BenchArguments& bench) {
  app.preparse_callback([&bench](std::size_t) {
    bench.message_bytes = {std::size_t{64} << 10U};
    bench.against = std::vector<std::string>();
  });
  add_common(app, bench);
  app.get_option("ADDRESS")->description(
      "Where each node listens (tcp://127.0.0.1:0), on a fabric verbs://HOST:0 or "
      "ofi+PROVIDER://HOST:0, in shared memory shm://NAME; all nodes are processes here");
  app.remove_option(app.get_option("--remote"));
  add_wire(app, bench, "--wire,--scheme");
  add_mode(app, bench);
  app.get_option("--mode")->description("buffered or unbuffered (unbuffered)");
  add_comparison(app, bench,
                 "raw (as many bare TCP connections between as many processes, on tcp); or none "
                 "(none)");
  add_sizes(app, bench, "(64KiB)");
  MeshArguments& mesh = bench.mesh;
  add_parsed(
      app, "--nodes", "N", parse_count, [&mesh](std::uint64_t n) { mesh.nodes = n; },
      "Nodes, a process each, 2 to 250 (4)");
  app.add_flag("--both-ways", mesh.both_ways,
               "Each pair sends both ways at once; without it all pairs send one way, and then all "
               "send the other way");
  app.add_flag("--namespaces", mesh.namespaces,
               "Give each node a network namespace of its own, joined by a bridge (tcp, ofi+tcp)");
  add_number(
      app, "--streams", 1, 64, [&mesh](std::uint32_t n) { mesh.streams = n; },
      "Connections of each node to each other one (1)");
  add_number(
      app, "--intervals", 2, 10'000, [&mesh](std::uint32_t n) { mesh.intervals = n; },
      "Cut the time into so many, and see how the rate of each pair varies between them (20)");
  add_csv(app, bench,
          "Write each pair of each turn of each round into FILE, a line each, with its intervals");
  add_plot(app, bench);
  app.get_option("--plot")->description(
      "Draw heat maps into FILE: the rate of each pair, and each pair over time (.svg or .png; "
      "needs gnuplot)");
}

constexpr double paced_rate_default = 1000;

void add_breakdown(CLI::App& app, BenchArguments& bench) {
  add_common(app, bench);
  app.remove_option(app.get_option("--remote"));
  app.get_option("ADDRESS")->description(
      "Where the ends meet (tcp://127.0.0.1:0), both on this machine; on a fabric verbs:// or "
      "ofi+PROVIDER://, in shared memory shm://NAME, two threads inproc://NAME");
  app.get_option("--seconds")->description("How long messages are sent for each size (2s)");
  add_choice_to<bool>(app, "--pattern", {{"pair", true}, {"push", false}}, bench.answered,
                      "pair (round trips of two ends of a Pair, the next when the last has "
                      "returned); or push (one way, Push to Pull, at --rate) (pair)");
  add_mode(app, bench);
  app.get_option("--mode")->description("buffered or unbuffered (unbuffered)");
  add_sizes(app, bench);
  add_rate(app, bench, "messages a second", "One way: so many messages a second (1000)");
  add_parsed(
      app, "--delay", "PART=TIME", parse_delay,
      [&bench](std::string delay) { bench.delay = std::move(delay); },
      fmt::format("Make this part of the way there take so much longer, such as call-back=200us, "
                  "to see that it is found: {}",
                  delayed_parts()));
  add_plot(app, bench);
  add_csv(app, bench, "Write each part into FILE, a line each");
  app.parse_complete_callback([&bench] {
    if (bench.answered && bench.rate > 0) {
      throw CLI::ValidationError("--rate", "is of --pattern push: round trips follow each other");
    }
    if (!bench.answered && bench.rate == 0) bench.rate = paced_rate_default;
  });
}

}  // namespace

void add_bench(CLI::App& app, BenchArguments& bench) {
  app.require_subcommand(1);
  const auto add = [&](const char* name, const char* description, What what,
                       void (*fill)(CLI::App&, BenchArguments&)) {
    CLI::App& command = *app.add_subcommand(name, description);
    fill(command, bench);
    command.callback([&bench, what] { bench.what = what; });
    command.footer(std::string(help::bench_exit_codes));
    return &command;
  };
  add("throughput", "Messages a second one way, or answers a second, netio and its peers",
      What::throughput, add_throughput);
  add("latency", "Round trips, netio and its peers", What::latency, add_latency);
  add("loan", "Messages written in the wire's own memory: untouched, or against peers", What::loan,
      add_loan);
  add("connections", "Many sending connections into one receiver", What::connections,
      add_connections);
  add("fanout", "One publisher and its subscribers", What::fanout, add_fanout);
  add("surface", "Coroutines and other surfaces, against netio's call-backs", What::surface,
      add_surface);
  add("copies", "What a stage between each two wires copies of the messages that it passes on",
      What::copies, add_copies);
  add("relay", "A sender, a relay and a receiver", What::relay, add_relay_bench);
  add("build", "Read-out units and builder units, against plain streams between as many processes",
      What::build, add_build);
  add("mesh", "Every node to every other one: the rate of each pair, and how steady it is",
      What::mesh, add_mesh);
  add("scan", "A curve: what netio reaches against sizes of messages, pages and rings, and streams",
      What::scan, add_scan);
  add("breakdown", "Where the time of a message goes, on its way and back", What::breakdown,
      add_breakdown);
  add("idle", "What a connected pair uses when nothing is sent", What::idle, add_common);
  CLI::App& serve = *app.add_subcommand(
      "serve", "Run the other end for `netio bench ... --remote` (on a network that is trusted)");
  serve.add_option("ADDRESS", bench.address, "Where to listen, such as 'tcp://*:5600'")
      ->required()
      ->type_name("");
  add_quiet(serve, bench.report);  // It ends with Ctrl-C, and has nothing to report.
  serve.callback([&bench] { bench.what = What::serve; });
  serve.footer(std::string(help::bench_exit_codes));
  app.footer(std::string(help::bench_footer) + std::string(help::bench_exit_codes));
}

}  // namespace netio::cli
