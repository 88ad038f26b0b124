#include "arguments.hpp"

#include <cerrno>
#include <cstring>
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "exit_code.hpp"
#include "help.hpp"
#include "parsed_option.hpp"
#include "standard_error.hpp"
#include "transfer_options.hpp"

namespace netio::cli {

namespace {

// A bare flag with a text reads "true".
void settle_report(ReportArguments& report) {
  if (report.json == "true") report.json = "-";
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
  SendChoice send_choice;
  SendChoice pub_choice;
  CLI::App app(std::string(help::summary), "netio");
  app.set_version_flag("--version", std::string("netio ") + NETIO_VERSION);
  app.require_subcommand(0, 1);
  app.get_formatter()->column_width(32);
  app.footer(std::string(help::main_footer));
  app.failure_message(CLI::FailureMessage::simple);

  auto& send = *app.add_subcommand("send", "Send a file, standard input or generated load");
  auto& recv = *app.add_subcommand("recv", "Receive messages: into a file or pipe, or count them");
  auto& pub = *app.add_subcommand("pub", "Publish what send sends, to whoever wants its tags");
  auto& sub = *app.add_subcommand("sub", "Subscribe to tags, and take what is published as recv");
  auto& info = *app.add_subcommand("info", "What this netio and this machine have to offer");
  auto& bench = *app.add_subcommand("bench", "Measure netio against the bare floor and its peers");
  for (CLI::App* const command : {&send, &recv, &pub, &sub, &info}) command->fallthrough();
  add_send(send, arguments.send, send_choice);
  add_recv(recv, arguments.recv);
  add_pub(pub, arguments.pub, pub_choice);
  add_sub(sub, arguments.sub);
  add_result(info, arguments.info.report);
  add_bench(bench, arguments.bench);

  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) {
      std::cerr << app.help();
      exit_code = static_cast<int>(ExitCode::usage);
      return std::nullopt;
    }
    for (ReportArguments* const report :
         {&arguments.send.report, &arguments.recv.report, &arguments.pub.report,
          &arguments.sub.report, &arguments.info.report, &arguments.bench.report}) {
      settle_report(*report);
    }
    if (send.parsed()) {
      arguments.command = Command::send;
      settle_send(arguments.send, send_choice);
    } else if (recv.parsed()) {
      arguments.command = Command::recv;
      settle_recv(arguments.recv);
    } else if (pub.parsed()) {
      arguments.command = Command::pub;
      settle_pub(arguments.pub, pub_choice);
    } else if (sub.parsed()) {
      arguments.command = Command::sub;
      settle_sub(arguments.sub);
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
