// The command line, by hand: two options for people, and what the demo passes to its children.
#include "options.hpp"

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include <fmt/format.h>

#include "roles.hpp"
#include "text.hpp"

namespace demo {

namespace {

// The ledger takes two bytes for each event.
constexpr double seconds_max = 600;
constexpr double events_per_second_max = 1e6;

constexpr std::string_view help =
    R"(Event building with nine processes on this host. The data is simulated, the rest is real.

  4 cards     Each has one fragment of every event, of 1 kB on average, and holds it in a store
              until the event is built and recorded.
  2 builders  Each puts the four fragments of an event together, checks every byte, and publishes
              the event.
  recorder    Gets every event. If it is slow, the builders wait for it (policy "block").
  monitor     Looks at some events, and nobody waits for it (policy "sample").
  manager     Gives ranges of events to the builders. It also starts and ends the others.

What happens, and at which part of the run:

  15 %   The recorder is stopped (SIGSTOP). The builders wait, the stores of the cards fill up, and
         full cards are busy.
  25 %   The recorder goes on (SIGCONT), and the builders catch up.
  45 %   Builder 2 is killed (SIGKILL). After two leases of 0.4 s the manager gives its events to
         builder 1. They are marked "again", because builder 2 may have built some of them.
  70 %   Builder 2 is started again, and gets its share of the events.
  100 %  The manager stops the run, and what the cards have sent is built.

Each line of figures is of the time since the line before: the events that were built, in all and by
each builder; the events that recorder and monitor received; how full the fullest store of a card is
(BUSY: a card is busy); and the CPU use of each process.

At the end every fragment is accounted for. Each event has to be built from its four fragments, and
be with the recorder. If it was built or recorded twice, it has to be marked.

Usage: demo [--seconds S] [--rate R]

  --seconds S   how long the cards run (20; at most 600)
  --rate R      events a second (20000; at most 1000000)
  --help        print this

Exit codes: 0 every event was built and recorded, and all books are exact; 1 not so, or failed;
2 usage; 3 a process was lost that should not; 130 Ctrl-C (what was sent until then is still built
and accounted for).
)";

std::optional<double> number_in(std::string_view text, double least, double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!(value >= least && value <= most)) return std::nullopt;
  return value;
}

template <typename Integer>
bool integer_in(std::string_view text, Integer& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// demo child INDEX NAME REPORT_ADDRESS LEDGER_FD EVENTS_PER_SECOND START_NS
std::optional<Options> parse_child(int argc, char** argv) {
  if (argc != 8) return std::nullopt;
  ChildOptions child;
  const auto rate = number_in(argv[6], 1, events_per_second_max);
  if (!rate || !integer_in(argv[2], child.index) || child.index >= child_count ||
      !integer_in(argv[5], child.ledger_fd) || !integer_in(argv[7], child.start_ns)) {
    return std::nullopt;
  }
  child.name = argv[3];
  child.report_address = argv[4];
  child.events_per_second = *rate;
  Options options;
  options.child = child;
  return options;
}

std::optional<Options> wrong(std::string_view what, int& exit_code) {
  print(stderr, "demo: {}; see --help\n", what);
  exit_code = 2;
  return std::nullopt;
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, int& exit_code) {
  if (argc > 1 && std::string_view(argv[1]) == "child") {
    auto options = parse_child(argc, argv);
    return options ? options : wrong("that command is for the demo itself", exit_code);
  }
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--help" || name == "-h") {
      print(stdout, "{}", help);
      exit_code = 0;
      return std::nullopt;
    }
    const bool seconds = name == "--seconds";
    if (!seconds && name != "--rate") {
      return wrong(fmt::format("unknown argument {}", name), exit_code);
    }
    const double most = seconds ? seconds_max : events_per_second_max;
    const double least = seconds ? 0.1 : 1;
    const auto value = number_in(i + 1 < argc ? argv[++i] : "", least, most);
    if (!value) {
      return wrong(fmt::format("{} needs a number from {} to {:.0f}", name, least, most),
                   exit_code);
    }
    (seconds ? options.seconds : options.events_per_second) = *value;
  }
  return options;
}

}  // namespace demo
