// See program.hpp.
#include "simulation/program.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <unistd.h>

namespace netio::test {

namespace {

using Clock = std::chrono::steady_clock;

// Of one schedule, which takes some milliseconds at most.
constexpr unsigned hangs_after_seconds = 60;
constexpr std::chrono::seconds progress_after{10};

// For a signal handler: no memory, no stdio.
const char* program_at_hand = "";
volatile std::uint64_t seed_at_hand = 0;

void write_text(std::string_view text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }

void on_fatal(int signal) {
  char digits[24];
  char* at = digits + sizeof digits;
  std::uint64_t number = seed_at_hand;
  do {
    *--at = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  write_text({program_at_hand, std::strlen(program_at_hand)});
  write_text(signal == SIGALRM ? ": a schedule hangs: --seed "
                               : ": a schedule ends the process: --seed ");
  write_text({at, static_cast<std::size_t>(digits + sizeof digits - at)});
  write_text(" --schedules 1 --trace shows it\n");
  if (signal == SIGALRM) ::_exit(1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// For printf.
unsigned long long wide(std::uint64_t number) { return number; }

}  // namespace

Program::Program(const char* name, std::uint64_t schedules) : name_(name), schedules_(schedules) {}

int Program::run(int argc, char** argv) {
  parse(argc, argv);
  if (!seed_given_) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    seed_ = static_cast<std::uint64_t>(now.count()) / 1000 % 1'000'000'000;
  }
  std::printf("%s: from seed %llu on\n", name_, wide(seed_));
  std::fflush(stdout);
  program_at_hand = name_;
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGALRM})
    std::signal(signal, on_fatal);
  try {
    return play_all();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: seed %llu: %s\n", name_, wide(seed_at_hand), error.what());
    return 1;
  }
}

void Program::parse(int argc, char** argv) {
  bool schedules_given = false;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const std::function<std::string()> value = [&]() -> std::string {
      if (i + 1 == argc) wrong_usage(option + " needs a value");
      return argv[++i];
    };
    if (option == "--schedules") {
      schedules_ = number(option, value());
      if (schedules_ == 0) wrong_usage(option + " needs 1 at least");
      schedules_given = true;
    } else if (option == "--seconds") {
      seconds_ = static_cast<double>(number(option, value()));
    } else if (option == "--seed") {
      seed_ = number(option, value());
      seed_given_ = true;
    } else if (option == "--trace") {
      trace_ = true;
    } else if (option == "--digests") {
      digests_ = true;
    } else if (option == "--help" || option == "-h") {
      usage(stdout);
      std::exit(0);
    } else if (!take(option, value)) {
      wrong_usage("unknown argument: " + option);
    }
  }
  if (seconds_ != 0 && !schedules_given) schedules_ = UINT64_MAX;
}

int Program::play_all() {
  const auto begin = Clock::now();
  auto progress_at = begin + progress_after;
  std::uint64_t done = 0;
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  const auto rate = [&] { return static_cast<double>(done) / seconds(); };
  for (; done < schedules_ && (seconds_ == 0 || seconds() < seconds_); ++done) {
    const std::uint64_t seed = seed_ + done;
    seed_at_hand = seed;
    ::alarm(trace_ ? 0 : hangs_after_seconds);
    const std::string what = play(seed);
    if (!what.empty()) {
      std::printf("%s: seed %llu: %s\n", name_, wide(seed), what.c_str());
      failed(seed, what);
      return 1;
    }
    if (digests_) std::printf("%llu %016llx\n", wide(seed), wide(digest()));
    if (Clock::now() < progress_at) continue;
    progress_at += progress_after;
    std::printf("%llu schedules, %.0f a second\n", wide(done + 1), rate());
    std::fflush(stdout);
  }
  std::printf("%s", tally().c_str());
  std::printf("%s: %llu schedules from seed %llu on, %.0f a second; nothing is wrong\n", name_,
              wide(done), wide(seed_), rate());
  return 0;
}

void Program::wrong_usage(const std::string& what) const {
  std::fprintf(stderr, "%s: %s\n", name_, what.c_str());
  usage(stderr);
  std::exit(2);
}

std::uint64_t Program::number(const std::string& option, const std::string& text) const {
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(text.c_str(), &end, 10);
  if (text.empty() || text[0] < '0' || text[0] > '9' || *end != '\0') {
    wrong_usage(option + " needs a number");
  }
  return number;
}

std::size_t Program::named(Names names, const char* kind, std::string_view name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    wrong_usage("there is no " + std::string(kind) + " " + std::string(name));
  }
  return static_cast<std::size_t>(found - names.begin());
}

std::uint32_t Program::bits(Names names, const char* kind, std::string_view text) const {
  std::uint32_t bits = 0;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    bits |= 1U << named(names, kind, text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return bits;
}

void Program::print(std::FILE* to, const char* what, Names names) {
  std::fprintf(to, "%s:", what);
  for (const std::string_view name : names) {
    std::fprintf(to, " %.*s", static_cast<int>(name.size()), name.data());
  }
  std::fprintf(to, "\n");
}

std::string Program::command(std::uint64_t seed, Names parts, std::uint32_t without,
                             const std::string& options) const {
  std::string command = std::string(name_) + " --seed " + std::to_string(seed) + " --schedules 1";
  const char* before = " --without ";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if ((without >> i & 1U) == 0) continue;
    command.append(before).append(parts[i]);
    before = ",";
  }
  return command + options + " --trace";
}

}  // namespace netio::test
