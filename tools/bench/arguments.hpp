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
    idle,
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
  std::string api = "coroutine";  // a surface, held against call-backs
  std::string to;      // of a relay, where it meets the receiver; empty: as it meets the sender
  std::string remote;  // where `netio bench serve` runs; empty: this machine
  std::string plot;    // a file, .svg or .png; empty: none
  std::string csv;     // a file; empty: none
  std::string percentiles;  // a folder for one percentile text a system; empty: none
  bool touched = false;     // loans: written and read
  bool markdown = false;    // copies: print the table of docs/any-wire.md
  bool check = true;        // an extra round in which every byte is checked
};
using What = BenchArguments::What;

// Adds `bench` and what it measures to the command line.
void add_bench(CLI::App& app, BenchArguments& bench);

}  // namespace netio::cli
