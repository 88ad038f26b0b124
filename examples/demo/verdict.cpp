// What has to be true of the books, and what is wrong with them otherwise.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "summary.hpp"
#include "text.hpp"

namespace demo {

namespace {

using Faults = std::vector<std::string>;

// Every fragment of an event below the end is settled, and the card holds those above it.
void judge_card(const Outcome& outcome, std::size_t card, Faults& faults) {
  const Report& report = outcome.last.children[card];
  const netio::ReadoutBooks& books = report.card.books;
  const std::uint64_t beyond = report.card.next - outcome.end;
  if (report.final == 0) return faults.push_back("it ended without its last report");
  if (report.card.end != outcome.end || report.card.next < outcome.end) {
    return faults.push_back("it did not end where the manager has stopped");
  }
  if (books.sent != report.card.next) faults.push_back("not every event was sent");
  if (books.settled != outcome.end) faults.push_back("not every fragment is settled");
  if (books.held != beyond) faults.push_back("it holds fragments that were to be built");
  if (books.dropped + books.late != 0) faults.push_back("fragments were dropped, or late");
}

// Both ends of a subscription agree, and the recorder has lost nothing.
void judge_subscriptions(const Outcome& outcome, std::size_t process, Faults& faults) {
  const BuilderReport& builder = outcome.last.children[first_builder + process].builder;
  const std::uint64_t built = outcome.last.built[process].events;
  const SubscriberReport& recorder = outcome.last.children[recorder_index].subscriber;
  const SubscriberReport& monitor = outcome.last.children[monitor_index].subscriber;
  if (builder.recorder.sent != built || builder.recorder.acknowledged != built ||
      recorder.events_of[process] != built || recorder.missed_of[process] != 0) {
    faults.push_back("the recorder does not have all its events");
  }
  const netio::Books& books = builder.monitor;
  if (books.sent != books.acknowledged + books.dropped() || books.unsettled() != 0) {
    faults.push_back("its books of the monitor do not add up");
  }
  if (monitor.events_of[process] != books.acknowledged ||
      monitor.missed_of[process] != books.dropped()) {
    faults.push_back("the monitor's books are not the same");
  }
}

void judge_builder(const Outcome& outcome, std::size_t process, Faults& faults) {
  const std::size_t child = first_builder + process;
  const Report& report = outcome.last.children[child];
  if (child == restarted_builder && !outcome.builder_restarted) return;
  if (report.builder.incomplete != 0) faults.push_back("it built incomplete events");
  if (report.builder.damaged != 0) faults.push_back("it was given damaged fragments");
  // What a killed builder has built is in the ledger; its other books are gone.
  if (child == killed_builder && outcome.builder_killed) {
    if (outcome.last.children[recorder_index].subscriber.events_of[process] >
        outcome.last.built[process].events) {
      faults.push_back("the recorder has more of its events than it built");
    }
    return;
  }
  if (report.final == 0) return faults.push_back("it ended without its last report");
  judge_subscriptions(outcome, process, faults);
}

void judge_events(const Ledger::Count& count, Faults& faults) {
  if (count.good()) return;
  faults.push_back(
      fmt::format("missing: {}; twice without a mark: {}; that no card has sent: {}; the first is "
                  "event {}",
                  grouped(count.missing), grouped(count.unmarked_twice), grouped(count.unknown),
                  grouped(count.first_fault)));
}

// The ledger and the books have counted the same. A builder that was killed may have counted one
// event that it did not get to enter.
void judge_sums(const Outcome& outcome, Faults& faults) {
  std::uint64_t built = 0;
  std::uint64_t again = 0;
  for (const Ledger::Line& line : outcome.last.built) {
    built += line.events;
    again += line.again;
  }
  const std::uint64_t not_entered = outcome.builder_killed ? 1 : 0;
  if (built - outcome.built.times > not_entered || again - outcome.built.marked > not_entered) {
    faults.push_back("the builders do not agree with the ledger");
  }
}

void name(Faults& all, std::string_view who, const Faults& faults) {
  for (const std::string& fault : faults) all.push_back(fmt::format("{}: {}", who, fault));
}

Faults faults_of(const Outcome& outcome) {
  Faults all;
  for (std::size_t child = 0; child < child_count; ++child) {
    Faults faults;
    if (child < card_count) {
      judge_card(outcome, child, faults);
    } else if (child < recorder_index) {
      judge_builder(outcome, child - first_builder, faults);
    } else {
      const Report& report = outcome.last.children[child];
      if (report.final == 0) faults.push_back("it ended without its last report");
      if (report.subscriber.damaged != 0) faults.push_back("it received damaged events");
    }
    name(all, roles[child].name, faults);
  }
  Faults faults;
  judge_events(outcome.built, faults);
  judge_sums(outcome, faults);
  name(all, "events built", faults);
  faults.clear();
  judge_events(outcome.recorded, faults);
  name(all, "events recorded", faults);
  return all;
}

}  // namespace

bool verify(const Outcome& outcome) {
  const Faults faults = faults_of(outcome);
  if (faults.empty()) {
    const Ledger::Count& built = outcome.built;
    print(stdout,
          "\nVerified: all {} fragments of {} events were built, and every byte is right.\n"
          "The recorder has every event.{}\n",
          grouped(built.events * card_count), grouped(built.events),
          built.several == 0
              ? ""
              : fmt::format(" {} events were built more than once, and are marked \"again\".",
                            grouped(built.several)));
    return true;
  }
  print(stdout, "\nNOT VERIFIED:\n");
  for (const std::string& fault : faults) print(stdout, "  {}\n", fault);
  return false;
}

}  // namespace demo
