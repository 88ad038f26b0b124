// What can be asked of each command, and how the command line says it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <netio/channels.hpp>
#include <netio/event_building.hpp>
#include <netio/event_manager.hpp>
#include <netio/loop.hpp>
#include <netio/options.hpp>
#include <netio/readout_unit.hpp>
#include <netio/subscription.hpp>

#include "bench/arguments.hpp"
#include "framing.hpp"
#include "load.hpp"
#include "report_arguments.hpp"
#include "units.hpp"

namespace netio::cli {

struct PeerArguments {
  std::string address;
  bool binds = false;
  std::string name;
  // Without it: `usual_timeout` for who connects, for ever for who binds.
  std::optional<std::chrono::nanoseconds> connect_timeout;
  std::chrono::seconds usual_timeout{10};
  IdlePolicy wait = IdlePolicy::sleep;
  std::size_t message_bytes_max = SocketOptions{}.message_bytes_max;
  std::size_t resume_bytes_max = SocketOptions{}.resume_bytes_max;
  std::chrono::nanoseconds resume_within = SocketOptions{}.resume_within;
  std::chrono::nanoseconds heartbeat_after = SocketOptions{}.heartbeat_after;
  // In place of the address, which is one of its endpoints then. What is said above counts.
  std::optional<ChannelConfig> channel;
};

struct SendArguments {
  PeerArguments peer;
  ReportArguments report;
  Mode mode = Mode::buffered;
  std::size_t head_bytes = 0;  // 0: messages are not cut into segments
  bool to_all = false;         // each message to every receiver; send only
  std::uint64_t wait_for = 1;  // receivers, or subscribers, before the first message
  std::string input = "-";
  FrameSpec frame;
  std::optional<LoadSpec> load;  // instead of the input
  std::optional<std::chrono::nanoseconds> seconds;
  std::optional<Rate> rate;
  std::optional<std::chrono::nanoseconds> linger;
};

struct PubArguments : SendArguments {
  TagRange tags{0, 0};  // in turn
  bool no_block = false;
  std::uint64_t subscribers_min = 0;
  std::uint64_t subscribers_any_min = 0;
  std::optional<std::chrono::nanoseconds> block_for_max;
};

struct RecvArguments {
  PeerArguments peer;
  ReportArguments report;
  std::string out;  // empty: count and discard
  bool keep = false;
  std::uint64_t senders_min = 1;
  std::optional<std::uint64_t> count;
  std::optional<std::chrono::nanoseconds> seconds;
  bool verify = false;
  bool shared = false;
};

struct SubArguments : RecvArguments {
  std::vector<TagRange> tags;  // without any: all
  SubscribeOptions subscription;
  Mode mode = Mode::buffered;
};

// Of echo, and of both.
struct PairArguments {
  PeerArguments peer;
  ReportArguments report;
  std::optional<std::uint64_t> count;
  std::optional<std::chrono::nanoseconds> seconds;
};

struct PingArguments : PairArguments {
  std::size_t message_bytes = 64;
  std::chrono::nanoseconds interval = std::chrono::seconds(1);  // 0: no pause
  std::chrono::nanoseconds timeout = std::chrono::seconds(5);   // of an answer
};

// Of request and reply.
struct CallArguments {
  PeerArguments peer;
  ReportArguments report;
  Mode mode = Mode::buffered;
  std::optional<std::uint64_t> count;
  std::optional<std::chrono::nanoseconds> seconds;
};

struct RequestArguments : CallArguments {
  std::string input = "-";
  std::optional<std::string> text;  // instead of the input
  std::chrono::nanoseconds within = std::chrono::seconds(10);
  std::uint64_t concurrent = 1;
  bool idempotent = false;
  bool verify = false;
  std::string out;  // where answers are written; empty: nowhere
};

struct ReplyArguments : CallArguments {
  std::optional<std::string> text;  // else the answer is the request
};

struct RelayEnd {
  std::string address;
  std::vector<std::string> more;
  bool binds = false;
  std::string channel_text;
  std::optional<ChannelConfig> channel;  // in place of the others
};

// Much is under way between two wires: less would make both wait for acknowledgements.
inline constexpr std::size_t relay_resume_bytes_default = std::size_t{8} << 20U;

struct RelayArguments {
  enum class Pattern : std::uint8_t { push, publish, pair, request };

