// The demo, and the processes it starts of itself: see --help.
#include <cstdio>
#include <exception>

#include <fmt/format.h>

#include "options.hpp"
#include "run.hpp"
#include "subscriber.hpp"
#include "text.hpp"
#include "trigger.hpp"

namespace {

// The exit code; a result that nobody could read is none.
int ended(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  demo::print(stderr, "demo: not everything could be written to standard output\n");
  return exit_code == 0 ? 1 : exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    int exit_code = 0;
    const auto options = demo::parse_options(argc, argv, exit_code);
    if (!options) return ended(exit_code);
    if (options->child == "subscriber") return demo::Subscriber(options->child_options).run();
    if (options->child == "trigger") return demo::Trigger(options->child_options).run();
    return ended(demo::Run(*options).run());
  } catch (const std::exception& error) {
    demo::print(stderr, "demo: {}\n", error.what());
    return 1;
  }
}
