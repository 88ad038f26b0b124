// The options of request and reply: what is asked, how often, and what is answered.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "arguments.hpp"

namespace netio::cli {

// Options whose sum decides what is asked.
struct RequestChoice {
  std::string file;
};

// The targets must live until the command line is parsed.
void add_request(CLI::App& app, RequestArguments& request, RequestChoice& choice);
void add_reply(CLI::App& app, ReplyArguments& reply);

// What the options come to together, once all are known. Throws CLI::ValidationError.
void settle_request(RequestArguments& request, RequestChoice& choice);
void settle_reply(ReplyArguments& reply);

}  // namespace netio::cli
