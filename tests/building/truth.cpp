// See truth.hpp.
#include "building/truth.hpp"

#include <algorithm>

#include "building/manager_wires.hpp"
#include "building/simulated_builder.hpp"
#include "building/simulated_manager.hpp"
#include "building/simulated_unit.hpp"
#include "building/wires.hpp"

namespace netio::test {

using detail::BuiltEvent;
using detail::EventId;
using detail::Missing;

Truth::Event& Truth::event(EventId id) {
  Event& event = events_[id];
  if (event.fragments.empty()) event.fragments.resize(play_.drawn.plan.sources);
  return event;
}

std::string Truth::name(const BuiltEvent& built, std::uint32_t source) const {
  return "event " + text(built.id) + " misses source " + text(source);
}

void Truth::judge(SimulatedBuilder& builder, const BuiltEvent& built, EventId position) {
  const bool managed = play_.drawn.plan.managed;

  play_.say("builder " + text(builder.number()) + " hands over " + text(built.id) +
            (built.complete ? "" : ", incomplete") + (built.again ? ", again" : ""));
  if (!managed && play_.drawn.plan.builder_of(built.id) != builder.number()) {
    play_.wrong("an event of another builder is handed over");
  }
  if (builder.last && position <= *builder.last) {
    play_.wrong("event " + text(built.id) + " is handed over out of order");
  }
  builder.last = position;
  if (managed) play_.manager->note_hand_over(builder.number(), position.run, builder.clock_ns());
  Event& real = event(built.id);
  bool any = false;
  bool missing = false;
  for (std::uint32_t source = 0; source < play_.units.size(); ++source) {
    any = any || built.fragments[source].here;
    missing = missing || built.missing[source] != Missing::no;
    judge_fragment(builder, built, position, source);
  }
  if (!any) play_.wrong("an event without fragments is handed over");
  if (missing == built.complete) play_.wrong("an event is complete, and misses a source");
  judge_repeat(builder, built, real);
  judge_age(builder, built, position);
  judge_waiting(builder, built);
  ++(built.complete ? play_.tally.complete : play_.tally.incomplete);
  play_.tally.again += built.again ? 1 : 0;
}

// With a manager an event is handed over without the mark `again` once at most, in whatever order.
// Without one, the first time is without the mark if some unit knows what there was before.
void Truth::judge_repeat(const SimulatedBuilder& builder, const BuiltEvent& built, Event& real) {
  if (play_.drawn.plan.managed) {
    if (real.unmarked && !built.again) {
      play_.wrong("event " + text(built.id) + " is handed over twice without the mark");
    }
  } else {
    if (!real.handed_over_by.empty() && !built.again) {
      if (builder.knows_earlier_run) {
        play_.wrong("event " + text(built.id) + " is handed over again, and not marked");
      }
      ++play_.tally.unmarked;
    }
    for (const std::uint64_t run : real.handed_over_by) {
      if (run == builder.run) play_.wrong("event " + text(built.id) + " is handed over twice");
    }
  }
  real.unmarked = real.unmarked || !built.again;
  real.handed_over_by.push_back(builder.run);
}

void Truth::judge_fragment(const SimulatedBuilder& builder, const BuiltEvent& built,
                           EventId position, std::uint32_t source) {
  const detail::OpenFragment& fragment = built.fragments[source];
  TrueFragment& real = of(built.id, source);
  if (!fragment.here) return judge_missing(builder, built, position, source);
  if (fragment.memory != real.memory || fragment.bytes != real.bytes ||
      real.kind != TrueKind::sent) {
    play_.wrong("the fragment of event " + text(built.id) + " is not what source " + text(source) +
                " sent");
  }
  if (built.missing[source] != Missing::no) play_.wrong(name(built, source) + ", which is there");
  ++(built.complete ? real.built : real.incomplete);
  real.used_by = builder.run;
}

// Whether it was handed over, or passed over without a unit that had a fragment of it.
bool Truth::was_passed(const Event& event) {
  if (!event.handed_over_by.empty()) return true;
  for (std::size_t source = 0; source < event.fragments.size(); ++source) {
    const bool excused = (event.excused >> source & 1U) != 0;
    if (excused && event.fragments[source].kind == TrueKind::sent) return true;
  }
  return false;
}

// The reason has to be true.
void Truth::judge_missing(const SimulatedBuilder& builder, const BuiltEvent& built,
                          EventId position, std::uint32_t source) {
  const TrueFragment& real = of(built.id, source);
  const bool same_unit = real.incarnation == play_.units[source]->incarnation;
  switch (built.missing[source]) {
    case Missing::no:
      if (real.kind != TrueKind::nothing) play_.wrong(name(built, source) + " and does not say so");
      return;
    case Missing::dropped:
      ++play_.tally.missing_dropped;
      if (real.kind != TrueKind::dropped) play_.wrong(name(built, source) + ": not dropped");
      return;
    case Missing::not_begun:
      ++play_.tally.missing_not_begun;
      if (same_unit) play_.wrong(name(built, source) + ": the unit had begun");
      return;
    case Missing::forgotten:  // the unit does not know any more where it had nothing
      ++play_.tally.missing_forgotten;
      if (!play_.drawn.plan.managed || !built.again || !was_passed(event(built.id))) {
        play_.wrong(name(built, source) + ": forgotten");
      }
      return;
    case Missing::late:
      ++play_.tally.missing_late;
      break;
    case Missing::not_connected:
      ++play_.tally.missing_not_connected;
      break;
    case Missing::count_:
      play_.wrong(name(built, source) + ": for no reason");
      return;
  }
  // The manager waited for this unit in vain.
  if (built.missing[source] == Missing::late && (real.kind != TrueKind::sent || real.late) &&
      is_excused(built.id, source)) {
    return;
  }
  const Wire& wire = play_.wires->of(source, builder.number());
  if (wire.greeted != (built.missing[source] == Missing::late)) {
    play_.wrong(name(built, source) + ": whether it was connected");
  }
  if (play_.drawn.loses_nothing()) play_.wrong(name(built, source) + ", and nothing was away long");
  judge_late(builder, built, position, source);
}

// It was given its time, and a unit that is well, or is busy, is not late.
void Truth::judge_late(const SimulatedBuilder& builder, const BuiltEvent& built, EventId position,
                       std::uint32_t source) {
  const std::int64_t now = play_.clock.now();
  const std::int64_t deadline = play_.drawn.deadline;
  const Wire& wire = play_.wires->of(source, builder.number());
  const std::int64_t gone = wire.gone_since == 0 ? builder.begun_at : wire.gone_since;
  const bool gone_long = !wire.greeted && now - gone >= deadline;
  const bool early = now - builder.opened.at(position) < deadline - deadline / 4;
  if (early && !gone_long) play_.wrong(name(built, source) + " before its deadline");
  const bool never_met = wire.gone_since == 0 && !wire.greeted;
  if (never_met && now - builder.begun_at < play_.drawn.meet_within) {
    play_.wrong(name(built, source) + ", and had not had the time to come");
  }
  const std::optional<std::int64_t> busy_since = play_.units[source]->busy_with(built.id);
  if (!play_.drawn.plan.managed && busy_since && now - *busy_since > deadline / 2 &&
      builder.stopped_until < *busy_since && unit_is_well(builder, source, *busy_since)) {
    play_.wrong(name(built, source) + ", whose unit is busy");
  }
  const TrueFragment& real = of(built.id, source);
  if (real.kind != TrueKind::sent || real.gone) return;
  const std::int64_t since = std::max(real.at, builder.opened.at(position));
  const std::int64_t stopped =
      std::min(now, builder.stopped_until) - std::max(since, builder.stopped_from);
  const std::int64_t waited = now - since - std::max<std::int64_t>(stopped, 0);
  if (waited > deadline / 2 && unit_is_well(builder, source, since)) {
    play_.wrong(name(built, source) + ", whose unit is well");
  }
}

// Since then, and a deadline before.
bool Truth::unit_is_well(const SimulatedBuilder& builder, std::uint32_t source,
                         std::int64_t since) const {
  const std::int64_t from = since - play_.drawn.deadline;
  const Wire& wire = play_.wires->of(source, builder.number());
  const SimulatedUnit& unit = *play_.units[source];
  const bool well = wire.up && wire.greeted && wire.up_since < from && unit.stopped_until < from &&
                    unit.begun_at < from && builder.begun_at < from;
  if (!play_.drawn.plan.managed) return well;
  const ManagerWire& to_manager = play_.manager_wires->of_unit(source);
  return well && to_manager.up() && to_manager.up_since() < from && play_.manager->lives() &&
         play_.manager->begun_at() < from - 2 * play_.drawn.lease &&
         play_.manager->stopped_until() < from;
}

void Truth::note_fault(std::int64_t until) { faults_.push_back({play_.clock.now(), until}); }

// An event waits for a deadline at most, and each fault may add two and the time that it lasts. If
// a unit is far behind, the events in front of this one may need the window or the turn one after
// the other: each of them adds the time of these messages.
void Truth::judge_age(const SimulatedBuilder& builder, const BuiltEvent& built, EventId position) {
  if (play_.drawn.work != 0 || play_.drawn.keep != 0) return;
  const std::int64_t now = play_.clock.now();
  const std::int64_t opened = builder.opened.at(position);
  const std::int64_t deadline = play_.drawn.deadline;
  std::int64_t most = 2 * deadline + deadline / 2;
  if (now - opened <= most) return;
  for (const Fault& fault : faults_) {
    // A builder without a lease waits for one, for three lease times if its ranges are another's.
    const std::int64_t ends =
        fault.until + deadline + play_.drawn.meet_within + 4 * play_.drawn.lease;
    if (fault.at <= now && ends >= opened) most += ends - fault.at;
  }
  const std::vector<std::int64_t>& before = builder.handed_over_at;
  const auto in_front = before.end() - std::lower_bound(before.begin(), before.end(), opened);
  most += in_front * static_cast<std::int64_t>(2 + 2 * play_.units.size()) * play_.drawn.latency;
  if (now - opened > most) {
    play_.wrong("event " + text(built.id) + " was open for " +
                text(static_cast<std::uint64_t>((now - opened) / us)) + " us, and may be for " +
                text(static_cast<std::uint64_t>(most / us)));
  }
}

// Nobody waits for a unit that has been gone for a deadline, or for as long as it has to be met.
void Truth::judge_waiting(const SimulatedBuilder& builder, const BuiltEvent& built) {
  if (builder.in_message || built.complete || play_.drawn.keep != 0) return;
  if (play_.drawn.plan.managed) return;  // it may have waited for the lease
  const std::int64_t deadline = play_.drawn.meet_within + play_.drawn.deadline / 4;
  for (std::uint32_t source = 0; source < play_.units.size(); ++source) {
    const Missing missing = built.missing[source];
    if (missing == Missing::late) return;
    if (missing != Missing::not_connected) continue;
    const Wire& wire = play_.wires->of(source, builder.number());
    const std::int64_t gone = wire.gone_since == 0 ? builder.begun_at : wire.gone_since;
    if (wire.gone_since == 0 || builder.last_message - gone < deadline) return;
    if (builder.stopped_until + deadline > builder.last_message) return;
  }
  play_.wrong("event " + text(built.id) + " waited for units that have been gone for long");
}

void Truth::note_passed(const SimulatedBuilder& builder, EventId from, EventId below) {
  const Drawn& drawn = play_.drawn;
  if (drawn.plan.managed) {
    const auto& spans = play_.manager->spans_of(builder.number());
    for (auto each = spans.lower_bound(from.run); each != spans.end(); ++each) {
      const auto& [number, span] = *each;
      if (EventId{number, span.from.number} >= below) break;
      for (EventId id = span.from; id < span.below && id.number < drawn.events; id = id.next()) {
        const EventId position{number, id.number};
        if (from <= position && position < below) excuse(builder, id, position);
      }
    }
    return;
  }
  for (EventId id = from; id < below && id < play_.next_event; id = id.next()) {
    if (id.number >= drawn.events) id = {id.run + 1, 0};
    if (id >= below || id >= play_.next_event) return;
    if (drawn.plan.builder_of(id) == builder.number()) excuse(builder, id, id);
  }
}

void Truth::excuse(const SimulatedBuilder& builder, EventId id, EventId position) {
  for (std::uint32_t source = 0; source < play_.units.size(); ++source) {
    if (may_be_passed(builder, position, source)) event(id).excused |= 1U << source;
    if (of(id, source).used_by != builder.run) event(id).passed |= 1U << source;
  }
}

// The unit has been gone for a deadline, or has hung for a deadline.
void Truth::judge_behind(std::uint32_t source) {
  const std::int64_t before = play_.clock.now() - (play_.drawn.deadline - play_.drawn.deadline / 4);
  const SimulatedUnit& unit = *play_.units[source];
  const bool gone = play_.manager->gone_since(source) <= before;
  // A manager that was stopped has not heard yet what the unit did meanwhile.
  const std::int64_t now = play_.clock.now();
  const bool was_stopped = play_.manager->stopped_until() > now - play_.drawn.deadline / 2;
  const std::int64_t seen = was_stopped ? play_.manager->stopped_from() : now;
  // If it goes on now, the manager has not heard of it, or not of anything that it has produced.
  const std::int64_t until = seen - play_.drawn.deadline / 4;
  const bool hangs =
      unit.was_stopped(was_stopped ? seen - play_.drawn.deadline / 2 : before, until);
  if (!gone && !hangs) play_.wrong("the manager does not wait for source " + text(source));
}

// Units that are not waited for.
void Truth::note_not_waited_for(const detail::EventSpan& span) {
  std::uint32_t behind = 0;
  for (std::uint32_t source = 0; source < play_.units.size(); ++source) {
    if (play_.manager->is_behind(source)) behind |= 1U << source;
  }
  if (behind == 0) return;
  for (EventId id = span.from; id < span.below && id < play_.next_event; id = id.next()) {
    if (id.number >= play_.drawn.events) id = {id.run + 1, 0};
    if (id < span.below) event(id).excused |= behind;
  }
}

// Whether the source has been gone for a deadline, or was given its deadline for this event.
bool Truth::may_be_passed(const SimulatedBuilder& builder, EventId position,
                          std::uint32_t source) const {
  const std::int64_t now = play_.clock.now();
  const std::int64_t deadline = play_.drawn.deadline - play_.drawn.deadline / 4;
  const Wire& wire = play_.wires->of(source, builder.number());
  const std::int64_t gone = wire.gone_since == 0 ? builder.begun_at : wire.gone_since;
  return (!wire.greeted && now - gone >= deadline) || now - builder.heard_of(position) >= deadline;
}

void Truth::judge_end() {
  for (const auto& [id, event] : events_) {
    if (event.handed_over_by.empty()) judge_never_built(id, event);
  }
}

// Everything is settled. A builder that was killed may have used more than it has told.
void Truth::judge_books(const SimulatedUnit& unit) {
  std::uint64_t sent = 0;
  std::uint64_t built = 0;
  std::uint64_t incomplete = 0;
  std::uint64_t unused = 0;
  std::uint64_t passed = 0;
  for (const auto& [id, event] : events_) {
    const TrueFragment& each = event.fragments[unit.source()];
    if (each.kind != TrueKind::sent || each.incarnation != unit.incarnation) continue;
    ++sent;
    built += each.built;
    incomplete += each.incomplete;
    unused += each.built + each.incomplete == 0 ? 1U : 0U;
    passed += event.passed >> unit.source() & 1U;
  }
  const detail::UnitBooks& books = unit.protocol->books();
  const std::uint64_t untold = books.settled - books.built - books.incomplete;
  const bool told = play_.drawn.kill_builder == 0;
  const bool right = told ? books.built == built && books.incomplete == incomplete &&
                                books.late == unused && untold == 0
                          : books.built <= built && books.incomplete <= incomplete &&
                                books.late + untold >= unused && books.late <= passed;
  if (right && sent == books.settled + books.late) return;
  play_.wrong("unit " + text(unit.source()) + " says of " + text(sent) + " fragments that " +
              text(books.built) + " were built, " + text(books.incomplete) +
              " in incomplete events, " + text(books.late) + " late, " + text(untold) +
              " settled earlier; in truth " + text(built) + ", " + text(incomplete) + " and " +
              text(unused) + " not used by any run, " + text(passed) + " by some run");
}

// Either all its fragments were lost with their units, or its builder had given up waiting for each
// unit that has a fragment of it.
void Truth::judge_never_built(EventId id, const Event& event) {
  const Drawn& drawn = play_.drawn;
  const bool in_time =
      drawn.veto &&
      drawn.partition + drawn.stop_unit + drawn.stop_builder + drawn.kill_builder == 0;
  bool kept = false;
  for (std::uint32_t source = 0; source < event.fragments.size(); ++source) {
    const TrueFragment& each = event.fragments[source];
    if (each.kind != TrueKind::sent || each.gone) continue;
    kept = true;
    const bool excused = (event.excused >> source & 1U) != 0;
    if (!excused || drawn.loses_nothing() || (in_time && each.greeted)) {
      play_.wrong("event " + text(id) + " was never handed over, and source " + text(source) +
                  " has a fragment of it");
    }
  }
  if (!kept) return;
  ++play_.tally.never_built;
  play_.say("event " + text(id) + " was never handed over");
}

}  // namespace netio::test
