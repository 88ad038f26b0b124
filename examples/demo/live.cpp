// Rates of events are of the time between two lines. They come from the ledger, so they are exact,
// whatever state the processes are in.
#include "live.hpp"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

#include <fmt/format.h>

#include "card.hpp"
#include "text.hpp"

namespace demo {

namespace {

constexpr double lines_wanted = 40;

std::uint64_t events(const Snapshot& at) {
  std::uint64_t sum = 0;
  for (const Ledger::Line& line : at.built) sum += line.events;
  return sum;
}

std::uint64_t bytes(const Snapshot& at) {
  std::uint64_t sum = 0;
  for (const Ledger::Line& line : at.built) sum += line.bytes;
  return sum;
}

std::uint64_t seen_by_monitor(const Snapshot& at) {
  std::uint64_t sum = 0;
  for (const std::uint64_t seen : at.children[monitor_index].subscriber.events_of) sum += seen;
  return sum;
}

double per_second(std::uint64_t before, std::uint64_t now, double seconds) {
  return now <= before || seconds <= 0 ? 0 : static_cast<double>(now - before) / seconds;
}

// The fullest store of a card, or that a card is busy.
std::string store_of(const Snapshot& now) {
  std::uint64_t held = 0;
  bool busy = false;
  for (std::size_t card = 0; card < card_count; ++card) {
    held = std::max(held, now.children[card].card.books.held_bytes);
    busy = busy || now.children[card].card.busy != 0;
  }
  if (busy) return "BUSY";
  return percent(static_cast<double>(held) / static_cast<double>(store_bytes_max));
}

}  // namespace

Live::Live(double run_seconds)
    : terminal_(isatty(STDOUT_FILENO) == 1),
      period_(
          static_cast<std::int64_t>(std::clamp(1000 * run_seconds / lines_wanted, 250.0, 1000.0))) {
  cpu_texts_.fill("-");
}

// The columns are those of show().
void Live::head(const Snapshot& now) {
  before_ = now;
  (void)cpu_of_all(now);
  print(stdout, "{:>38}{:>25}{:>8}   CPU, % of one core\n", "events built a second",
        "events a second", "fullest");
  print(stdout, "{:>7}{:>9}{:>11}{:>11}{:>7}{:>10}{:>8}{:>8}   {:<14}{:>10}{:>5}{:>5}{:>5}\n",
        "time", "all", "builder 1", "builder 2", "MB/s", "recorder", "monitor", "store", "4 cards",
        "builders", "rec.", "mon.", "man.");
}

void Live::show(const Snapshot& now) {
  const double passed = now.seconds - before_.seconds;
  print(stdout, "{:5.1f} s {:>8}{:>11}{:>11}{:>7.1f}{:>10}{:>8}{:>8} {}\n", now.seconds,
        grouped(per_second(events(before_), events(now), passed)), built_by(now, 0),
        built_by(now, 1), per_second(bytes(before_), bytes(now), passed) / 1e6,
        now.states[recorder_index] == State::stopped
            ? "stopped"
            : grouped(per_second(before_.recorded, now.recorded, passed)),
        grouped(per_second(seen_by_monitor(before_), seen_by_monitor(now), passed)), store_of(now),
        cpu_of_all(now));
  std::fflush(stdout);
  before_ = now;
}

void Live::note(double seconds, std::string_view what) const {
  print(stdout, "{}{:5.1f} s  > {}{}\n", terminal_ ? "\x1b[1m" : "", std::max(seconds, 0.0), what,
        terminal_ ? "\x1b[0m" : "");
  std::fflush(stdout);
}

// The second builder is two processes, one after the other.
std::string Live::built_by(const Snapshot& now, std::size_t process) const {
  std::uint64_t was = before_.built[process].events;
  std::uint64_t is = now.built[process].events;
  bool here = now.states[first_builder + process] != State::absent;
  if (first_builder + process == killed_builder) {
    const std::size_t again = restarted_builder - first_builder;
    was += before_.built[again].events;
    is += now.built[again].events;
    here = here || now.states[restarted_builder] != State::absent;
  }
  if (!here && was == is) return "killed";
  return grouped(per_second(was, is, now.seconds - before_.seconds));
}

// Between two reports; a process that does not report keeps its last figure.
std::string Live::cpu_of(const Snapshot& now, std::size_t child) {
  if (now.states[child] == State::absent) return "-";
  const Report& report = now.children[child];
  const Report& last = cpu_reports_[child];
  if (report.at_ns > last.at_ns && last.at_ns != 0) {
    const double seconds = static_cast<double>(report.at_ns - last.at_ns) / 1e9;
    cpu_texts_[child] =
        fmt::format("{:.0f}", 100 * (report.cpu_seconds - last.cpu_seconds) / seconds);
  }
  cpu_reports_[child] = report;
  return now.states[child] == State::stopped ? "0" : cpu_texts_[child];
}

std::string Live::cpu_of_all(const Snapshot& now) {
  std::string text;
  for (std::size_t card = 0; card < card_count; ++card) {
    text += fmt::format("{:>4}", cpu_of(now, card));
  }
  const bool restarted = now.states[restarted_builder] != State::absent;
  const double manager =
      (now.manager_cpu_seconds - before_.manager_cpu_seconds) / (now.seconds - before_.seconds);
  return text + fmt::format("  {:>4}{:>4} {:>4}{:>5}{:>5.0f}", cpu_of(now, first_builder),
                            cpu_of(now, restarted ? restarted_builder : killed_builder),
                            cpu_of(now, recorder_index), cpu_of(now, monitor_index), 100 * manager);
}

}  // namespace demo
