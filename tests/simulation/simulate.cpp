// simulate: random schedules of sockets over faulty links and a clock of their own. Prints what it
// did, and at the first thing that is wrong the command that shows it. --help says more.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <unistd.h>

#include "simulation/settings.hpp"
#include "simulation/simulation.hpp"

namespace netio::test {

namespace {

using Clock = std::chrono::steady_clock;

// Of one schedule, which takes a millisecond.
constexpr unsigned hangs_after_seconds = 60;
constexpr std::chrono::seconds progress_after{10};

struct Options {
  std::uint64_t schedules = 0;  // 0: by time
  double seconds = 0;
  std::uint64_t seed = 1;
  bool seed_given = false;
  bool shrink = false;
  bool digests = false;
  Settings settings;
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
  write_text(signal == SIGALRM ? "simulate: a schedule hangs: --seed "
                               : "simulate: a schedule ends the process: --seed ");
  write_text({at, static_cast<std::size_t>(digits + sizeof digits - at)});
  write_text(" --schedules 1 --trace shows it\n");
  if (signal == SIGALRM) ::_exit(1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void usage(std::FILE* to) {
  std::fprintf(
      to, "%s",
      "Usage: simulate [--schedules N | --seconds S] [--seed N] [--trace] [--shrink]\n"
      "                [--without PART,...] [--steps N] [--lie NAME] [--digests]\n"
      "\n"
      "Plays schedules of sockets over a simulated, faulty network, as fast as it can, and\n"
      "judges what they do: docs/simulation.md says what it draws and requires.\n"
      "\n"
      "  --schedules N   as many schedules, with the seeds N, N+1, ... (10000 unless given)\n"
      "  --seconds S     as many as it can in this time\n"
      "  --seed N        of the first one (from the clock unless given; it is printed)\n"
      "  --trace         a line for each step and event\n"
      "  --shrink        looks for the smallest schedule that fails, and names it\n"
      "  --without P,... leaves out parts of schedules, of those below\n"
      "  --steps N       at most so many steps before the faults end\n"
      "  --lie NAME      the wire does what no wire may: the oracle has to find it; those below\n"
      "  --digests       prints a number for each schedule: the same each time it is run\n"
      "\n"
      "Exit status: 0 nothing is wrong, 1 something is, 2 wrong usage.\n");
  std::fprintf(to, "Parts:");
  for (const std::string_view name : part_names) {
    std::fprintf(to, " %.*s", static_cast<int>(name.size()), name.data());
  }
  std::fprintf(to, "\nLies:");
  for (const std::string_view name : lie_names) {
    std::fprintf(to, " %.*s", static_cast<int>(name.size()), name.data());
  }
  std::fprintf(to, "\n");
}

[[noreturn]] void wrong_usage(const std::string& what) {
  std::fprintf(stderr, "simulate: %s\n", what.c_str());
  usage(stderr);
  std::exit(2);
}

std::uint32_t parse_parts(std::string_view text) {
  std::uint32_t bits = 0;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string name(text.substr(0, comma));
    const auto part = named<Part>(part_names, name);
    if (!part) wrong_usage("there is no part " + name);
    bits |= 1U << static_cast<unsigned>(*part);
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
    } else if (name == "--shrink") {
      options.shrink = true;
    } else if (name == "--digests") {
      options.digests = true;
    } else if (name == "--steps") {
      options.settings.steps_max = static_cast<std::uint32_t>(parse_number(name, value()));
    } else if (name == "--without") {
      options.settings.without = parse_parts(value());
    } else if (name == "--lie") {
      const std::string lie = value();
      const auto found = named<Lie>(lie_names, lie);
      if (!found) wrong_usage("there is no lie " + lie);
      options.settings.lie = *found;
    } else if (name == "--help" || name == "-h") {
      usage(stdout);
      std::exit(0);
    } else {
      wrong_usage("unknown argument: " + name);
    }
  }
  if (options.schedules == 0 && options.seconds == 0) options.schedules = 10'000;
  return options;
}

// The command that runs one schedule.
std::string command_for(std::uint64_t seed, const Settings& settings) {
  std::string command = "simulate --seed " + std::to_string(seed) + " --schedules 1";
  std::string without;
  for (std::size_t i = 0; i < part_names.size(); ++i) {
    if (settings.has(static_cast<Part>(i))) continue;
    without += (without.empty() ? " --without " : ",");
    without += part_names[i];
  }
  command += without;
  if (settings.steps_max != UINT32_MAX) command += " --steps " + std::to_string(settings.steps_max);
  if (settings.lie != Lie::none) {
    command.append(" --lie ").append(lie_names[static_cast<std::size_t>(settings.lie)]);
  }
  return command + " --trace";
}

// What is wrong, but for names and numbers.
std::string kind_of(const std::string& what) {
  std::string kind = what.substr(std::min(what.find(' '), what.size()));
  std::erase_if(kind, [](char c) { return c >= '0' && c <= '9'; });
  return kind.substr(0, 40);
}

// Leaves out one part after the other, and steps from the end, as long as the schedule still fails.
Settings shrink(Simulation& simulation, std::uint64_t seed, const std::string& what) {
  Settings& settings = simulation.settings();
  const auto still_fails = [&] { return kind_of(simulation.run(seed)) == kind_of(what); };
  for (std::size_t i = 0; i < part_names.size(); ++i) {
    const Settings before = settings;
    settings.without |= 1U << i;
    if (!still_fails()) settings = before;
  }
  std::uint32_t fails = 256;
  for (std::uint32_t fewer = 128; fewer != 0; fewer /= 2) {
    settings.steps_max = fails - std::min(fewer, fails);
    if (still_fails()) fails = settings.steps_max;
  }
  settings.steps_max = fails;
  return settings;
}

int report_failure(Simulation& simulation, const Options& options, std::uint64_t seed,
                   const std::string& what) {
  std::printf("simulate: seed %llu: %s\n", static_cast<unsigned long long>(seed), what.c_str());
  Settings settings = options.settings;
  if (options.shrink) {
    settings = shrink(simulation, seed, what);
    std::printf("smallest: %s\n", simulation.run(seed).c_str());
  }
  std::printf("to see it: %s\n", command_for(seed, settings).c_str());
  return 1;
}

int simulate(const Options& options) {
  Simulation simulation(options.settings);
  const auto begin = Clock::now();
  auto progress_at = begin + progress_after;
  std::uint64_t done = 0;
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  for (; options.schedules == 0 || done < options.schedules; ++done) {
    if (done % 16 == 0 && options.seconds != 0 && seconds() >= options.seconds) break;
    const std::uint64_t seed = options.seed + done;
    seed_at_hand = seed;
    ::alarm(options.settings.trace ? 0 : hangs_after_seconds);
    const std::string what = simulation.run(seed);
    if (!what.empty()) return report_failure(simulation, options, seed, what);
    if (options.digests) {
      std::printf("%llu %016llx\n", static_cast<unsigned long long>(seed),
                  static_cast<unsigned long long>(simulation.digest()));
    }
    if (done % 16 != 0 || Clock::now() < progress_at) continue;
    progress_at += progress_after;
    std::printf("%llu schedules, %.0f a second\n", static_cast<unsigned long long>(done),
                static_cast<double>(done) / seconds());
    std::fflush(stdout);
  }
  std::printf("%s", simulation.tally().text().c_str());
  std::printf("simulate: %llu schedules from seed %llu on, %.0f a second; nothing is wrong\n",
              static_cast<unsigned long long>(done), static_cast<unsigned long long>(options.seed),
              static_cast<double>(done) / seconds());
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
  std::printf("simulate: from seed %llu on\n", static_cast<unsigned long long>(options.seed));
  std::fflush(stdout);
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGALRM})
    std::signal(signal, on_fatal);
  try {
    return simulate(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simulate: seed %llu: %s\n", static_cast<unsigned long long>(seed_at_hand),
                 error.what());
    return 1;
  }
}
