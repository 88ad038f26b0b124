// See manager_protocol.hpp. Here: who is there, and what is said. manager_assigning.cpp decides
// which range goes to whom.
#include "build/manager_protocol.hpp"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

namespace netio::detail {

namespace {
// A peer that takes nothing is told everything anew, in place of more changes than these.
constexpr std::size_t changes_max = 1024;
// A builder has no more open assignments, whatever it says.
constexpr std::uint32_t credit_max = 1024;
// at() is called this often in a lease, and in the time that a unit is waited for.
constexpr std::int64_t ticks = 8;
}  // namespace

std::string ManagerSettings::fault() const {
  if (std::string why = plan.fault(); !why.empty()) return why;
  if (!plan.managed) return "the plan has no manager";
  if (manager_run == 0) return "a run of a manager is never 0";
  if (term_least == 0 || term_least > term_max) return "a term is from 1 to 4294967295";
  if (lease_ns < ticks || lease_ns > INT64_MAX / 16) return "the lease is no time";
  if (wait_ns < ticks || wait_ns > INT64_MAX / 16) return "the time to wait for a unit is no time";
  return {};
}

ManagerProtocol::ManagerProtocol(const ManagerSettings& settings, ManagerOutput& output)
    : settings_(settings),
      output_(output),
      units_(settings.plan.sources),
      builders_(settings.plan.builders),
      step_ns_(std::min(settings.lease_ns, settings.wait_ns) / ticks) {
  assert(settings.fault().empty());
  now_ns_ = read_ns_ = tick_ns_ = output_.clock_ns();
  // Whatever an earlier manager has answered, no builder has a lease of it then.
  learn_until_ns_ = now_ns_ + 2 * settings_.lease_ns;
}

// Another manager has begun this term.
bool ManagerProtocol::is_superseded(std::uint64_t term) {
  known_term_ = std::max(known_term_, term);
  if (term_ == 0 || term < term_) return superseded_;
  superseded_ = true;
  output_.on_superseded(term);
  return true;
}

static Objection taken(const char* kind, std::uint32_t number) {
  return {std::string(kind) + ' ' + std::to_string(number) + " is connected already", true};
}

Objection ManagerProtocol::unit_connected(const UnitJoins& hello) {
  if (std::string why = settings_.plan.difference("manager", "unit", hello.plan); !why.empty()) {
    return {"another plan: " + why};
  }
  if (hello.source >= units_.size()) {
    return {"no source " + std::to_string(hello.source) + ": there are 0 to " +
            std::to_string(units_.size() - 1)};
  }
  Unit& unit = units_[hello.source];
  if (unit.connected) return taken("source", hello.source);
  if (hello.unit_run == 0) return {"a run of a unit is never 0"};
  if (hello.term > term_max) return {"a term that makes no sense"};
  const auto is_open = [&](const EventSpan& span) {
    return !span.empty() && span.from.run == span.below.run && span.below <= hello.assigned;
  };
  if (!std::all_of(hello.open.begin(), hello.open.end(), is_open)) {
    return {"an open range that makes no sense"};
  }
  const auto overlap = [](const EventSpan& one, const EventSpan& next) {
    return next.from < one.below;
  };
  if (std::adjacent_find(hello.open.begin(), hello.open.end(), overlap) != hello.open.end()) {
    return {"open ranges that overlap, or are not in their order"};
  }
  if (hello.term == 0 && (hello.assigned != EventId{} || !hello.open.empty())) {
    return {"it knows what is assigned, and no manager has told it"};
  }
  const bool mine = hello.term == term_ && hello.manager_run == settings_.manager_run;
  if (superseded_ || (!mine && is_superseded(hello.term))) return {"this manager is superseded"};
  if (unit.run != hello.unit_run) unit.produced = {};
  if (hello.begins == end_of_all && term_ != 0) unit.behind = unit.behind || is_late_for_run();
  unit.hello = hello;
  unit.run = hello.unit_run;
  unit.connected = unit.welcome_due = true;
  unit.heard = false;
  unit.queue = {};
  if (term_ != 0 && hello.term != 0 && !mine) {  // it was not there when this manager learned
    again_below_ = std::max(again_below_, hello.assigned);
  }
  pump_unit(hello.source);
  return {};
}

Objection ManagerProtocol::builder_connected(const BuilderJoins& hello) {
  if (std::string why = settings_.plan.difference("manager", "builder", hello.plan); !why.empty()) {
    return {"another plan: " + why};
  }
  if (hello.builder >= builders_.size()) {
    return {"no builder " + std::to_string(hello.builder) + ": there are 0 to " +
            std::to_string(builders_.size() - 1)};
  }
  Builder& builder = builders_[hello.builder];
  if (builder.connected) return taken("builder", hello.builder);
  if (hello.builder_run == 0) return {"a run of a builder is never 0"};
  if (std::max(hello.term, hello.newest_term) > term_max) return {"a term that makes no sense"};
  if (hello.weight == 0) return {"the weight is 0"};
  const bool mine = hello.term == term_ && hello.manager_run == settings_.manager_run;
  // Units tell a builder of the current term before its manager does.
  const bool newer = hello.newest_term > term_;
  const bool other = !mine && is_superseded(hello.term);
  if (superseded_ || other || (newer && is_superseded(hello.newest_term))) {
    return {"this manager is superseded"};
  }
  builder.run = hello.builder_run;
  builder.weight = hello.weight;
  builder.connected = builder.welcome_due = true;
  builder.report = 0;
  builder.credit = 0;
  builder.answer_due = false;
  builder.queue = {};
  if (!mine) again_below_ = std::max(again_below_, hello.expected);
  pump_builder(hello.builder);
  return {};
}

void ManagerProtocol::unit_disconnected(std::uint32_t source) noexcept {
  Unit& unit = units_[source];
  if (!unit.connected) return;
  unit.connected = unit.heard = false;
  unit.gone_since_ns = now_ns_;
}

void ManagerProtocol::builder_disconnected(std::uint32_t builder) noexcept {
  builders_[builder].connected = false;
}

void ManagerProtocol::received(std::uint32_t source, const UnitProduced& produced) {
  Unit& unit = units_[source];
  if (!unit.connected || superseded_) return;
  if (produced.oldest > produced.below) {
    unit_disconnected(source);
    return output_.refuse_unit(source, "holds what it has not produced");
  }
  // With hundreds of units, only those are looked at that the others have waited for.
  const bool was_awaited = unit.behind || !unit.heard || asked_at_ == assigned_ ||
                           unit.produced.below <= produced_by_all_;
  const bool needs_room = produced.busy && !unit.produced.busy;
  if (produced.below > unit.produced.below || !unit.heard) {
    unit.behind = false;
    unit.behind_since_ns = 0;
  }
  unit.produced = produced;
  unit.heard = true;
  if (was_awaited || needs_room) go_on();
}

void ManagerProtocol::received(std::uint32_t number, const BuilderReports& report) {
  Builder& builder = builders_[number];
  if (!builder.connected || superseded_) return;
  if (report.number <= builder.report) {
    builder_disconnected(number);
    return output_.refuse_builder(number, "repeats a report");
  }
  builder.report = report.number;
  builder.credit = std::min(report.credit, credit_max);
  if (term_ == 0) return;
  if (builder.run == builder.holder) {
    while (!builder.open.empty() && builder.open[0].number < report.done) {
      const EventSpan span = builder.open[0].span;
      builder.open.pop_front();
      ++builder.done;
      ++books_.settled;
      tell_units(UnitSettled{span});
    }
  }
  // After the report came: the lease that is answered began before this moment.
  read_clock(output_.clock_ns());
  builder.answered_ns = now_ns_;
  if (builder.run == builder.holder) builder.lease_seen_ns = builder.answered_ns;
  builder.answer_due = true;
  go_on();
  pump_builder(number);
}

void ManagerProtocol::unit_writable(std::uint32_t source) { pump_unit(source); }
void ManagerProtocol::builder_writable(std::uint32_t builder) { pump_builder(builder); }

void ManagerProtocol::stop(EventId at) {
  stop_ = at;
  stopped_ = false;
  tell_units(UnitStops{at});
  go_on();
}

void ManagerProtocol::at(std::int64_t now_ns) {
  read_clock(now_ns);
  if (superseded_ || now_ns < tick_ns_) return;
  tick_ns_ = now_ns + step_ns_;
  if (term_ == 0) {
    if (now_ns_ < learn_until_ns_) return;
    begin_term();
  }
  for (std::uint32_t each = 0; each < units_.size(); ++each) pump_unit(each);
  for (std::uint32_t each = 0; each < builders_.size(); ++each) pump_builder(each);
  go_on();
  // Units say on their own that they have produced a range, and not that they have produced a part.
  if (!std::exchange(assigned_since_tick_, false)) tell_units(UnitAsked{});
}

// What waits in the wires of a manager that was stopped has to be received before anything is over.
// So a leap counts as a small step. Then the manager's time is behind, and what it takes away from
// builders it takes away later.
void ManagerProtocol::read_clock(std::int64_t now_ns) noexcept {
  const std::int64_t passed = std::max<std::int64_t>(now_ns - read_ns_, 0);
  now_ns_ += std::min(passed, 2 * step_ns_);
  read_ns_ = std::max(read_ns_, now_ns);
}

std::int64_t ManagerProtocol::next_ns() const noexcept {
  return superseded_ ? INT64_MAX : tick_ns_;
}

void ManagerProtocol::begin_term() {
  learn_from_units();
  term_ = std::min(std::max(known_term_ + 1, settings_.term_least), term_max);
  for (Builder& each : builders_) each.next = first_assignment(term_);
  for (Unit& each : units_) {
    if (!each.connected) {
      each.gone_since_ns = now_ns_;
    } else if (each.hello.begins == end_of_all) {
      each.behind = is_late_for_run();
    }
  }
}

// What no unit knows to be settled may be open still. Everything that was produced may have been
// assigned by the manager before.
void ManagerProtocol::learn_from_units() {
  EventSpans open{{{}, end_of_all}};
  for (const Unit& each : units_) {
    if (each.run == 0) continue;
    assigned_ = std::max(assigned_, each.hello.assigned);
    EventSpans unsettled = each.hello.open;
    unsettled.push_back({each.hello.assigned, end_of_all});
    open = common(open, unsettled);
    if (each.hello.term != 0) {
      again_below_ = std::max({again_below_, each.hello.assigned, each.produced.below});
    }
  }
  for (const EventSpan& each : open) {
    const EventSpan waiting = common(each, {{}, assigned_});
    if (!waiting.empty()) waiting_.push_back(waiting);
  }
}

// A unit that has not begun before anything is assigned misses nothing: it is waited for, and
// begins with its first event. A later one does not hold up the others.
EventId ManagerProtocol::begin_of_joiners() const noexcept {
  return is_late_for_run() ? produced() : EventId{};
}

EventId ManagerProtocol::produced() const noexcept {
  EventId most = assigned_;
  for (const Unit& each : units_) most = std::max(most, each.produced.below);
  return most;
}

UnitState ManagerProtocol::unit_state(std::uint32_t source) const noexcept {
  const Unit& unit = units_[source];
  return {unit.connected, unit.behind, unit.connected && unit.produced.busy, unit.produced.below};
}

BuilderState ManagerProtocol::builder_state(std::uint32_t number) const noexcept {
  const Builder& each = builders_[number];
  const bool has_lease = each.answered_ns != 0 && now_ns_ - each.answered_ns < settings_.lease_ns;
  return {each.connected, each.run != 0,    has_lease, each.weight,
          each.credit,    each.open.size(), each.done};
}

bool ManagerProtocol::idle() const noexcept {
  return term_ != 0 && waiting_.empty() &&
         std::all_of(builders_.begin(), builders_.end(),
                     [](const Builder& each) { return each.open.empty(); });
}

UnitWelcome ManagerProtocol::welcome_of_units() const {
  UnitWelcome welcome{term_, settings_.manager_run, assigned_, {}, {}, stop_, begin_of_joiners()};
  for (const Builder& each : builders_) {
    welcome.next.push_back(each.next);
    for (std::size_t i = 0; i < each.open.size(); ++i) welcome.open.push_back(each.open[i]);
  }
  for (const EventSpan& each : waiting_) welcome.open.push_back({0, no_builder, each, true});
  return welcome;
}

BuilderWelcome ManagerProtocol::welcome_of(const Builder& builder) const {
  const bool holds = builder.run == builder.holder && !builder.open.empty();
  BuilderWelcome welcome{term_,
                         settings_.manager_run,
                         settings_.lease_ns,
                         holds ? builder.open[0].number : builder.next,
                         {}};
  for (std::size_t i = 0; holds && i < builder.open.size(); ++i) {
    welcome.open.push_back(builder.open[i]);
  }
  return welcome;
}

void ManagerProtocol::tell_units(const ManagerToUnit& message) {
  for (std::uint32_t each = 0; each < units_.size(); ++each) tell_unit(each, message);
}

void ManagerProtocol::tell_unit(std::uint32_t source, const ManagerToUnit& message) {
  Unit& unit = units_[source];
  if (!unit.connected || unit.welcome_due) return;
  if (unit.queue.size() >= changes_max || !unit.queue.make_room()) {
    unit.welcome_due = true;
    unit.queue = {};
  } else {
    unit.queue.push_back(message);
  }
  pump_unit(source);
}

void ManagerProtocol::tell_builder(std::uint32_t number, const ManagerToBuilder& message) {
  Builder& builder = builders_[number];
  if (!builder.connected || builder.welcome_due) return;
  if (builder.queue.size() >= changes_max || !builder.queue.make_room()) {
    builder.welcome_due = true;
    builder.queue = {};
  } else {
    builder.queue.push_back(message);
  }
  pump_builder(number);
}

void ManagerProtocol::pump_unit(std::uint32_t source) {
  Unit& unit = units_[source];
  if (!unit.connected || term_ == 0) return;
  if (unit.welcome_due) {
    if (!output_.say_to_unit(source, welcome_of_units())) return;
    unit.welcome_due = false;
    unit.queue = {};
  }
  while (!unit.queue.empty() && output_.say_to_unit(source, unit.queue[0])) unit.queue.pop_front();
}

void ManagerProtocol::pump_builder(std::uint32_t number) {
  Builder& builder = builders_[number];
  if (!builder.connected || term_ == 0) return;
  if (builder.welcome_due) {
    if (!output_.say_to_builder(number, welcome_of(builder))) return;
    builder.welcome_due = false;
    builder.queue = {};
  }
  while (!builder.queue.empty()) {
    if (!output_.say_to_builder(number, builder.queue[0])) return;
    builder.queue.pop_front();
  }
  // Behind what was taken away: a builder with a lease knows that.
  if (builder.answer_due && output_.say_to_builder(number, BuilderLease{builder.report})) {
    builder.answer_due = false;
  }
}

}  // namespace netio::detail
