// See managed_unit.hpp.
#include "build/managed_unit.hpp"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

namespace netio::detail {

ManagedUnit::ManagedUnit(const UnitSettings& settings, ManagedUnitOutput& output)
    : settings_(settings),
      output_(output),
      sending_(settings, output),
      next_(settings.plan.builders) {
  assert(settings.plan.managed);
}

Status ManagedUnit::send(EventId event, std::uint64_t bytes, std::uint64_t memory,
                         FragmentStatus status) noexcept {
  if (event < advanced_ || event.number > event_number_max) return Status::invalid;
  const std::uint64_t cost = window_cost(std::min(bytes, fragment_bytes_max));
  if (bytes > fragment_bytes_max || cost > settings_.store_bytes_max) return Status::too_big;
  if (is_late(event)) {
    ++books_.late;
    output_.forget(memory, 1);
  } else if (cost > settings_.store_bytes_max - books_.held_cost) {
    if (!std::exchange(short_, true) || told_ != advanced_) report();
    full_ = settings_.when_full == WhenFull::again || !held_.add_dropped(event, advanced_);
    if (full_) {
      refused_ = Refused{event, cost};
      return Status::again;
    }
    ++books_.dropped;
    output_.forget(memory, 1);
  } else {
    full_ = !held_.add(event, bytes, memory, status);
    if (full_) return Status::again;
    ++books_.held;
    books_.held_cost += cost;
  }
  full_ = false;
  refused_.reset();
  ++books_.sent;
  moved_to(event, event.next());
  return Status::ok;
}

// The manager did not wait for this unit.
bool ManagedUnit::is_late(EventId event) const noexcept {
  return event < assigned_ || is_lacking(event);
}

bool ManagedUnit::is_lacking(EventId event) const noexcept {
  return std::any_of(lacks_.begin(), lacks_.end(),
                     [event](const Lack& each) { return each.span.covers(event); });
}

void ManagedUnit::advance(EventId below) noexcept {
  if (begun_ && below <= advanced_) return;
  moved_to(below, below);
  if (!refused_ || refused_->event >= below) return;
  refused_.reset();  // the source has given it up
  full_ = false;
  output_.on_room();
}

void ManagedUnit::moved_to(EventId begins, EventId below) noexcept {
  advanced_ = below;
  const bool first = !std::exchange(begun_, true);
  if (first) begins_ = begins;
  if (!first && below < report_at_ && !stop_is_news()) return;
  report_at_ = settings_.plan.end_of_range(below);
  report();
}

// This unit has come to its end, perhaps within a range, and the manager waits to hear it.
bool ManagedUnit::stop_is_news() const noexcept { return told_ < stop_ && stop_ <= advanced_; }

void ManagedUnit::report() noexcept {
  report_due_ = true;
  guard_memory([this] { pump(); }, [] {});  // said with the next report
}

void ManagedUnit::manager_connected() {
  up_ = true;
  report_due_ = true;
  pump();
}

void ManagedUnit::manager_disconnected() noexcept { up_ = joined_ = welcome_ = false; }

void ManagedUnit::manager_writable() { pump(); }

void ManagedUnit::pump() {
  if (!up_) return;
  if (!joined_) {
    joined_ = output_.tell_manager(UnitJoins{settings_.plan, settings_.source, settings_.unit_run,
                                             term_, manager_run_, begun_ ? begins_ : end_of_all,
                                             assigned_, open_spans()});
    if (!joined_) return;
    report_due_ = true;
  }
  if (!report_due_ || !begun_) return;
  EventId oldest = advanced_;
  held_.visit({assigned_, end_of_all}, [&](const HeldFragment& held) {
    oldest = std::max(held.event, assigned_);
    return false;
  });
  report_due_ = !output_.tell_manager(UnitProduced{advanced_, oldest, assigned_, short_, term_});
  if (!report_due_) told_ = advanced_;
}

EventSpans ManagedUnit::open_spans() const {
  EventSpans spans;
  for (const Assignment& each : open_) insert(spans, each.span);
  return spans;
}

void ManagedUnit::manager_received(const ManagerToUnit& message) {
  if (!up_) return;
  const bool welcome = std::holds_alternative<UnitWelcome>(message);
  if (!joined_ || (!welcome && !welcome_)) return refuse("did not begin with a welcome");
  std::visit([this](const auto& each) { take(each); }, message);
}

std::string ManagedUnit::why_not(const UnitWelcome& welcome) const {
  if (welcome.term == 0 || welcome.term > term_max || welcome.manager_run == 0 ||
      welcome.next.size() != settings_.plan.builders) {
    return "said a welcome that makes no sense";
  }
  if (welcome.term < term_) return "is older than the manager before";
  if (welcome.term == term_ && welcome.manager_run != manager_run_) {
    return "has the term of another manager";
  }
  const auto is_of_term = [&](std::uint64_t number) { return term_of(number) == welcome.term; };
  if (!std::all_of(welcome.next.begin(), welcome.next.end(), is_of_term)) {
    return "numbers assignments as another manager";
  }
  for (const Assignment& each : welcome.open) {
    const bool known = each.builder == no_builder ||
                       (each.builder < settings_.plan.builders && is_of_term(each.number) &&
                        each.number < welcome.next[each.builder]);
    if (!known || each.span.empty() || each.span.from.run != each.span.below.run) {
      return "said an assignment that makes no sense";
    }
  }
  return {};
}

void ManagedUnit::take(const UnitWelcome& welcome) {
  if (std::string why = why_not(welcome); !why.empty()) return refuse(std::move(why));
  if (welcome.term != term_) remember_forgotten(welcome);
  term_ = welcome.term;
  manager_run_ = welcome.manager_run;
  welcome_ = true;
  assigned_ = welcome.assigned;
  open_ = welcome.open;
  stop_ = welcome.stop;
  std::vector<std::uint64_t> first = welcome.next;
  for (const Assignment& each : open_) {
    if (each.builder != no_builder)
      first[each.builder] = std::min(first[each.builder], each.number);
  }
  for (std::uint32_t builder = 0; builder < first.size(); ++builder) {
    sending_.forsake(builder, {first[builder], 0});
  }
  for (const Assignment& each : welcome.open) {
    note_late(each.span);
    if (each.builder == no_builder || each.number < next_[each.builder]) continue;
    assign(each);
    next_[each.builder] = each.number + 1;
  }
  next_ = welcome.next;
  for (std::uint32_t builder = 0; builder < next_.size(); ++builder) {
    sending_.added(builder, {next_[builder], 0});
  }
  forget_all_settled();
  look_for_room();
  report_due_ = true;  // what is not assigned may have changed
  pump();
  if (!begun_) output_.on_welcome(welcome.produced);
  if (welcome.stop != end_of_all) output_.on_stop(welcome.stop);
}

// A manager may give a range away that an earlier manager has settled, if this unit was not there
// to say so. The unit has forgotten its fragments, which is not the same as having none.
void ManagedUnit::remember_forgotten(const UnitWelcome& welcome) {
  EventSpans again;
  for (const Assignment& each : welcome.open) insert(again, each.span);
  if (welcome.assigned < assigned_) insert(again, {welcome.assigned, end_of_all});
  const EventSpans open = open_spans();
  for (const EventSpan& each : again) {
    for (const EventSpan& settled : without(common(each, {begins_, assigned_}), open)) {
      lacks_.push_back({settled, Missing::forgotten});
    }
  }
}

void ManagedUnit::take(const UnitAssigned& assigned) {
  const Assignment& given = assigned.assignment;
  if (given.builder >= settings_.plan.builders || given.number != next_[given.builder] ||
      given.span.empty() || given.span.from.run != given.span.below.run) {
    return refuse("said an assignment that makes no sense");
  }
  const auto known = std::find_if(open_.begin(), open_.end(),
                                  [&](const Assignment& each) { return each.span == given.span; });
  note_late(given.span);
  if (known != open_.end()) {
    assign(given);
    *known = given;
  } else {
    if (given.span.from < assigned_) return refuse("has assigned what was settled");
    open_.reserve(open_.size() + 1);
    assign(given);
    open_.push_back(given);
    assigned_ = given.span.below;
  }
  next_[given.builder] = given.number + 1;
  sending_.added(given.builder, given.end());
  look_for_room();
}

// What is produced later than this is late: the manager has waited for it long enough.
void ManagedUnit::note_late(const EventSpan& span) {
  if (!begun_) return;
  const EventSpan late = common(span, {advanced_, end_of_all});
  if (!late.empty() && !is_lacking(late.from)) lacks_.push_back({late, Missing::late});
}

// Gives the builder what is held of the assignment, and what is known to be missing, in the order
// of events. If there is no memory, nothing has changed.
void ManagedUnit::assign(const Assignment& assignment) {
  const std::uint32_t builder = assignment.builder;
  const std::vector<Lack> lacks = lacks_of(assignment.span);
  std::size_t entries = lacks.size();
  held_.visit(assignment.span, [&](const HeldFragment&) { return ++entries != 0; });
  if (!sending_.make_room(builder, entries)) throw std::bad_alloc();
  const auto position = [&](EventId event) { return EventId{assignment.number, event.number}; };
  std::size_t next = 0;
  const auto lack_below = [&](EventId event) {
    for (; next < lacks.size() && lacks[next].span.from <= event; ++next) {
      const Lack& lack = lacks[next];
      (void)sending_.add_lacking(builder, position(lack.span.from), position(lack.span.below),
                                 lack.why);
    }
  };
  held_.visit(assignment.span, [&](const HeldFragment& held) {
    lack_below(held.event);
    const EventSpan part = common(assignment.span, {held.event, held.below()});
    if (held.dropped) {
      (void)sending_.add_lacking(builder, position(part.from), position(part.below),
                                 Missing::dropped);
    } else {
      (void)sending_.add(builder, position(held.event), held.bytes, held.memory, held.status);
    }
    return true;
  });
  lack_below(end_of_all);
}

std::vector<ManagedUnit::Lack> ManagedUnit::lacks_of(const EventSpan& span) const {
  std::vector<Lack> lacks;
  const auto add = [&](const EventSpan& part, Missing why) {
    const EventSpan shared = common(span, part);
    if (!shared.empty()) lacks.push_back({shared, why});
  };
  add({{}, begun_ ? begins_ : end_of_all}, Missing::not_begun);
  for (const Lack& each : lacks_) add(each.span, each.why);
  std::sort(lacks.begin(), lacks.end(),
            [](const Lack& one, const Lack& other) { return one.span.from < other.span.from; });
  return lacks;
}

void ManagedUnit::take(const UnitRevoked& revoked) {
  if (revoked.builder >= settings_.plan.builders || revoked.below > next_[revoked.builder]) {
    return refuse("has revoked what was not assigned");
  }
  for (Assignment& each : open_) {
    if (each.builder == revoked.builder && each.number < revoked.below) each.builder = no_builder;
  }
  sending_.forsake(revoked.builder, {revoked.below, 0});
}

void ManagedUnit::take(const UnitSettled& settled) {
  const auto known = std::find_if(open_.begin(), open_.end(), [&](const Assignment& each) {
    return each.span == settled.span;
  });
  if (known != open_.end()) {
    // The builder is done with it, though not everything may have been sent.
    if (known->builder != no_builder) sending_.forsake(known->builder, known->end());
    open_.erase(known);
  } else if (settled.span.from == assigned_ && !settled.span.empty()) {
    assigned_ = settled.span.below;  // no unit has anything there that is waited for
  } else {
    return refuse("has settled what was not open");
  }
  forget(settled.span);
  forget_lacks(settled.span);
}

void ManagedUnit::take(const UnitAsked&) {
  report_due_ = true;
  pump();
}

void ManagedUnit::take(const UnitStops& stops) {
  stop_ = stops.at;
  if (stop_is_news()) report();
  output_.on_stop(stops.at);
}

// Between unit and builder a position is the number of an assignment, and that of an event.
HeldForOne ManagedUnit::held_for(std::uint32_t builder) const noexcept {
  HeldForOne held = sending_.held_for(builder);
  const auto in = std::find_if(open_.begin(), open_.end(), [&](const Assignment& each) {
    return each.builder == builder && each.number == held.oldest.run;
  });
  if (in != open_.end()) held.oldest.run = in->span.from.run;
  return held;
}

// A builder that is given events of other units in front of the end of this unit, now or because
// another builder has failed, has to hear that this unit has nothing for them. The manager that has
// stopped may be gone when this unit comes to its end.
bool ManagedUnit::idle() const noexcept {
  bool wanted = false;
  held_.visit({{}, std::max(stop_, assigned_)}, [&](const HeldFragment& each) {
    wanted = !each.dropped;
    return !wanted;
  });
  if (wanted || !begun_) return !wanted;
  const EventId end = std::min(advanced_, stop_);
  return assigned_ >= end && std::none_of(open_.begin(), open_.end(), [&](const Assignment& each) {
           return each.span.from < end;
         });
}

void ManagedUnit::forget(const EventSpan& span) noexcept {
  held_.forget(span, [this](const HeldFragment& held) {
    ++books_.settled;
    --books_.held;
    books_.held_cost -= window_cost(held.bytes);
    output_.forget(held.memory, 1);
  });
  look_for_room();
}

void ManagedUnit::look_for_room() noexcept {
  const std::uint64_t free = settings_.store_bytes_max - books_.held_cost;
  const bool fits = !refused_ || free >= refused_->cost;
  const bool room = fits && free >= room_bytes(settings_.store_bytes_max);
  if (room && std::exchange(short_, false)) report();
  if (!full_ || (!room && !(refused_ && is_late(refused_->event)))) return;
  full_ = false;
  refused_.reset();
  output_.on_room();
}

void ManagedUnit::forget_lacks(const EventSpan& span) {
  std::vector<Lack> left;
  for (const Lack& each : lacks_) {
    for (const EventSpan& rest : without(each.span, {span})) left.push_back({rest, each.why});
  }
  lacks_ = std::move(left);
}

void ManagedUnit::forget_all_settled() {
  for (const EventSpan& settled : without({{}, assigned_}, open_spans())) {
    forget(settled);
    forget_lacks(settled);
  }
}

void ManagedUnit::refuse(std::string why) {
  manager_disconnected();
  output_.refuse_manager(std::move(why));
}

}  // namespace netio::detail
