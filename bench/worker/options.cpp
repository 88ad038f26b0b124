#include "worker/options.hpp"

#include <cstdlib>
#include <map>

#include <CLI/CLI.hpp>

namespace netio::bench {

namespace {

void add_role(CLI::App& app, Role& role) {
  const std::map<std::string, Role> roles = {
      {"receive", Role::receive}, {"send", Role::send},       {"reply", Role::reply},
      {"request", Role::request}, {"publish", Role::publish}, {"subscribe", Role::subscribe},
      {"relay", Role::relay},     {"build", Role::build},     {"readout", Role::readout},
      {"manage", Role::manage},   {"node", Role::node}};
  app.add_option(
         "ROLE", role,
         "receive, send, reply, request, publish, subscribe, relay, build, readout, manage or node")
      ->required()
      ->transform(CLI::CheckedTransformer(roles));
}

void add_fanout(CLI::App& app, FanoutOptions& fanout) {
  app.add_option("--tags", fanout.tags, "Tags in a set")->check(CLI::Range(1, 1 << 28));
  app.add_option("--set", fanout.set,
                 "Of subscribe: 0, the tags that are published, for each connection; another: of "
                 "the first connection, the next has the next");
  app.add_option("--policy", fanout.policy, "What a publisher does for a subscriber that is slow")
      ->check(CLI::IsMember({"block", "drop_new", "drop_old", "sample", "disconnect"}));
  app.add_flag("--resolved", fanout.resolved, "Of publish: look each tag up once, before");
  app.add_flag("--shuffled", fanout.shuffled, "Of publish: the tags in a random order");
  app.add_flag("--push", fanout.push, "Of publish and subscribe: a Push and a Pull, without tags");
}

void add_relay(CLI::App& app, RelayOptions& relay) {
  app.add_option("--to-host", relay.host, "Of relay: where the receiver is, as a number");
  app.add_option("--to-port", relay.port, "Of relay: the receiver's port");
  app.add_option("--to-provider", relay.provider, "Of relay: the receiver's provider");
  app.add_option("--to-name", relay.name, "Of relay: the receiver's name in shared memory");
  app.add_option("--io-threads", relay.io_threads, "Of zmq; 0: its default")
      ->check(CLI::Range(0, 64));
  app.add_option("--waiting-max", relay.waiting_max,
                 "Of zmq: messages that wait in each queue; 0: its default")
      ->check(CLI::Range(0, 1 << 20));
}

void add_build(CLI::App& app, BuildOptions& build) {
  const CLI::Range ends(1, 1 << 10);
  app.add_option("--readouts", build.readouts, "Of build and readout: read-out ends")->check(ends);
  app.add_option("--builders", build.builders, "Of build and readout: build ends")->check(ends);
  app.add_option("--number", build.number, "Of build and readout: of this end among its kind");
  app.add_option("--range", build.range_events, "Of build and readout: events in a range")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40U));
  app.add_option("--store", build.store_bytes, "Of readout: the bytes that the unit holds");
  app.add_option("--unit-window", build.window_bytes,
                 "Of build: the bytes of each read-out end that may be here");
  app.add_flag("--plain", build.plain, "Of build and readout: by Push and Pull");
  app.add_flag("--managed", build.managed, "Of build and readout: a manage end gives the ranges")
      ->excludes("--plain");
  app.add_option("--credit", build.credit, "Of build: the ranges that a manage end gives it");
  app.add_option("--manager-port", build.manager_port,
                 "Of build and readout: the port of the manage end");
  app.add_option("--ports", build.ports, "Of readout: the ports of the build ends")->delimiter(',');
  app.add_option("--hosts", build.hosts, "Of readout: the hosts of the build ends")->delimiter(',');
  app.add_option("--manager-host", build.manager_host,
                 "Of build and readout: the host of the manage end");
}

void add_mesh(CLI::App& app, MeshOptions& mesh) {
  app.add_option("--nodes", mesh.nodes, "Of node: nodes of the mesh")
      ->check(CLI::Range(2, 1 << 10));
  app.add_option("--node", mesh.number, "Of node: its number");
  app.add_option("--streams", mesh.streams, "Of node: connections to each node that it sends to")
      ->check(CLI::Range(1, 1 << 10));
  app.add_option("--targets", mesh.targets, "Of node: the numbers of the nodes that it sends to")
      ->delimiter(',');
  app.add_option("--node-hosts", mesh.hosts, "Of node: the hosts of all nodes")->delimiter(',');
}

