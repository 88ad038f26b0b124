#include "arguments.hpp"

#include <cerrno>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "exit_code.hpp"
#include "help.hpp"
#include "parsed_option.hpp"
#include "stamp.hpp"
#include "standard_error.hpp"

namespace netio::cli {

namespace {

std::size_t parse_message_bytes(const std::string& text) {
  const std::uint64_t bytes = parse_bytes(text);
  // Far above any memory, and far from where sums of sizes wrap.
  if (bytes == 0 || bytes > (std::uint64_t{1} << 46U)) {
    throw std::invalid_argument("a message has 1 byte to 64 TiB, not " + text);
  }
  return static_cast<std::size_t>(bytes);
}

void add_peer(CLI::App& app, PeerArguments& peer, bool binds_by_default) {
  peer.binds = binds_by_default;
  app.add_option(
         "ADDRESS", peer.address,
         "Where to meet: tcp://host:5555; on one machine shm://name or shm:///path; over a fabric "
         "verbs://host:5555 or ofi+PROVIDER://host:5555, which may end in ?window=PAGES (netio "
         "info lists what is here); to bind, the host may be * and the port 0, or the name *")
      ->type_name("")
      ->check([](const std::string& address) {
        return address.starts_with("inproc://")
                   ? std::string(
                         "inproc:// is between threads of one process: two commands meet "
                         "at shm://NAME")
                   : std::string();
      })
      ->required();
  auto* const bind = app.add_flag_callback(
      "--bind", [&peer] { peer.binds = true; },
      binds_by_default ? "Listen at ADDRESS (the default)" : "Listen at ADDRESS for receivers");
  auto* const connect = app.add_flag_callback(
      "--connect", [&peer] { peer.binds = false; },
      binds_by_default ? "Connect to a sender at ADDRESS" : "Connect to ADDRESS (the default)");
  bind->excludes(connect);
  add_parsed_to(app, "--connect-timeout", "TIME", parse_duration, peer.connect_timeout,
                binds_by_default
                    ? "Give up when no sender came for so long (for ever; connecting: 10s)"
                    : "Give up when no receiver came, or a lost one did not return, for "
                      "so long (10s; binding: for ever)");
  add_wait(app, peer.wait);
  add_parsed_to(app, "--message-max", "BYTES", parse_message_bytes, peer.message_bytes_max,
                "The largest message (1GiB)");
}

// Options whose sum decides what is sent.
struct SendChoice {
  std::string file;
  bool framed = false;
  bool generated = false;
  LoadSpec load;
};

void add_send(CLI::App& app, SendArguments& send, SendChoice& choice) {
  add_peer(app, send.peer, false);
  app.add_option("FILE", choice.file, "What to send; - or nothing: standard input")->type_name("");
  add_parsed(
      app, "--frame", "HOW", FrameSpec::parse,
      [&](const FrameSpec& spec) {
        send.frame = spec;
        choice.framed = true;
      },
      "How the input becomes messages: whole (default), line, fixed:BYTES, "
      "length:OFFSET,WIDTH,ADJUST");
  add_parsed_to(app, "--mode", "MODE", parse_mode, send.mode,
                "buffered (most messages a second; default) or unbuffered (least latency)");
  const std::string group = "Generated load (instead of FILE)";
  const auto generate = [&choice](auto& target) {
    return [&choice, &target](const auto& value) {
      target = value;
      choice.generated = true;
    };
  };
  add_parsed(app, "--size", "BYTES", parse_message_bytes, generate(choice.load.message_bytes),
             "Size of each message (64)")
      ->group(group);
  add_parsed(app, "--count", "N", parse_count, generate(choice.load.count),
             "How many messages (until Ctrl-C)")
      ->group(group);
  add_parsed(app, "--seconds", "TIME", parse_duration, generate(send.seconds),
             "For how long, counted from the first receiver")
      ->group(group);
  app.add_flag_callback(
         "--verify", [&choice] { choice.load.stamped = choice.generated = true; },
         "Number each message and add a checksum, for recv --verify")
      ->group(group);
  add_parsed_to(app, "--rate", "RATE", parse_rate, send.rate,
                "Send at most so much: 50k messages a second, 1GB/s, 10Gb/s");
  add_parsed_to(app, "--linger", "TIME", parse_duration, send.linger,
                "At the end, wait for acknowledgements at most so long (as long as the receiver "
                "is connected; after Ctrl-C: 1s)");
  add_report(app, send.report);
}

void add_recv(CLI::App& app, RecvArguments& recv) {
  add_peer(app, recv.peer, true);
  app.add_option("--out,-o", recv.out,
                 "Write the messages here, back to back; -: standard output. "
                 "Without it they are counted and discarded")
      ->type_name("FILE");
  app.add_flag("--keep", recv.keep, "Stay for more senders after the last one has ended");
  add_parsed_to(app, "--senders", "N", parse_count, recv.senders_min,
                "Do not end before so many senders have come (1)");
  add_parsed_to(app, "--count", "N", parse_count, recv.count, "End after N messages");
  app.add_flag("--verify", recv.verify,
               "Check numbers and checksums of messages from send --verify");
  app.add_flag("--shared", recv.shared,
               "The senders spread over several receivers: numbers they skip are no fault")
      ->needs("--verify");
  add_report(app, recv.report);
}

void settle_send(SendArguments& send, const SendChoice& choice) {
  if (choice.generated) {
    if (!choice.file.empty() || choice.framed) {
      throw CLI::ValidationError(
          "FILE",
          "either a file with --frame, or generated load (--size, --count, --seconds, "
          "--verify), not both");
    }
    if (choice.load.stamped && choice.load.message_bytes < stamp_bytes) {
      throw CLI::ValidationError("--verify", "needs messages of at least " +
                                                 counted(stamp_bytes, "byte") + " (see --size)");
    }
    if (choice.load.message_bytes > send.peer.message_bytes_max) {
      throw CLI::ValidationError("--size", fmt::format("{} is larger than --message-max, {}",
                                                       binary_bytes(choice.load.message_bytes),
                                                       binary_bytes(send.peer.message_bytes_max)));
    }
    send.load = choice.load;
  } else if (!choice.file.empty()) {
    send.input = choice.file;
  }
}

// A bare flag with a text reads "true".
void settle_report(ReportArguments& report) {
  if (report.json == "true") report.json = "-";
}

void settle_recv(const RecvArguments& recv) {
  if (recv.out == "-" && recv.report.json == "-") {
    throw CLI::ValidationError("--json", "standard output carries the messages: use --json=FILE");
  }
  if (recv.count == 0) throw CLI::ValidationError("--count", "is at least 1");
}

// The exit code for what --help or --version has put on standard output since errno was cleared.
int printed() {
  if (std::cout.flush() || errno == EPIPE) return static_cast<int>(ExitCode::done);
  say_error("netio", fmt::format("cannot write to standard output: {}", std::strerror(errno)), {});
  return static_cast<int>(ExitCode::failed);
}

}  // namespace

std::optional<Arguments> parse_arguments(int argc, char** argv, int& exit_code) {
  Arguments arguments;
  SendChoice choice;
  CLI::App app(std::string(help::summary), "netio");
  app.set_version_flag("--version", std::string("netio ") + NETIO_VERSION);
  app.require_subcommand(0, 1);
  app.get_formatter()->column_width(32);
  app.footer(std::string(help::main_footer));
  app.failure_message(CLI::FailureMessage::simple);

  auto& send = *app.add_subcommand("send", "Send a file, standard input or generated load");
  auto& recv = *app.add_subcommand("recv", "Receive messages: into a file or pipe, or count them");
  auto& info = *app.add_subcommand("info", "What this netio and this machine have to offer");
  auto& bench = *app.add_subcommand("bench", "Measure netio against the bare floor and its peers");
  for (CLI::App* const command : {&send, &recv, &info}) command->fallthrough();
  add_send(send, arguments.send, choice);
  send.footer(std::string(help::send_footer));
  add_recv(recv, arguments.recv);
  recv.footer(std::string(help::recv_footer));
  add_report(info, arguments.info.report);
  add_bench(bench, arguments.bench);

  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) {
      std::cerr << app.help();
      exit_code = static_cast<int>(ExitCode::usage);
      return std::nullopt;
    }
    settle_report(arguments.send.report);
    settle_report(arguments.recv.report);
    settle_report(arguments.info.report);
    settle_report(arguments.bench.report);
    if (send.parsed()) {
      arguments.command = Command::send;
      settle_send(arguments.send, choice);
    } else if (recv.parsed()) {
      arguments.command = Command::recv;
      settle_recv(arguments.recv);
    } else if (bench.parsed()) {
      arguments.command = Command::bench;
    }
  } catch (const CLI::ParseError& error) {
    // CLI11 tells usage errors apart; ours are all the same to a script.
    errno = 0;
    exit_code = app.exit(error) == 0 ? printed() : static_cast<int>(ExitCode::usage);
    return std::nullopt;
  }
  return arguments;
}

}  // namespace netio::cli
