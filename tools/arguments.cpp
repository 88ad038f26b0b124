#include "arguments.hpp"

#include <cerrno>
#include <cstring>
#include <functional>
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "build_help.hpp"
#include "build_options.hpp"
#include "command_tree.hpp"
#include "completion.hpp"
#include "exit_code.hpp"
#include "help.hpp"
#include "manual.hpp"
#include "parsed_option.hpp"
#include "peer_options.hpp"
#include "relay_options.hpp"
#include "request_options.hpp"
#include "standard_error.hpp"
#include "transfer_options.hpp"
#include "usage_error.hpp"

namespace netio::cli {

namespace {

// The exit code for what was put on standard output since errno was cleared.
int printed() {
  if (std::cout.flush() || errno == EPIPE) return static_cast<int>(ExitCode::done);
  say_error("netio", fmt::format("cannot write to standard output: {}", std::strerror(errno)), {});
  return static_cast<int>(ExitCode::failed);
}

// Every command with its options, and what they were set to.
class CommandLine {
 public:
  CommandLine();
  [[nodiscard]] std::optional<Arguments> parse(int argc, char** argv, int& exit_code);

 private:
  CLI::App& add(const char* name, Command command, const char* description,
                std::function<void()> settle = {});
  void add_transfers();
  void add_calls();
  void add_build();
  void add_info();
  void add_texts();
  void settle_reports();

