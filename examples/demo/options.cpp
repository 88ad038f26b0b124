// The command line, by hand: two options for people, and what the demo passes to its children.
#include "options.hpp"

#include <charconv>
#include <cstdio>
#include <string_view>

#include <fmt/format.h>

#include "text.hpp"

namespace demo {

namespace {

// The ledgers take a bit for each fragment, and a fragment's own limits follow from that.
constexpr double seconds_max = 600;
constexpr double fragments_per_second_max = 20e6;

constexpr std::string_view help =
    R"(A simulated read-out card with 16 links drives netio, all on this host. It publishes its
fragments, the link as the tag, to four processes that subscribe to links of it:

  builder 1, 2  half of the links each; the policy "block": they lose nothing, and check that
  recorder      four links, the policy "drop_new"; it is stopped for a while (SIGSTOP)
  monitor       all links, the policy "sample": ten looks a second; it is killed (SIGKILL), and
                started again

Triggers and "busy" go over an unbuffered pair. At half-time the builders pause, so that "busy" has
something to do. At the end every fragment is accounted for, and the books of each subscription must
be exact, and the same at both ends.

Usage: demo [--seconds S] [--rate R]

  --seconds S   how long the card runs (15; at most 600)
  --rate R      fragments a second (1000000; at most 20000000)
  --help        print this

Exit codes: 0 every fragment arrived at its builder once and undamaged, and all books are exact;
1 not so, or failed; 2 usage; 3 a process was lost that should not; 130 Ctrl-C (what was published
until then is still accounted for).
)";

std::optional<double> number_in(std::string_view text, double least, double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!(value >= least && value <= most)) return std::nullopt;
  return value;
}

// demo subscriber|trigger INDEX ADDRESS REPORT_ADDRESS SECONDS
std::optional<Options> parse_child(int argc, char** argv) {
  if (argc != 6) return std::nullopt;
  const auto index = number_in(argv[2], 0, child_count - 1);
  const auto seconds = number_in(argv[5], 0, seconds_max);
  if (!index || !seconds) return std::nullopt;
  if ((*index < trigger_index) != (std::string_view(argv[1]) == "subscriber")) return std::nullopt;
  Options options;
  options.child = argv[1];
  options.child_options.index = static_cast<std::uint32_t>(*index);
  options.child_options.address = argv[3];
  options.child_options.report_address = argv[4];
  options.child_options.run =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(*seconds));
  return options;
}

std::optional<Options> wrong(std::string_view what, int& exit_code) {
  print(stderr, "demo: {}; see --help\n", what);
  exit_code = 2;
  return std::nullopt;
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, int& exit_code) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "subscriber" || first == "trigger") {
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
    const double most = seconds ? seconds_max : fragments_per_second_max;
    const double least = seconds ? 0.1 : 1;
    const auto value = number_in(i + 1 < argc ? argv[++i] : "", least, most);
    if (!value) {
      return wrong(fmt::format("{} needs a number from {} to {:.0f}", name, least, most),
                   exit_code);
    }
    (seconds ? options.seconds : options.fragments_per_second) = *value;
  }
  return options;
}

}  // namespace demo
