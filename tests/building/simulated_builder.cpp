// See simulated_builder.hpp.
#include "building/simulated_builder.hpp"

#include <algorithm>
#include <vector>

#include "building/manager_wires.hpp"
#include "building/simulated_manager.hpp"
#include "building/simulated_unit.hpp"
#include "building/truth.hpp"
#include "building/wires.hpp"

namespace netio::test {

using detail::EventId;

SimulatedBuilder::SimulatedBuilder(Play& play, std::uint32_t number)
    : play_(play), number_(number), inbox_(play.clock) {
  begin();
}

void SimulatedBuilder::begin() {
  const Drawn& drawn = play_.drawn;
  run = play_.chance.number();
  begun_at = last_message = play_.clock.now();
  knows_earlier_run = false;
  last.reset();
  runs_closed_below = {};
  opened.clear();
  memory_.clear();
  kept_.clear();
  timer_ = 0;
  leapt_to_ = 0;
  passed_ = {};
  heard_.clear();
  handed_over_at.clear();
  detail::BuilderSettings settings;
  settings.plan = drawn.plan;
  settings.builder = number_;
  settings.builder_run = run;
  settings.window_bytes = drawn.window;
  settings.deadline_ns = drawn.deadline;
  settings.meet_within_ns = drawn.meet_within;
  settings.keep_bytes_max = drawn.keep_bytes;
  settings.done_with_release = drawn.done_with_release;
  settings.turns = drawn.turns;
  detail::ManagedBuilderSettings managed;
  managed.building = settings;
  managed.credit = drawn.credit;
  protocol.emplace(managed, *this, *this);
  protocol->at(play_.clock.now());
}

void SimulatedBuilder::kill() {
  protocol.reset();
  inbox_.clear();
  stopped_until = 0;
  for (std::uint32_t source = 0; source < play_.units.size(); ++source) {
    play_.wires->cut(source, number_, true);
    Wire& wire = play_.wires->of(source, number_);
    wire.builder_has = wire.greeted = false;
    wire.gone_since = 0;
  }
  if (play_.manager_wires) play_.manager_wires->of_builder(number_).client_died();
}

void SimulatedBuilder::stop(std::int64_t time) {
  if (stopped_until <= play_.clock.now()) stopped_from = play_.clock.now();
  inbox_.busy_for(time);
  stopped_until = inbox_.busy_until();
}

void SimulatedBuilder::put(std::function<void()> work) {
  inbox_.put([this, work = std::move(work)] {
    in_time();
    in_message = true;
    last_message = play_.clock.now();
    work();
    in_message = false;
    set_timer();
  });
}

void SimulatedBuilder::in_time() {
  protocol->at(play_.clock.now());
  note_passed();
  settled_is_true();
}

void SimulatedBuilder::set_timer() {
  note_passed();
  settled_is_true();
  const std::int64_t next = protocol->next_ns();
  if (next == INT64_MAX || (timer_ > play_.clock.now() && timer_ <= next)) return;
  timer_ = std::max(next, play_.clock.now() + 1);
  play_.clock.after(timer_ - play_.clock.now(), [this, of = run] {
    if (of != run || !protocol.has_value()) return;
    inbox_.put([this] {
      in_time();
      set_timer();
    });
  });
}

void SimulatedBuilder::note_passed() {
  if (protocol->building().closed() <= passed_) return;
  play_.truth->note_passed(*this, passed_, protocol->building().closed());
  passed_ = protocol->building().closed();
}

void SimulatedBuilder::hears_of(EventId below) {
  if (heard_.empty() || heard_.back().first < below) heard_.emplace_back(below, play_.clock.now());
}

std::int64_t SimulatedBuilder::heard_of(EventId id) const {
  const auto found = std::upper_bound(heard_.begin(), heard_.end(), id,
                                      [](EventId at, const auto& each) { return at < each.first; });
  return found == heard_.end() ? play_.clock.now() : found->second;
}

void SimulatedBuilder::meets(std::uint32_t source) {
  const std::set<std::uint64_t>& seen = play_.units[source]->runs_seen[number_];
  knows_earlier_run = knows_earlier_run || seen.size() > seen.count(run);
}

void SimulatedBuilder::received(std::uint32_t source, const SentFragment& fragment) {
  memory_.emplace(fragment.memory, fragment.head.event);
  opened.emplace(fragment.head.event, play_.clock.now());
  hears_of(fragment.head.event.next());
  protocol->add(source, fragment.head, fragment.memory);
  protocol->added(source);
}

bool SimulatedBuilder::say(std::uint32_t source, const detail::BuilderMessage& message) noexcept {
  if (std::holds_alternative<detail::BuilderGrant>(message)) ++play_.tally.granted;
  if (std::holds_alternative<detail::BuilderWanted>(message)) ++play_.tally.wanted;
  if (std::holds_alternative<detail::BuilderTurn>(message)) ++play_.tally.turns;
  return play_.wires->put(play_.wires->of(source, number_), false, message);
}

bool SimulatedBuilder::hand_over(const detail::BuiltEvent& event, EventId position) noexcept {
  for (const detail::OpenFragment& fragment : event.fragments) {
    if (!fragment.here) continue;
    if (memory_.erase({fragment.memory, position}) == 0) {
      play_.wrong("event " + text(event.id) + " is handed over with memory of another");
    }
  }
  if (position < runs_closed_below) play_.wrong("an event of a run that is closed is handed over");
  play_.truth->judge(*this, event, position);
  handed_over_at.push_back(play_.clock.now());
  opened.erase(opened.begin(), opened.upper_bound(position));
  if (play_.chance.in_thousand(play_.drawn.stop_builder)) leap();
  if (play_.drawn.work != 0) inbox_.busy_for(play_.chance.between(0, play_.drawn.work));
  if (!play_.chance.in_thousand(play_.drawn.keep)) return false;
  keep(event, position);
  return true;
}

void SimulatedBuilder::runs_closed(EventId below, bool) noexcept {
  const bool over = below == detail::end_of_run(below.run) || below.run > runs_closed_below.run;
  if (!over || below < runs_closed_below) play_.wrong("a run is closed in vain");
  runs_closed_below = below;
}

void SimulatedBuilder::keep(const detail::BuiltEvent& event, EventId position) {
  ++play_.tally.kept;
  std::uint64_t cost = 0;
  for (const detail::OpenFragment& fragment : event.fragments) {
    if (fragment.here) cost += detail::window_cost(fragment.bytes);
  }
  kept_[position] = cost;
  std::uint64_t all = 0;
  for (const auto& each : kept_) all += each.second;
  if (kept_.size() > 1 && all > play_.drawn.keep_bytes) {
    play_.wrong("builder " + text(number_) + " hands over more than the user may keep");
  }
  const std::int64_t time = play_.chance.between(0, play_.drawn.keep_for_max);
  play_.clock.after(time, [this, of = run, id = position] {
    if (of != run || !protocol.has_value()) return;
    put([this, id] {
      kept_.erase(id);
      if (!protocol->release(id)) play_.wrong("event " + text(id) + " was not kept");
    });
  });
}

// What is settled was handed over, and was released if that was asked for.
void SimulatedBuilder::settled_is_true() {
  if (!play_.drawn.done_with_release || kept_.empty()) return;
  if (protocol->building().settled() > kept_.begin()->first && !was_taken_away() &&
      !play_.truth->was_settled(number_, kept_.begin()->first)) {
    play_.wrong("event " + text(kept_.begin()->first) + " is settled, and the user keeps it");
  }
}

// The manager has given the oldest event that is kept to another builder, or will.
bool SimulatedBuilder::was_taken_away() const {
  return play_.manager && kept_.begin()->first.run < play_.manager->first_of(number_);
}

// The process is stopped between two events that it hands over.
void SimulatedBuilder::leap() {
  const std::int64_t time = play_.chance.between(0, 4 * play_.drawn.lease);
  leapt_to_ = clock_ns() + time;
  stop(leapt_to_ - play_.clock.now());
  play_.truth->note_fault(leapt_to_);
}

std::int64_t SimulatedBuilder::clock_ns() noexcept {
  return std::max(play_.clock.now(), leapt_to_);
}

bool SimulatedBuilder::tell_manager(const detail::BuilderToManager& message) noexcept {
  return play_.manager_wires->of_builder(number_).put(true, message, clock_ns());
}

void SimulatedBuilder::refuse_manager(std::string why) {
  play_.wrong("builder " + text(number_) + " refuses the manager, which " + why);
}

void SimulatedBuilder::drop(std::uint32_t, EventId event, std::uint64_t memory) noexcept {
  ++play_.tally.late;
  if (memory_.erase({memory, event}) == 0) {
    play_.wrong("a fragment of event " + text(event) + " is dropped that was not here");
  }
}

void SimulatedBuilder::refuse(std::uint32_t source, std::string why) {
  play_.wrong("builder " + text(number_) + " refuses unit " + text(source) + ", which " + why);
}

void SimulatedBuilder::judge_end() {
  for (std::uint32_t source = 0; source < play_.units.size(); ++source) {
    const detail::SourceBooks& books = protocol->building().books(source);
    if (books.received != books.built + books.incomplete + books.late) {
      play_.wrong("the books of builder " + text(number_) + " do not add up");
    }
  }
  const detail::BuilderBooks& books = protocol->building().books();
  if (books.held_cost != 0 || books.kept_cost != 0 || !memory_.empty()) {
    play_.wrong("builder " + text(number_) + " holds memory of no event");
  }
  const std::uint64_t sources = play_.units.size();
  const std::uint64_t most =
      sources * play_.drawn.window +
      (play_.drawn.large == 0 ? 0 : sources * detail::window_cost(play_.drawn.large_max()));
  if (books.held_cost_max > most) {
    play_.wrong("builder " + text(number_) + " held " + text(books.held_cost_max) +
                " bytes, and may hold " + text(most));
  }
}

}  // namespace netio::test
