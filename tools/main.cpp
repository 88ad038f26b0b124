// The `netio` command: reads its arguments, runs one command, turns what it throws into a line
// for a person and an exit code for a script.
#include <csignal>
#include <exception>
#include <new>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include <netio/status.hpp>

#include "arguments.hpp"
#include "bench/bench.hpp"
#include "build_builder.hpp"
#include "build_manager.hpp"
#include "build_readout.hpp"
#include "echo.hpp"
#include "exit_code.hpp"
#include "info.hpp"
#include "limits.hpp"
#include "ping.hpp"
#include "probe.hpp"
#include "pub.hpp"
#include "recv.hpp"
#include "relay.hpp"
#include "reply.hpp"
#include "request.hpp"
#include "send.hpp"
#include "standard_error.hpp"
#include "sub.hpp"

namespace netio::cli {

namespace {

std::string_view name_of(Command command) {
  switch (command) {
    case Command::send:
      return "netio send";
    case Command::recv:
      return "netio recv";
    case Command::pub:
      return "netio pub";
    case Command::sub:
      return "netio sub";
    case Command::request:
      return "netio request";
    case Command::reply:
      return "netio reply";
    case Command::relay:
      return "netio relay";
    case Command::echo:
      return "netio echo";
    case Command::ping:
      return "netio ping";
    case Command::build_readout:
      return "netio build readout";
    case Command::build_builder:
      return "netio build builder";
    case Command::build_manager:
      return "netio build manager";
    case Command::info:
      return "netio info";
    case Command::bench:
      return "netio bench";
  }
  return "netio";
}

ExitCode run(const Arguments& arguments) {
  switch (arguments.command) {
    case Command::send:
      return run_send(arguments.send);
    case Command::recv:
      return run_recv(arguments.recv);
    case Command::pub:
      return run_pub(arguments.pub);
    case Command::sub:
      return run_sub(arguments.sub);
    case Command::request:
      return run_request(arguments.request);
    case Command::reply:
      return run_reply(arguments.reply);
    case Command::relay:
      return run_relay(arguments.relay);
    case Command::echo:
      return run_echo(arguments.echo);
    case Command::ping:
      return run_ping(arguments.ping);
    case Command::build_readout:
      return run_build_readout(arguments.build_readout);
    case Command::build_builder:
      return run_build_builder(arguments.build_builder);
    case Command::build_manager:
      return run_build_manager(arguments.build_manager);
    case Command::info:
      return arguments.info.address.empty() ? run_info(arguments.info) : run_probe(arguments.info);
    case Command::bench:
      return run_bench(arguments.bench);
  }
  return ExitCode::usage;
}

ExitCode report_error(Command command, std::string_view cause, std::string_view advice,
                      ExitCode code) {
  say_error(name_of(command), cause, advice);
  return code;
}

ExitCode run_guarded(const Arguments& arguments) {
  const Command command = arguments.command;
  try {
    return run(arguments);
  } catch (const Failure& failure) {
    return report_error(command, failure.what(), failure.advice(), failure.code());
  } catch (const AddressError& error) {
    return report_error(command, fmt::format("{}: {}", error.operation(), error.cause()),
                        error.advice(), ExitCode::usage);
  } catch (const Error& error) {
    return report_error(command, fmt::format("{}: {}", error.operation(), error.cause()),
                        error.advice(), ExitCode::failed);
  } catch (const std::bad_alloc&) {
    return report_error(command, "out of memory", {}, ExitCode::failed);
  } catch (const std::exception& error) {
    return report_error(command, error.what(), {}, ExitCode::failed);
  }
}

int run_command(int argc, char** argv) {
  // A reader that went away is an error of the write, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  occupy_standard_descriptors();
  int exit_code = 0;
  const std::optional<Arguments> arguments = parse_arguments(argc, argv, exit_code);
  if (!arguments) return exit_code;
  raise_open_files();
  return static_cast<int>(run_guarded(*arguments));
}

}  // namespace

}  // namespace netio::cli

int main(int argc, char** argv) { return netio::cli::run_command(argc, argv); }
