// See simulated_unit.hpp.
#include "building/simulated_unit.hpp"

#include <algorithm>

#include "building/manager_wires.hpp"
#include "building/truth.hpp"
#include "building/wires.hpp"

namespace netio::test {

using detail::EventId;

namespace {
constexpr std::uint64_t nothing = UINT64_MAX;
}  // namespace

SimulatedUnit::SimulatedUnit(Play& play, std::uint32_t source)
    : play_(play), source_(source), inbox_(play.clock) {
  begin();
}

void SimulatedUnit::begin() {
  ++incarnation;
  begun_at = play_.clock.now();
  backlog_.clear();
  refused_.reset();
  held.clear();
  runs_seen.assign(play_.drawn.plan.builders, {});
  const detail::UnitSettings settings{
      play_.drawn.plan, source_, play_.chance.number(), play_.drawn.store,
      play_.drawn.drops ? detail::WhenFull::drop : detail::WhenFull::again};
  protocol.emplace(settings, *this);
  // An event that the detector has not triggered yet.
  const bool over = play_.next_event.run >= play_.drawn.runs;
  protocol->advance(over ? detail::end_of_run(play_.drawn.runs - 1) : play_.next_event);
}

void SimulatedUnit::kill() {
  protocol.reset();
  inbox_.clear();
  stopped_until = 0;
  for (const auto& [memory, event] : held) {
    play_.truth->of(event, source_).gone = true;
    ++play_.tally.lost_with_unit;
  }
  for (std::uint32_t builder = 0; builder < play_.builders.size(); ++builder) {
    play_.wires->cut(source_, builder, true);
    play_.wires->of(source_, builder).unit_has = false;
  }
  if (play_.manager_wires) play_.manager_wires->of_unit(source_).client_died();
}

void SimulatedUnit::stop(std::int64_t time) {
  if (!inbox_.busy()) stops_.emplace_back(play_.clock.now(), 0);
  inbox_.busy_for(time);
  stopped_until = stops_.back().second = inbox_.busy_until();
}

bool SimulatedUnit::was_stopped(std::int64_t from, std::int64_t until) const {
  return std::any_of(stops_.begin(), stops_.end(),
                     [&](const auto& stop) { return stop.first <= from && stop.second >= until; });
}

void SimulatedUnit::trigger(EventId event, std::uint64_t bytes) {
  put([this, event, bytes] {
    backlog_.emplace_back(event, bytes);
    work_off();
  });
}

void SimulatedUnit::nothing_for(EventId event) { trigger(event, nothing); }

void SimulatedUnit::end_of_run(std::uint64_t run) { trigger(detail::end_of_run(run), nothing); }

void SimulatedUnit::work_off() {
  while (protocol.has_value() && !backlog_.empty()) {
    const auto [event, bytes] = backlog_.front();
    if (bytes != nothing) {
      if (!give(event, bytes)) return;
    } else if (event.number == UINT64_MAX) {
      protocol->advance(event);
    } else {
      TrueFragment& fragment = play_.truth->of(event, source_);
      fragment.kind = TrueKind::nothing;
      fragment.incarnation = incarnation;
      protocol->advance(event.next());
    }
    backlog_.pop_front();
  }
}

bool SimulatedUnit::give(EventId event, std::uint64_t bytes) {
  const std::uint64_t memory = (std::uint64_t{source_} << 56U) | ++memories_;
  TrueFragment& fragment = play_.truth->of(event, source_);
  // Before the call, because it may be sent within it.
  const bool managed = play_.drawn.plan.managed;
  const Wire& wire = play_.wires->of(source_, managed ? 0 : play_.drawn.plan.builder_of(event));
  fragment = {TrueKind::sent,
              false,
              memory,
              bytes,
              incarnation,
              play_.clock.now(),
              !managed && wire.up && wire.greeted && event != refused_};
  held[memory] = event;
  const std::uint64_t dropped = protocol->books().dropped;
  const std::uint64_t late = protocol->books().late;
  const Status status = protocol->send(event, bytes, memory, detail::FragmentStatus::good);
  if (status == Status::ok) {
    ++play_.tally.fragments;
    if (protocol->books().dropped != dropped) {
      fragment.kind = TrueKind::dropped;
      ++play_.tally.dropped;
    }
    fragment.late = protocol->books().late != late;
    return true;
  }
  fragment = {};
  held.erase(memory);
  if (status != Status::again) play_.wrong("send() answers neither ok nor again");
  ++play_.tally.busy;
  if (refused_ != event) refused_at_ = play_.clock.now();
  refused_ = event;
  return false;
}

std::optional<std::int64_t> SimulatedUnit::busy_with(EventId event) const {
  if (backlog_.empty() || refused_ != backlog_.front().first || *refused_ > event) return {};
  return refused_at_;
}

bool SimulatedUnit::say(std::uint32_t builder, const detail::UnitMessage& message) noexcept {
  if (std::holds_alternative<detail::UnitWaits>(message)) ++play_.tally.waits;
  return play_.wires->put(play_.wires->of(source_, builder), true, message);
}

bool SimulatedUnit::send(std::uint32_t builder, const detail::Fragment& fragment,
                         std::uint64_t memory) noexcept {
  if (held.count(memory) == 0) play_.wrong("a fragment is sent that was forgotten");
  return play_.wires->put(play_.wires->of(source_, builder), true, SentFragment{fragment, memory});
}

// As if pages ended anywhere: at times none, or not all.
std::size_t SimulatedUnit::send_together(std::uint32_t builder, const Together& together) noexcept {
  const std::size_t most = together.memory % 8;
  std::uint64_t cost = 0;
  std::size_t sent = 0;
  for (const std::uint64_t bytes : together.sizes) {
    cost += detail::window_cost(bytes);
    if (sent == most || cost > together.cost_max) break;
    const EventId event{together.event.run, together.event.number + sent};
    const detail::Fragment fragment{event, bytes, together.before + sent,
                                    detail::FragmentStatus::good};
    if (!send(builder, fragment, together.memory + sent)) break;
    ++sent;
  }
  return sent;
}

void SimulatedUnit::forget(std::uint64_t memory, std::uint64_t fragments) noexcept {
  for (std::uint64_t each = memory; each < memory + fragments; ++each) {
    if (held.erase(each) == 0) play_.wrong("a fragment is forgotten twice");
  }
}

void SimulatedUnit::refuse(std::uint32_t builder, std::string why) {
  play_.wrong("unit " + text(source_) + " refuses builder " + text(builder) + ", which " + why);
}

bool SimulatedUnit::tell_manager(const detail::UnitToManager& message) noexcept {
  return play_.manager_wires->of_unit(source_).put(true, message);
}

void SimulatedUnit::refuse_manager(std::string why) {
  play_.wrong("unit " + text(source_) + " refuses the manager, which " + why);
}

void SimulatedUnit::on_room() noexcept {
  put([this] { work_off(); });
}

void SimulatedUnit::judge_end() {
  const detail::UnitBooks& books = protocol->books();
  const bool good = books.sent == books.settled + books.dropped + books.late && books.held == 0;
  if (!good || books.held_cost != 0 || !held.empty()) {
    play_.wrong("the books of unit " + text(source_) + " do not add up");
  }
  if (!play_.drawn.plan.managed) play_.truth->judge_books(*this);
}

}  // namespace netio::test
