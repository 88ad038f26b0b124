// Tables of what each process has done, by its own books.
#include "summary.hpp"

#include <cstddef>
#include <cstdio>
#include <string>

#include <fmt/format.h>

#include "text.hpp"

namespace demo {

namespace {

std::string load(const Outcome& outcome, std::size_t child) {
  return percent(outcome.last.children[child].cpu_seconds / outcome.seconds);
}

std::string remark_of(const Outcome& outcome, std::size_t child) {
  if (child == killed_builder && outcome.builder_killed) return "killed";
  return {};
}

std::string busy_text(const CardReport& report) {
  if (report.times_busy == 0) return "never";
  return fmt::format("{:.1f} s, {}", report.busy_seconds,
                     report.times_busy == 1 ? "once" : fmt::format("{} times", report.times_busy));
}

void print_totals(const Outcome& outcome) {
  std::uint64_t bytes = 0;
  for (const Ledger::Line& line : outcome.last.built) bytes += line.bytes;
  const auto events = static_cast<double>(outcome.built.times);
  print(stdout, "\n{}{} events of {} fragments in {:.1f} s: {} a second, {:.1f} MB/s.\n",
        outcome.interrupted ? "Interrupted. " : "", grouped(outcome.built.events), card_count,
        outcome.seconds, grouped(events / outcome.seconds),
        static_cast<double>(bytes) / 1e6 / outcome.seconds);
  print(stdout, "The manager gave {} ranges of events to the builders{}.\n",
        grouped(outcome.manager.assigned),
        outcome.manager.again == 0 ? ""
                                   : fmt::format(", {} of them a second time: a lease was over",
                                                 grouped(outcome.manager.again)));
}

void print_cards(const Outcome& outcome) {
  print(stdout, "\n{:<17}{:>12}{:>12}{:>8}{:>9}{:>19}{:>8}\n", "Fragments", "sent", "settled",
        "held", "resent", "busy", "CPU");
  for (std::size_t card = 0; card < card_count; ++card) {
    const CardReport& report = outcome.last.children[card].card;
    print(stdout, "  {:<15}{:>12}{:>12}{:>8}{:>9}{:>19}{:>8}\n", roles[card].name,
          grouped(report.books.sent), grouped(report.books.settled), grouped(report.books.held),
          grouped(report.books.resent), busy_text(report), load(outcome, card));
  }
}

void print_builders(const Outcome& outcome) {
  print(stdout, "\n{:<17}{:>12}{:>12}{:>8}{:>9}{:>19}{:>8}\n", "Events", "built", "\"again\"",
        "wrong", "", "to the recorder", "CPU");
  for (std::size_t i = 0; i < builder_processes; ++i) {
    const std::size_t child = first_builder + i;
    if (child == restarted_builder && !outcome.builder_restarted) continue;
    const Ledger::Line& line = outcome.last.built[i];
    const BuilderReport& report = outcome.last.children[child].builder;
    print(stdout, "  {:<15}{:>12}{:>12}{:>8}{:>9}{:>19}{:>8}\n", roles[child].name,
          grouped(line.events), grouped(line.again), grouped(report.damaged + report.incomplete),
          remark_of(outcome, child),
          grouped(outcome.last.children[recorder_index].subscriber.events_of[i]),
          load(outcome, child));
  }
}

void print_subscribers(const Outcome& outcome) {
  print(stdout, "\n{:<17}{:>12}{:>12}{:>8}{:>28}{:>8}\n", "Events", "received", "missed", "wrong",
        "age p50, p99, max (ms)", "CPU");
  for (const std::size_t child : {recorder_index, monitor_index}) {
    const SubscriberReport& report = outcome.last.children[child].subscriber;
    std::uint64_t received = 0;
    for (const std::uint64_t events : report.events_of) received += events;
    print(stdout, "  {:<15}{:>12}{:>12}{:>8}{:>28}{:>8}\n", roles[child].name, grouped(received),
          grouped(report.missed), grouped(report.damaged),
          fmt::format("{}, {}, {}", in_ms(report.age_p50_ns), in_ms(report.age_p99_ns),
                      in_ms(report.age_max_ns)),
          load(outcome, child));
  }
  print(stdout, "  {:<67}{:>16}\n", "manager",
        percent(outcome.last.manager_cpu_seconds / outcome.seconds));
}

}  // namespace

void print_summary(const Outcome& outcome) {
  print_totals(outcome);
  print_cards(outcome);
  print_builders(outcome);
  print_subscribers(outcome);
}

}  // namespace demo