  CLI::App app_{std::string(help::summary), "netio"};
  Arguments arguments_;
  SendChoice send_choice_;
  SendChoice pub_choice_;
  RequestChoice request_choice_;
  std::vector<std::string> page_;
  std::optional<std::string> text_;  // all that was asked for
};

CommandLine::CommandLine() {
  app_.set_version_flag("--version", std::string("netio ") + NETIO_VERSION);
  app_.require_subcommand(0, 1);
  app_.get_formatter()->column_width(32);
  app_.footer(std::string(help::main_footer));
  add_transfers();
  add_calls();
  add_echo(add("echo", Command::echo, "Send back what comes, for ping"), arguments_.echo);
  add_ping(add("ping", Command::ping, "Time messages to an echo and back",
               [this] { settle_ping(arguments_.ping); }),
           arguments_.ping);
  add_build();
  add_info();
  add_bench(add("bench", Command::bench, "Measure netio against the bare floor and its peers"),
            arguments_.bench);
  add_texts();
}

CLI::App& CommandLine::add(const char* name, Command command, const char* description,
                           std::function<void()> settle) {
  CLI::App& added = *app_.add_subcommand(name, description);
  if (command != Command::bench) added.fallthrough();
  added.callback([this, command, settle = std::move(settle)] {
    settle_reports();
    arguments_.command = command;
    if (settle) settle();
  });
  return added;
}

void CommandLine::add_transfers() {
  add_send(add("send", Command::send, "Send a file, standard input or generated load",
               [this] { settle_send(arguments_.send, send_choice_); }),
           arguments_.send, send_choice_);
  add_recv(add("recv", Command::recv, "Receive messages: into a file or pipe, or count them",
               [this] { settle_recv(arguments_.recv); }),
           arguments_.recv);
  add_pub(add("pub", Command::pub, "Publish what send sends, to whoever wants its tags",
              [this] { settle_pub(arguments_.pub, pub_choice_); }),
          arguments_.pub, pub_choice_);
  add_sub(add("sub", Command::sub, "Subscribe to tags, and take what is published as recv",
              [this] { settle_sub(arguments_.sub); }),
          arguments_.sub);
}

void CommandLine::add_calls() {
  add_request(add("request", Command::request, "Ask a replier, and print its answer",
                  [this] { settle_request(arguments_.request, request_choice_); }),
              arguments_.request, request_choice_);
  add_reply(add("reply", Command::reply, "Answer requests: with what they hold, or a text",
                [this] { settle_reply(arguments_.reply); }),
            arguments_.reply);
  add_relay(add("relay", Command::relay, "Pass on what comes at one address to another",
                [this] { settle_relay(arguments_.relay); }),
            arguments_.relay);
}

void CommandLine::add_build() {
  CLI::App& build = *app_.add_subcommand("build", "Event building: fragments become events");
  build.require_subcommand(1);
  build.footer(std::string(help::build_footer));
  const auto add_one = [&](const char* name, const char* description, Command command,
                           std::function<void()> settle) -> CLI::App& {
    CLI::App& added = *build.add_subcommand(name, description);
    added.callback([this, command, settle = std::move(settle)] {
      settle_reports();
      arguments_.command = command;
      settle();
    });
    return added;
  };
  add_build_readout(
      add_one("readout", "A read-out unit: sends a fragment of each event", Command::build_readout,
              [this] { settle_build_readout(arguments_.build_readout); }),
      arguments_.build_readout);
  add_build_builder(
      add_one("builder", "A builder unit: receives fragments, and makes events",
              Command::build_builder, [this] { settle_build_builder(arguments_.build_builder); }),
      arguments_.build_builder);
  add_build_manager(
      add_one("manager", "An event manager: gives ranges of events to builders",
              Command::build_manager, [this] { settle_build_manager(arguments_.build_manager); }),
      arguments_.build_manager);
}

void CommandLine::add_info() {
  CLI::App& info = add("info", Command::info,
                       "What this netio and this machine have to offer, or who is at an address");
  CLI::Option* const address =
      info.add_option("ADDRESS", arguments_.info.address,
                      "Who is asked there: what it is, and which wire a connection from here would "
                      "take (netio://host:5555, tcp://host:5555, shm://name, verbs://host:5555)")
          ->type_name("")
          ->check(why_no_address);
  add_parsed_to(info, "--within", "TIME", parse_more_than_no_time, arguments_.info.within,
                "How long an answer is waited for (5s)")
      ->needs(address);
  add_result(info, arguments_.info.report);
  info.footer(std::string(help::info_footer));
}

// Commands whose whole answer is made of the command line's own description.
void CommandLine::add_texts() {
  CLI::App& shells = *app_.add_subcommand(
      "completion", "Print what makes a shell complete netio's commands and options");
  add_choice<Completion>(
      shells, "SHELL", {{"bash", bash_completion}, {"zsh", zsh_completion}},
      [this](Completion completion) { text_ = completion(read_tree(app_)); }, "The shell")
      ->required();
  shells.footer(std::string(help::completion_footer));

  CLI::App& manual = *app_.add_subcommand("man", "Print the manual page of netio or a command");
  std::vector<std::string> names;
  for (const CommandTree& one : read_tree(app_).commands) names.push_back(one.word);
  manual.add_option("COMMAND", page_, "The command, such as send, or bench latency")
      ->type_name(choices_type(names));
  manual.callback([this] { text_ = manual_page(find_command(read_tree(app_), page_)); });
  manual.footer(std::string(help::man_footer));
}

// A bare flag with a text reads "true".
void CommandLine::settle_reports() {
  for (ReportArguments* const report :
       {&arguments_.send.report, &arguments_.recv.report, &arguments_.pub.report,
        &arguments_.sub.report, &arguments_.request.report, &arguments_.reply.report,
        &arguments_.relay.report, &arguments_.echo.report, &arguments_.ping.report,
        &arguments_.build_readout.report, &arguments_.build_builder.report,
        &arguments_.build_manager.report, &arguments_.info.report, &arguments_.bench.report}) {
    if (report->json == "true") report->json = "-";
  }
}

std::optional<Arguments> CommandLine::parse(int argc, char** argv, int& exit_code) {
  try {
    app_.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    errno = 0;
    if (error.get_exit_code() == 0) {
      (void)app_.exit(error);
      exit_code = printed();
    } else {
      say_usage_error(app_, error);
      exit_code = static_cast<int>(ExitCode::usage);
    }
    return std::nullopt;
  }
  if (text_) {
    errno = 0;
    std::cout << *text_;
    exit_code = printed();
    return std::nullopt;
  }
  if (app_.get_subcommands().empty()) {
    std::cerr << app_.help();
    exit_code = static_cast<int>(ExitCode::usage);
    return std::nullopt;
  }
  return arguments_;
}

}  // namespace

std::optional<Arguments> parse_arguments(int argc, char** argv, int& exit_code) {
  return CommandLine().parse(argc, argv, exit_code);
}

}  // namespace netio::cli
