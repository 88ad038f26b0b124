// The options of send, recv, pub, sub, echo and ping: how the command line says what is to be
// moved.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "arguments.hpp"

namespace netio::cli {

// Options whose sum decides what is sent.
struct SendChoice {
  std::string file;
  bool framed = false;
  bool generated = false;
  LoadSpec load;
};

// The targets must live until the command line is parsed.
void add_send(CLI::App& app, SendArguments& send, SendChoice& choice);
void add_pub(CLI::App& app, PubArguments& pub, SendChoice& choice);
void add_recv(CLI::App& app, RecvArguments& recv);
void add_sub(CLI::App& app, SubArguments& sub);
void add_echo(CLI::App& app, PairArguments& echo);
void add_ping(CLI::App& app, PingArguments& ping);

// What the options come to together, once all are known. Throws CLI::ValidationError.
void settle_send(SendArguments& send, SendChoice& choice);
void settle_pub(PubArguments& pub, SendChoice& choice);
void settle_recv(RecvArguments& recv);
void settle_sub(SubArguments& sub);
void settle_ping(const PingArguments& ping);

}  // namespace netio::cli
