// What a worker is told on its command line. Every system takes the same options and refuses
// those that it cannot honour.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace netio::bench {

enum class Role : std::uint8_t {
  receive,    // binds; counts and checks what comes
  send,       // connects; sends as fast as it can
  reply,      // binds; sends each message back
  request,    // connects; times round trips
  publish,    // binds; publishes as fast as it is let, or at a rate, once it is told to begin
  subscribe,  // connects; counts and checks what comes
  relay,      // binds, and connects to a receiver; passes on to it what comes
  build,      // binds; takes the fragments of every read-out end for its ranges of events
  readout,    // connects to every build end; sends a fragment of each event once it is told to
  manage,     // binds; gives ranges of events to build ends
  node,       // of a mesh: binds, and connects to other nodes; counts what comes, and sends to them
};

enum class Wait : std::uint8_t { sleep, spin, adaptive };

// What publishers and subscribers are told beyond the rest.
struct FanoutOptions {
  std::uint32_t tags = 1000;     // in a set (worker/tags.hpp)
  std::uint32_t set = 0;         // of the first subscriber here; 0: what is published
  std::string policy = "block";  // what is asked of the publisher for subscribers that are slow
  bool resolved = false;         // publishing: each tag is looked up once, before
  bool shuffled = false;         // publishing: the tags in a random order
  bool push = false;             // not by tags: a Push publishes, and a Pull takes it
};

// Where a relay passes messages on to. The places mean what they mean in Options.
struct RelayOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
  std::string provider;
  std::string name;
  // Of ZeroMQ, in each of the three processes; 0: its defaults.
  int io_threads = 0;
  int waiting_max = 0;  // messages in each queue (its high-water mark)
};

// Of event building: of build, readout and manage ends.
struct BuildOptions {
  std::uint32_t readouts = 1;        // read-out ends
  std::uint32_t builders = 1;        // build ends
  std::uint32_t number = 0;          // of this end among its kind
  std::uint64_t range_events = 256;  // event numbers in a range, which goes to one build end
  std::uint64_t store_bytes = 0;     // readout: what the unit holds; 0: its default
  std::uint64_t window_bytes = 0;    // build: of each read-out end; 0: the default
  bool plain = false;                // by a Push to a Pull for each pair of ends
  bool managed = false;              // build, readout: ranges are given by a manage end
  std::uint32_t credit = 0;          // build: ranges at a time, if they are given; 0: the default
  std::uint16_t manager_port = 0;    // build, readout: of the manage end, if it has no name
  std::vector<std::uint16_t> ports;  // readout: of the build ends; none if they have names
  std::vector<std::string> hosts;    // readout: of the build ends, if each has one of its own
  std::string manager_host;          // build, readout: of the manage end, if it has one of its own
};

// Of a mesh, in which each node may send to each other one.
struct MeshOptions {
  std::uint32_t nodes = 2;
  std::uint32_t number = 0;            // of this node
  std::uint32_t streams = 1;           // connections to each node that it sends to
  std::vector<std::uint32_t> targets;  // the numbers of these nodes
  std::vector<std::string> hosts;      // of all nodes, if each has one of its own
};

struct Options {
  Role role = Role::receive;
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free one, which the worker then says
  std::size_t message_bytes = 64;
  bool buffered = true;
  Wait wait = Wait::sleep;
  int cpu = -1;                   // -1: all that the process may use
  int keep_off_cpu = -1;          // but for this one; -1: none
  std::string own_network;        // an address: in a network namespace of its own; empty: none
  std::uint32_t connections = 1;  // sending, subscribing: of its own; receiving: that will come
  std::uint32_t connection_first = 0;  // sending: the number of the first of them
  // Request and reply: how many are under way at once; 0: one, and each is timed.
  std::uint32_t concurrent = 0;
  bool requests = false;  // the same, of a system that has a pattern for them beside its usual one
  double rate = 0;        // requests, or what is published, a second; 0: as fast as it goes
  bool verify = false;    // fill and check every byte, not the number alone
  bool sum = false;       // receiving: the sum of each message's words is taken
  bool loan = false;      // sending: written into the wire's memory; round trips: untouched there
  bool idle = false;      // connect, and send nothing
  std::string provider;   // of libfabric, such as tcp or verbs; empty: sockets
  std::string name;       // to meet at in shared memory; empty: sockets or a fabric
  bool both = false;      // with a name: the end that binds is a thread of this process too
  int binder_cpu = -1;    // what that thread runs on; -1: any
  std::uint32_t window = 0;      // messages under way on a fabric; 0: the system's own choice
  bool both_ways = false;        // one way in each direction: both ends send and receive
  std::size_t page_bytes = 0;    // of the context; 0: the system's own choice
  std::uint64_t slot_bytes = 0;  // of a ring on a fabric; 0: its default, or no ring
  std::uint32_t slots = 0;       // the same: how many the ring has
  // The surface of the system that is used, such as coroutine; empty: the usual one.
  std::string api;
  FanoutOptions fanout;
  RelayOptions relay;
  BuildOptions build;
  MeshOptions mesh;
  std::string delay;  // PART=NS: where points are, this part takes so much longer; empty: none

  [[nodiscard]] bool has_ring() const noexcept { return slots != 0 || slot_bytes != 0; }
};

// Ends the process on a wrong option.
[[nodiscard]] Options parse_options(int argc, char** argv, const char* system);

}  // namespace netio::bench
