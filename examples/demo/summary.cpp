// Figures first, then the verdict: the line that begins with "Verified" or "NOT VERIFIED".
#include "summary.hpp"

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "text.hpp"

namespace demo {

void print_summary(const Outcome& outcome, const Card& card) {
  const Snapshot& last = outcome.last;
  const Report& trigger = last.children[trigger_index];
  const double seconds = outcome.seconds;
  const auto load = [&](double cpu_seconds) { return percent(cpu_seconds / seconds); };
  const auto load_of = [&](std::size_t role) { return load(last.children[role].cpu_seconds); };
  print(stdout, "\n{}{} fragments, {:.2f} GB in {:.1f} s: {} a second, {:.1f} MB/s\n",
        outcome.interrupted ? "Interrupted. " : "", grouped(last.sent),
        static_cast<double>(last.sent_bytes) / 1e9, outcome.card_seconds,
        grouped(static_cast<double>(last.sent) / outcome.card_seconds),
        static_cast<double>(last.sent_bytes) / 1e6 / outcome.card_seconds);
  print(stdout,
        "  back-pressure  again: {}, busy: {} (card held off for {:.2f} s), overruns at the card, "
        "not published: {}\n",
        grouped(outcome.counters.agains), grouped(last.times_busy), card.held_seconds(),
        grouped(card.overruns()));
  print(stdout,
        "  CPU            read-out {}, its card's thread {}, builders {} and {}, recorder {}, "
        "monitor {}, trigger {}\n",
        load(outcome.cpu_seconds - card.cpu_seconds()), load(card.cpu_seconds()), load_of(0),
        load_of(1), load_of(recorder_index),
        load(last.children[monitor_index].cpu_seconds +
             last.children[monitor_again_index].cpu_seconds),
        load_of(trigger_index));
  if (trigger.final == 0) return;  // what is known is not of the whole run
  print(stdout, "  round trip     p50 {}, p99 {}, p99.9 {}, max {} ({} triggers)\n",
        microseconds(trigger.p50_ns), microseconds(trigger.p99_ns), microseconds(trigger.p999_ns),
        microseconds(trigger.max_ns), grouped(trigger.round_trips));
}

bool verify(const Outcome& outcome, const Card& card, std::span<const Ledger> ledgers) {
  const Comparison found = compare(ledgers, card.made_by_link());
  std::uint64_t damaged = 0;
  std::uint64_t twice = 0;
  std::uint64_t out_of_order = 0;
  for (const Report& report : outcome.last.children) {
    damaged += report.damaged;
    twice += report.twice;
    out_of_order += report.out_of_order;
  }
  const bool good = found.once == card.made() && damaged + twice + out_of_order == 0 &&
                    found.missing + found.several + found.unknown == 0;
  if (good) {
    print(stdout,
          "Verified: {} fragments from {} links, each arrived at its builder exactly once, in "
          "order and undamaged.\n",
          grouped(found.once), link_count);
  } else {
    print(stdout,
          "NOT VERIFIED: of {} fragments {} arrived once, {} are missing, {} came to several "
          "builders or {} twice to one, {} were never made, {} damaged, {} out of order. "
          "{}\n",
          card.made(), found.once, found.missing, found.several, twice, found.unknown, damaged,
          out_of_order, found.first_fault);
  }
  return good;
}

}  // namespace demo
