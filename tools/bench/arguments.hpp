// What can be asked of `netio bench`.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <netio/loop.hpp>
#include <netio/options.hpp>

#include "report_arguments.hpp"

namespace CLI {
class App;
}

namespace netio::cli {

// Of one publisher and those who listen to it.
struct FanoutArguments {
  std::uint32_t subscribers = 1;
  std::uint32_t tags = 1000;                // published; as many does each subscriber want
  std::optional<std::uint32_t> recipients;  // subscribers that want what is published; none: all
  std::uint32_t stopped = 0;                // subscribers whose process stands still meanwhile
  std::string policy = "block";
  bool resolved = false;
  bool shuffled = false;
};

// Of read-out units and builder units.
struct BenchBuildArguments {
  std::uint32_t readouts = 4;
  std::uint32_t builders = 2;
  std::uint64_t range_events = 256;
  std::uint64_t store_bytes = 0;   // of each read-out unit; 0: its default
  std::uint64_t window_bytes = 0;  // at a builder unit, of each read-out unit; 0: its default
  bool managed = false;            // with an event manager, too
  std::uint32_t credit = 0;        // of a builder, in ranges; 0: its default
  bool namespaces = false;         // each process has a network of its own
};

// Of nodes that send to each other.
struct MeshArguments {
  std::uint64_t nodes = 4;
  std::uint64_t streams = 1;     // connections of each node to each other one
  std::uint64_t intervals = 20;  // that the time is cut into
  bool both_ways = false;        // of each pair, at the same time
  bool namespaces = false;       // each node has a network of its own
};

// What a curve is measured against.
enum class ScanParameter : std::uint8_t { slot_bytes, slots, page_bytes, size, window, streams };

struct ScanArguments {
  ScanParameter parameter = ScanParameter::size;
  std::optional<std::string> values_text;  // none: as the parameter has them
  std::vector<std::uint64_t> values;       // each once, in the order in which they are measured
  // What is not scanned; 0: as netio has it.
  std::uint64_t page_bytes = 0;
  std::uint64_t slot_bytes = 0;
  std::uint64_t slots = 0;
  bool fills_slots = false;  // messages are as large as a slot
  std::uint32_t streams = 1;
  bool both_ways = false;
  bool round_trips = false;
};

struct BenchArguments {
  enum class What : std::uint8_t {
    throughput,
    latency,
    loan,
    connections,
    fanout,
    surface,
    copies,
    relay,
    build,
    mesh,
    scan,
    idle,
    breakdown,
    serve
  };

  What what = What::throughput;
  ReportArguments report;
  std::string address = "tcp://127.0.0.1:0";
  std::vector<std::size_t> message_bytes = {64};
  std::optional<Mode> mode;  // none: buffered for throughput, unbuffered for round trips
  IdlePolicy wait = IdlePolicy::sleep;
  std::chrono::nanoseconds seconds = std::chrono::seconds(2);
  unsigned rounds = 5;
  std::optional<std::vector<std::string>> against;  // none: every peer that fits and is here
  bool requests = false;  // by Request and Reply, instead of one way or by a Pair
  // Requests under way; none: 1000. Throughput of requests only.
  std::optional<std::uint32_t> concurrent;
  double rate = 0;  // requests, messages published, or events a second; 0: as fast as it goes
  std::uint32_t window = 0;  // messages under way on a fabric; 0: as each system chooses
  std::uint32_t connections = 1000;
  FanoutArguments fanout;
  BenchBuildArguments build;
  MeshArguments mesh;
  ScanArguments scan;
  std::string api = "coroutine";  // a surface, held against call-backs
  std::string to;      // of a relay, where it meets the receiver; empty: as it meets the sender
  std::string remote;  // where `netio bench serve` runs; empty: this machine
  std::string plot;    // a file, .svg or .png; empty: none
  std::string csv;     // a file; empty: none
  std::string delay;   // breakdown: PART=NS, to see that it is found; empty: none
  std::string percentiles;  // a folder for one percentile text a system; empty: none
  bool touched = false;     // loans: written and read
  bool markdown = false;    // copies: print the table of docs/any-wire.md
  bool answered = true;     // breakdown: round trips by a Pair; else one way, Push to Pull
  bool check = true;        // an extra round in which every byte is checked
};
using What = BenchArguments::What;

// Adds `bench` and what it measures to the command line.
void add_bench(CLI::App& app, BenchArguments& bench);

}  // namespace netio::cli
