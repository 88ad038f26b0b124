// A command line that makes no sense: says what is wrong with it, and what was perhaps meant.
#pragma once

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace netio::cli {

// On standard error. `app` has parsed as far as it could.
void say_usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace netio::cli
