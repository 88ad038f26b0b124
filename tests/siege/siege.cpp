// siege [--seconds S] [--only TEXT] [--untimed] [--list]: each attack in turn, beside a verified
// flow at half of the rate that this machine reaches, and what came of it. Status 1 if an attack
// had an effect.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "siege/attack.hpp"
#include "siege/flow.hpp"
#include "support/paths.hpp"

namespace netio::test {

namespace {

using Clock = Attack::Clock;
using namespace std::chrono_literals;

// The bars.
constexpr double least_rate = 0.9;
constexpr double lines_a_second_max = 1.0;
// What the command itself may say at its start and end, and threads and descriptors that come with
// the first of something.
constexpr std::int64_t lines_beside = 4;
constexpr std::int64_t left_over_max = 2;

// An attacker has a machine of its own; here it shares this one.
constexpr int attacker_nice = 10;

// In a process of its own, so that what it takes is not the victim's, and goes with it.
class Attacker {
 public:
  Attacker(const Attack& attack, const std::string& address, std::chrono::duration<double> time) {
    pid_ = ::fork();
    if (pid_ != 0) return;
    (void)!::nice(attacker_nice);
    int status = 0;
    try {
      attack.run(address, Clock::now() + std::chrono::duration_cast<Clock::duration>(time));
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: the attacker gave up: %s\n", attack.name, error.what());
      status = 1;
    }
    ::_exit(status);
  }
  Attacker(const Attacker&) = delete;
  Attacker& operator=(const Attacker&) = delete;
  ~Attacker() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  }
  // Once it has ended; whether it went on to its end.
  [[nodiscard]] bool ended(bool& well) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == 0) return false;
    pid_ = -1;
    well = status == 0;
    return true;
  }

 private:
  pid_t pid_;
};

double machine_rate(const std::string& netio, const Attack& attack) {
  Flow flow(netio, attack, 0);
  std::this_thread::sleep_for(1s);
  const Flow::Result result = flow.end();
  return static_cast<double>(result.received) / result.seconds;
}

struct Outcome {
  double rate_ratio = 0;
  double lines_a_second = 0;
  std::int64_t resident_mib = 0;  // grown by, at most
  std::int64_t descriptors = 0;   // left over
  std::int64_t threads = 0;
  std::string trouble;
};

// What is there when the attacker has gone, within a time that bounds greetings and closes.
Holding settled(Flow& flow, const Holding& before) {
  Holding now = flow.holding();
  for (const auto until = Clock::now() + 15s; Clock::now() < until; now = flow.holding()) {
    if (now.descriptors <= before.descriptors && now.threads <= before.threads) break;
    std::this_thread::sleep_for(50ms);
  }
  return now;
}

Outcome besiege(const std::string& netio, const Attack& attack, double seconds, double rate) {
  Outcome outcome;
  Flow flow(netio, attack, rate);
  const Holding before = flow.holding();
  const std::int64_t lines_before = flow.lines();
  std::int64_t most_kib = before.resident_kib;
  bool well = false;
  const auto begin = Clock::now();
  Attacker attacker(attack, flow.address(), std::chrono::duration<double>(seconds));
  while (!attacker.ended(well)) {
    if (!flow.running()) {
      outcome.trouble = "the flow ended under attack; " + flow.end().trouble;
      return outcome;
    }
    most_kib = std::max(most_kib, flow.holding().resident_kib);
    std::this_thread::sleep_for(20ms);
  }
  const std::chrono::duration<double> attacked = Clock::now() - begin;
  if (!well) outcome.trouble = "the attack could not be made; ";
  const Holding after = settled(flow, before);
  const std::int64_t said = flow.lines() - lines_before - lines_beside;
  const Flow::Result result = flow.end();
  outcome.trouble += result.trouble;
  // Beside the attack it went at its rate.
  const double calm = result.seconds - attacked.count();
  outcome.rate_ratio = (static_cast<double>(result.received) / rate - calm) / attacked.count();
  outcome.lines_a_second = static_cast<double>(std::max<std::int64_t>(said, 0)) / attacked.count();
  outcome.resident_mib = (most_kib - before.resident_kib) / 1024;
  outcome.descriptors = after.descriptors - before.descriptors;
  outcome.threads = after.threads - before.threads;
  return outcome;
}

