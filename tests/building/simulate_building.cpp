// simulate_building: random schedules of event building over faulty connections, with a clock of
// their own. Prints what it did, and at the first thing that is wrong the command that shows it.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <unistd.h>

#include "building/schedule.hpp"

namespace netio::test {

namespace {

using Clock = std::chrono::steady_clock;

// Of one schedule, which takes some milliseconds.
constexpr unsigned hangs_after_seconds = 60;

struct Options {
  std::uint64_t schedules = 0;  // 0: by time
  double seconds = 0;
  std::uint64_t seed = 1;
  bool seed_given = false;
  bool digests = false;
  BuildSettings settings;
};

volatile std::uint64_t seed_at_hand = 0;

// For a signal handler: no memory, no stdio.
void write_text(std::string_view text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }

void on_fatal(int signal) {
  char digits[24];
  char* at = digits + sizeof digits;
  std::uint64_t number = seed_at_hand;
  do {
    *--at = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  write_text(signal == SIGALRM ? "simulate_building: a schedule hangs: --seed "
                               : "simulate_building: a schedule ends the process: --seed ");
  write_text({at, static_cast<std::size_t>(digits + sizeof digits - at)});
  write_text(" --schedules 1 --trace shows it\n");
  if (signal == SIGALRM) ::_exit(1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void usage(std::FILE* to) {
  std::fprintf(
      to, "%s",
      "Usage: simulate_building [--schedules N | --seconds S] [--seed N] [--trace]\n"
      "                         [--without PART,...] [--only PART,...] [--lie NAME] [--digests]\n"
      "\n"
      "Plays schedules of units and builders over simulated, faulty connections, as fast as it\n"
      "can, and judges what they do: docs/simulation.md says what it draws and requires.\n"
      "\n"
      "  --schedules N   as many schedules, with the seeds N, N+1, ... (1000 unless given)\n"
      "  --seconds S     as many as it can in this time\n"
      "  --seed N        of the first one (from the clock unless given; it is printed)\n"
      "  --trace         a line for each message, event and fault\n"
      "  --without P,... leaves out parts of schedules, of those below\n"
      "  --only P,...    no other faults than these, of those below\n"
      "  --lie NAME      a connection does what none may: the oracle has to find it; those below\n"
      "  --digests       prints a number for each schedule: the same each time it is run\n"
      "\n"
      "Exit status: 0 nothing is wrong, 1 something is, 2 wrong usage.\n");
  const auto print = [to](const char* what, const auto& names, std::size_t first, std::size_t end) {
    std::fprintf(to, "%s:", what);
    for (std::size_t i = first; i < end; ++i) {
      std::fprintf(to, " %.*s", static_cast<int>(names[i].size()), names[i].data());
    }
    std::fprintf(to, "\n");
  };
  print("Faults", build_part_names, 0, build_faults);
  print("Other parts", build_part_names, build_faults, build_part_names.size());
  print("Lies", build_lie_names, 1, build_lie_names.size());
}

[[noreturn]] void wrong_usage(const std::string& what) {
  std::fprintf(stderr, "simulate_building: %s\n", what.c_str());
  usage(stderr);
  std::exit(2);
}

template <typename Names>
std::size_t number_of(const Names& names, const char* kind, std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return i;
  }
  wrong_usage("there is no " + std::string(kind) + " " + std::string(name));
}

std::uint32_t parse_parts(std::string_view text) {
  std::uint32_t bits = 0;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    bits |= 1U << number_of(build_part_names, "part", text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return bits;
}

std::uint64_t parse_number(const std::string& name, const char* text) {
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != '\0') wrong_usage(name + " needs a number");
  return number;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto value = [&] {
      if (i + 1 == argc) wrong_usage(name + " needs a value");
      return argv[++i];
    };
    if (name == "--schedules") {
      options.schedules = parse_number(name, value());
    } else if (name == "--seconds") {
      options.seconds = static_cast<double>(parse_number(name, value()));
    } else if (name == "--seed") {
      options.seed = parse_number(name, value());
      options.seed_given = true;
    } else if (name == "--trace") {
      options.settings.trace = true;
    } else if (name == "--digests") {
      options.digests = true;
    } else if (name == "--without") {
      options.settings.without |= parse_parts(value());
    } else if (name == "--only") {
      options.settings.without |= ((1U << build_faults) - 1) & ~parse_parts(value());
    } else if (name == "--lie") {
      options.settings.lie = static_cast<BuildLie>(number_of(build_lie_names, "lie", value()));
    } else if (name == "--help" || name == "-h") {
      usage(stdout);
      std::exit(0);
    } else {
      wrong_usage("unknown argument: " + name);
    }
  }
  if (options.schedules == 0 && options.seconds == 0) options.schedules = 1000;
  return options;
}

// The command that runs one schedule.
std::string command_for(std::uint64_t seed, const BuildSettings& settings) {
  std::string command = "simulate_building --seed " + std::to_string(seed) + " --schedules 1";
  std::string without;
  for (std::size_t i = 0; i < build_part_names.size(); ++i) {
    if (settings.has(static_cast<BuildPart>(i))) continue;
    without.append(without.empty() ? " --without " : ",").append(build_part_names[i]);
  }
  command += without;
  if (settings.lie != BuildLie::none) {
    command.append(" --lie ").append(build_lie_names[static_cast<std::size_t>(settings.lie)]);
  }
  return command + " --trace";
}

int simulate(const Options& options) {
  BuildTally tally;
  const auto begin = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  std::uint64_t done = 0;
  for (; options.schedules == 0 || done < options.schedules; ++done) {
    if (options.seconds != 0 && seconds() >= options.seconds) break;
    const std::uint64_t seed = options.seed + done;
    seed_at_hand = seed;
    if (done % 64 == 0) ::alarm(options.settings.trace ? 0 : hangs_after_seconds);
    BuildSchedule schedule(seed, options.settings, tally);
    const std::string what = schedule.run();
    if (!what.empty()) {
      std::printf("simulate_building: seed %llu: %s\nto see it: %s\n",
                  static_cast<unsigned long long>(seed), what.c_str(),
                  command_for(seed, options.settings).c_str());
      return 1;
    }
    if (options.digests) {
      std::printf("%llu %016llx\n", static_cast<unsigned long long>(seed),
                  static_cast<unsigned long long>(schedule.digest()));
    }
  }
  std::printf("%s", tally.text().c_str());
  std::printf(
      "simulate_building: %llu schedules from seed %llu on, %.0f a second, %llu fragments; "
      "nothing is wrong\n",
      static_cast<unsigned long long>(done), static_cast<unsigned long long>(options.seed),
      static_cast<double>(done) / seconds(), static_cast<unsigned long long>(tally.fragments));
  return 0;
}

}  // namespace

}  // namespace netio::test

int main(int argc, char** argv) {
  using namespace netio::test;
  Options options = parse(argc, argv);
  if (!options.seed_given) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    options.seed = static_cast<std::uint64_t>(now.count()) / 1000 % 1'000'000'000;
  }
  std::printf("simulate_building: from seed %llu on\n",
              static_cast<unsigned long long>(options.seed));
  std::fflush(stdout);
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGALRM})
    std::signal(signal, on_fatal);
  try {
    return simulate(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simulate_building: seed %llu: %s\n",
                 static_cast<unsigned long long>(seed_at_hand), error.what());
    return 1;
  }
}