void add_contents(CLI::App& app, Options& options) {
  app.add_flag("--verify", options.verify, "Fill and check every byte");
  app.add_flag("--sum", options.sum, "Of receive: read each word of 8 bytes, and sum them");
  app.add_flag(
      "--loan", options.loan,
      "Loans: of send, data is copied into them; of request and reply, nobody touches them");
}

void add_memory(CLI::App& app, Options& options) {
  app.add_option("--page-bytes", options.page_bytes, "Of a page; 0: as the system chooses");
  app.add_option("--slot-bytes", options.slot_bytes,
                 "Of a slot of a ring on a fabric; 0: its default");
  app.add_option("--slots", options.slots, "Of a ring on a fabric; 0: its default");
}

}  // namespace

Options parse_options(int argc, char** argv, const char* system) {
  Options options;
  CLI::App app(std::string("One end of a measurement with ") + system +
               ", started by `netio bench`. It obeys lines on standard input (bench/worker/).");
  const std::map<std::string, Wait> waits = {
      {"sleep", Wait::sleep}, {"spin", Wait::spin}, {"adaptive", Wait::adaptive}};
  const std::map<std::string, bool> modes = {{"buffered", true}, {"unbuffered", false}};
  add_role(app, options.role);
  app.add_option("--host", options.host, "To bind or to connect to, as a number")
      ->capture_default_str();
  app.add_option("--port", options.port, "0: any free one, to bind");
  app.add_option("--size", options.message_bytes, "Bytes of a message, at least 8")
      ->check(CLI::Range(std::size_t{8}, std::size_t{1} << 30U));
  app.add_option("--mode", options.buffered, "buffered or unbuffered")
      ->transform(CLI::CheckedTransformer(modes));
  app.add_option("--wait", options.wait, "sleep, spin or adaptive")
      ->transform(CLI::CheckedTransformer(waits));
  app.add_option("--own-network", options.own_network,
                 "Be in a network namespace of its own, with this address");
  app.add_option("--cpu", options.cpu, "The core to run on; -1: any");
  app.add_option("--keep-off-cpu", options.keep_off_cpu, "A core not to run on; -1: none");
  app.add_option("--connections", options.connections, "How many")->check(CLI::Range(1, 1 << 20));
  app.add_option("--connection-first", options.connection_first, "The number of the first");
  app.add_option("--rate", options.rate,
                 "Requests, messages published, or events a second; 0: as fast as it goes");
  app.add_option("--concurrent", options.concurrent,
                 "Of request and reply: so many requests under way at once, which are counted; 0: "
                 "one, which is timed")
      ->check(CLI::Range(0, 100'000));
  app.add_flag("--requests", options.requests,
               "Of request and reply: netio's Request and Reply, instead of two ends of a Pair");
  app.add_option("--provider", options.provider,
                 "The provider of libfabric to run on, such as tcp or verbs; none: sockets");
  app.add_option("--name", options.name, "To meet at in shared memory; none: at host and port");
  app.add_flag("--both", options.both,
               "Of send or request: run the end that binds too, as a thread of this process");
  app.add_option("--binder-cpu", options.binder_cpu, "The core that thread runs on; -1: any");
  app.add_option("--window", options.window,
                 "Messages under way on a fabric; 0: as the system chooses")
      ->check(CLI::Range(0, 1 << 15));
  add_memory(app, options);
  app.add_flag("--both-ways", options.both_ways,
               "Of send and receive: both ends send, and both receive");
  add_contents(app, options);
  app.add_option("--api", options.api, "A surface of netio's other than call-backs");
  app.add_option("--delay", options.delay, "PART=NS: with points, this part takes longer");
  app.add_flag("--idle", options.idle, "Connect, and send nothing");
  add_fanout(app, options.fanout);
  add_relay(app, options.relay);
  add_build(app, options.build);
  add_mesh(app, options.mesh);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
  return options;
}

}  // namespace netio::bench
