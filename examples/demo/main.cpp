// The demo, and the processes it starts of itself: see --help.
#include <cstdio>
#include <exception>

#include <fmt/format.h>

#include "builder.hpp"
#include "options.hpp"
#include "run.hpp"
#include "trigger.hpp"

int main(int argc, char** argv) {
  try {
    int exit_code = 0;
    const auto options = demo::parse_options(argc, argv, exit_code);
    if (!options) return exit_code;
    if (options->child == "builder") return demo::Builder(options->child_options).run();
    if (options->child == "trigger") return demo::Trigger(options->child_options).run();
    return demo::Run(*options).run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "demo: {}\n", error.what());
    return 1;
  }
}