// Why this is no good outcome; empty if it is one.
std::string verdict(const Attack& attack, const Outcome& outcome, bool timed) {
  std::string wrong = outcome.trouble;
  if (timed && outcome.rate_ratio < least_rate) wrong += "slowed down; ";
  if (timed && outcome.lines_a_second > lines_a_second_max) wrong += "too many lines; ";
  if (outcome.resident_mib > attack.resident_mib_max) wrong += "too much memory; ";
  if (outcome.descriptors > left_over_max) wrong += "descriptors are left; ";
  if (outcome.threads > left_over_max) wrong += "threads are left; ";
  return wrong;
}

std::vector<Attack> all_attacks() {
  std::vector<Attack> all;
  for (const auto& some :
       {attacks_over_tcp(), attacks_by_tags(), attacks_in_shared_memory(), attacks_on_a_fabric()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

// Attackers have many connections, and the commands raise their limits themselves.
void raise_limits() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

int besiege_by_all(const std::string& netio, double seconds, std::string_view only, bool timed) {
  raise_limits();
  std::printf("%-14s %6s %9s %8s %6s %6s %8s  %s\n", "attack", "rate", "of msg/s", "memory", "fds",
              "threads", "lines/s", "by");
  bool good = true;
  for (const Attack& attack : all_attacks()) {
    if (std::string_view(attack.name).find(only) == std::string_view::npos) continue;
    const double rate = machine_rate(netio, attack) / 2;
    const Outcome outcome = besiege(netio, attack, seconds, rate);
    const std::string wrong = verdict(attack, outcome, timed);
    good = good && wrong.empty();
    std::printf("%-14s %6.3f %9.0f %4lld MiB %6lld %6lld %8.2f  %s%s%s\n", attack.name,
                outcome.rate_ratio, rate, static_cast<long long>(outcome.resident_mib),
                static_cast<long long>(outcome.descriptors),
                static_cast<long long>(outcome.threads), outcome.lines_a_second, attack.what,
                wrong.empty() ? "" : ": ", wrong.c_str());
    std::fflush(stdout);
  }
  std::printf("siege: %s\n", good ? "no attack had an effect" : "an attack had an effect");
  return good ? 0 : 1;
}

int usage(int status) {
  std::fputs(
      "Usage: siege [--seconds S] [--only TEXT] [--untimed] [--list]\n"
      "Each attack for S seconds (60), or those whose name contains TEXT, beside a verified flow "
      "at\n"
      "half of the rate of this machine: nothing may be lost, the rate stays above 0.9, memory is\n"
      "bounded, no thread or descriptor is left over, and the victim says a line a second at "
      "most.\n"
      "With --untimed the rate and the lines are printed and not judged: for busy machines, and "
      "for\n"
      "less than a minute, in which the lines that a command may say at once count for too much.\n"
      "Status: 0 no attack had an effect, 1 one had, 2 wrong usage.\n",
      status == 0 ? stdout : stderr);
  return status;
}

}  // namespace

}  // namespace netio::test

int main(int argc, char** argv) {
  double seconds = 60;
  std::string only;
  bool timed = true;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--help") return netio::test::usage(0);
    if (argument == "--untimed") {
      timed = false;
      continue;
    }
    if (argument == "--list") {
      for (const auto& attack : netio::test::all_attacks()) {
        std::printf("%-14s %s\n", attack.name, attack.what);
      }
      return 0;
    }
    if (i + 1 == argc) return netio::test::usage(2);
    if (argument == "--seconds") {
      seconds = std::strtod(argv[++i], nullptr);
    } else if (argument == "--only") {
      only = argv[++i];
    } else {
      return netio::test::usage(2);
    }
  }
  if (!(seconds > 0)) return netio::test::usage(2);
  try {
    return netio::test::besiege_by_all(netio::test::netio_program(), seconds, only, timed);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "siege: %s\n", error.what());
    return 1;
  }
}