  Pattern pattern = Pattern::push;
  RelayEnd from{{}, {}, true, {}, {}};
  RelayEnd to;
  PeerArguments peer;  // of both ends, but for the address
  ReportArguments report;
  Mode mode = Mode::buffered;
  Distribute distribute = Distribute::in_turn;
  std::vector<TagRange> tags;  // publish: subscribed whoever wants them
  SubscribeOptions subscription{Policy::block};
  bool stay = false;
  std::optional<std::chrono::nanoseconds> seconds;
  std::chrono::nanoseconds linger = std::chrono::seconds(5);
};

// Of netio build readout, builder and manager.
struct BuildArguments {
  PeerArguments peer;  // its address is that of a builder; a unit has those below
  ReportArguments report;
  BuildPlan plan;
  std::optional<std::uint32_t> builders;  // how many the user has said; `plan` has it
  std::optional<std::uint64_t> events;
  std::optional<std::chrono::nanoseconds> seconds;
};

struct ReadoutArguments : BuildArguments {
  std::string manager;                 // where the event manager is; empty: there is none
  std::vector<std::string> addresses;  // by builder; empty with a manager
  std::uint32_t source = 0;
  EventId first{1, 0};
  std::optional<std::uint64_t> first_event;  // what the user has said; `first` has it
  std::size_t fragment_bytes = 1024;         // of generated load
  std::string file;                          // instead of it; "-": standard input
  FrameSpec frame;
  std::optional<Rate> rate;
  WhenFull when_full = WhenFull::again;
  std::size_t store_bytes_max = ReadoutOptions{}.store_bytes_max;
  std::optional<std::chrono::nanoseconds> linger;
};

struct BuilderArguments : BuildArguments {
  std::string manager;  // as of a unit
  std::vector<std::string> addresses;
  std::optional<std::uint32_t> weight;
  std::optional<std::uint32_t> credit;
  std::uint32_t builder = 0;
  // Longer than the library's, for units that are started again by hand.
  std::chrono::nanoseconds deadline = std::chrono::seconds(10);
  std::optional<std::chrono::nanoseconds> meet_within;  // as the library has it
  std::size_t window_bytes = 0;
  std::uint32_t turns = 0;
  std::string out;  // a folder; empty: count and discard
  bool append = false;
  bool verify = false;
  bool complete = false;  // an incomplete event is a failure
  bool stay = false;
};

struct ManagerArguments : BuildArguments {
  std::vector<std::string> addresses;
  std::uint64_t run = 1;  // that `events` counts in
  std::chrono::nanoseconds lease = ManagerOptions{}.lease;
  // Longer than the library's, for units that are started by hand.
  std::chrono::nanoseconds wait = std::chrono::seconds(10);
  bool stay = false;
};

struct InfoArguments {
  std::string address;  // who is asked; empty: nobody
  std::chrono::nanoseconds within = std::chrono::seconds(5);
  ReportArguments report;
};

enum class Command : std::uint8_t {
  send,
  recv,
  pub,
  sub,
  request,
  reply,
  relay,
  echo,
  ping,
  build_readout,
  build_builder,
  build_manager,
  info,
  bench
};

struct Arguments {
  Command command = Command::info;
  SendArguments send;
  RecvArguments recv;
  PubArguments pub;
  SubArguments sub;
  RequestArguments request;
  ReplyArguments reply;
  RelayArguments relay;
  PairArguments echo;
  PingArguments ping;
  ReadoutArguments build_readout;
  BuilderArguments build_builder;
  ManagerArguments build_manager;
  InfoArguments info;
  BenchArguments bench;
};

// Nothing where all was said already (--help, --version, completion, man, or a usage error): end
// with `exit_code`.
[[nodiscard]] std::optional<Arguments> parse_arguments(int argc, char** argv, int& exit_code);

}  // namespace netio::cli
