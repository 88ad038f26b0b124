// The demo, and the processes it starts of itself: see --help.
#include <cstdio>
#include <exception>

#include <fmt/format.h>

#include "builder.hpp"
#include "card.hpp"
#include "options.hpp"
#include "run.hpp"
#include "subscriber.hpp"
#include "text.hpp"

namespace {

// The exit code; a result that nobody could read is none.
int ended(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  demo::print(stderr, "demo: not everything could be written to standard output\n");
  return exit_code == 0 ? 1 : exit_code;
}

int run_child(const demo::ChildOptions& options) {
  switch (demo::roles[options.index].kind) {
    case demo::Kind::card:
      return demo::Card(options).run();
    case demo::Kind::builder:
      return demo::Builder(options).run();
    case demo::Kind::recorder:
    case demo::Kind::monitor:
      return demo::Subscriber(options).run();
  }
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    int exit_code = 0;
    const auto options = demo::parse_options(argc, argv, exit_code);
    if (!options) return ended(exit_code);
    if (options->child) return run_child(*options->child);
    return ended(demo::Run(*options).run());
  } catch (const std::exception& error) {
    demo::print(stderr, "demo: {}\n", error.what());
    return 1;
  }
}
