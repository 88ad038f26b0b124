// See schedule.hpp.
#include "building/schedule.hpp"

#include <algorithm>
#include <utility>

#include "building/manager_wires.hpp"
#include "building/simulated_builder.hpp"
#include "building/simulated_manager.hpp"
#include "building/simulated_unit.hpp"
#include "building/truth.hpp"
#include "building/wires.hpp"

namespace netio::test {

using detail::EventId;

Play::Play(std::uint64_t seed, const BuildSettings& with, BuildTally& counts)
    : settings(with), tally(counts), chance(seed), drawn(draw(chance, with)) {}

Play::~Play() = default;

BuildSchedule::BuildSchedule(std::uint64_t seed, const BuildSettings& settings, BuildTally& tally)
    : play_(seed, settings, tally) {
  play_.truth = std::make_unique<Truth>(play_);
  play_.wires = std::make_unique<Wires>(play_);
  for (std::uint32_t i = 0; i < play_.drawn.plan.sources; ++i) {
    play_.units.push_back(std::make_unique<SimulatedUnit>(play_, i));
  }
  for (std::uint32_t i = 0; i < play_.drawn.plan.builders; ++i) {
    play_.builders.push_back(std::make_unique<SimulatedBuilder>(play_, i));
  }
  if (!play_.drawn.plan.managed) return;
  play_.manager_wires = std::make_unique<ManagerWires>(play_);
  play_.manager = std::make_unique<SimulatedManager>(play_);
}

BuildSchedule::~BuildSchedule() = default;

std::string BuildSchedule::run() {
  ++play_.tally.schedules;
  const Drawn& drawn = play_.drawn;
  play_.wires->dial_all();
  if (play_.manager) {
    ++play_.tally.with_manager;
    play_.manager_wires->dial_all();
  }
  play_.clock.after(drawn.period, [this] { trigger(); });
  while (play_.failure.empty() && play_.next_event.run < drawn.runs && play_.clock.step()) continue;
  play_.wires->no_more_faults();
  if (play_.manager) {
    play_.manager_wires->no_more_faults();
    play_.manager->end();
  }
  play_.say("no more faults");
  const std::int64_t end = play_.clock.now() + 200 * drawn.deadline + 100'000 * ms;
  while (play_.failure.empty() && !settled() && play_.clock.next() < end && play_.clock.step()) {
    continue;
  }
  if (play_.failure.empty()) judge_end();
  return play_.failure;
}

std::uint64_t BuildSchedule::digest() const {
  return play_.lines * 1'000'003U + static_cast<std::uint64_t>(play_.clock.now());
}

bool BuildSchedule::settled() const {
  if (play_.manager && !play_.manager->is_settled()) return false;
  for (const auto& unit : play_.units) {
    if (!unit->lives() || !unit->worked_off() || !unit->protocol->idle()) return false;
  }
  return std::all_of(play_.builders.begin(), play_.builders.end(), [](const auto& builder) {
    return builder->lives() && builder->worked_off() &&
           builder->protocol->building().open_events() == 0;
  });
}

// The next event of the detector, at all units that are there.
void BuildSchedule::trigger() {
  if (play_.drawn.veto && busy()) {
    if (++vetoed_ < 20) fault();
    const std::int64_t waited = play_.drawn.period * vetoed_;
    if (waited > 100 * play_.drawn.deadline + 40 * play_.drawn.lease + 1'000 * ms) {
      return play_.wrong("a unit is busy for ever");
    }
    return play_.clock.after(play_.drawn.period, [this] { trigger(); });
  }
  vetoed_ = 0;
  const EventId event = play_.next_event;
  const bool last = event.number + 1 == play_.drawn.events;
  play_.next_event = last ? EventId{event.run + 1, 0} : event.next();
  for (auto& unit : play_.units) {
    if (!unit->lives()) continue;
    trigger_unit(*unit, event);
    if (last) unit->end_of_run(event.run);
  }
  fault();
  if (play_.next_event.run < play_.drawn.runs) {
    play_.clock.after(play_.drawn.period, [this] { trigger(); });
  }
}

bool BuildSchedule::busy() const {
  return std::any_of(play_.units.begin(), play_.units.end(),
                     [](const auto& unit) { return unit->lives() && unit->busy(); });
}

void BuildSchedule::trigger_unit(SimulatedUnit& unit, EventId event) {
  if (!play_.chance.in_thousand(play_.drawn.dense)) return unit.nothing_for(event);
  std::int64_t bytes = play_.chance.between(0, play_.drawn.size_max);
  if (play_.chance.in_thousand(play_.drawn.large)) {
    const auto most = static_cast<std::int64_t>(play_.drawn.large_max());
    bytes = play_.chance.between(static_cast<std::int64_t>(play_.drawn.window), most);
  }
  unit.trigger(event, static_cast<std::uint64_t>(bytes));
}

// Where nothing may be lost, the next fault comes when all have recovered from the last one.
void BuildSchedule::fault() {
  const Drawn& drawn = play_.drawn;
  Chance& chance = play_.chance;
  const std::int64_t now = play_.clock.now();
  if (drawn.loses_nothing() && now < disturbed_until_) return;
  Wire& wire = play_.wires->any();
  if (chance.in_thousand(drawn.cut)) {
    ++play_.tally.cuts;
    disturbed_until_ = now + drawn.deadline;
    play_.truth->note_fault(now + drawn.deadline / 4);
    play_.wires->cut(wire.source, wire.builder, chance.in_thousand(500));
  } else if (chance.in_thousand(drawn.kill_builder)) {
    disturbed_until_ = now + drawn.deadline;
    kill_builder(play_.any(play_.builders.size()));
  }
  if (chance.in_thousand(drawn.partition)) {
    ++play_.tally.partitions;
    const std::int64_t time = chance.between(0, drawn.away_max);
    play_.truth->note_fault(now + time + drawn.deadline / 4);
    play_.wires->cut_off(wire, time);
  }
  if (chance.in_thousand(drawn.kill_unit)) kill_unit(play_.any(play_.units.size()));
  stop_process();
  if (play_.manager) fault_of_manager();
}

void BuildSchedule::fault_of_manager() {
  const Drawn& drawn = play_.drawn;
  Chance& chance = play_.chance;
  const std::int64_t now = play_.clock.now();
  ManagerWire& wire = play_.manager_wires->any();
  SimulatedManager& manager = *play_.manager;
  if (chance.in_thousand(drawn.cut_manager)) {
    ++play_.tally.cuts;
    play_.truth->note_fault(now + drawn.deadline / 4);
    wire.cut(chance.in_thousand(500));
  }
  if (chance.in_thousand(drawn.partition_manager)) {
    ++play_.tally.partitions;
    const std::int64_t time = chance.between(0, drawn.away_max);
    play_.truth->note_fault(now + time + drawn.deadline / 4);
    wire.cut_off(time);
  }
  if (chance.in_thousand(drawn.stop_manager) && manager.lives()) {
    ++play_.tally.managers_stopped;
    play_.say("the manager is stopped");
    manager.stop(chance.between(0, 2 * drawn.away_max));
    play_.truth->note_fault(manager.stopped_until());
  }
  if (chance.in_thousand(drawn.kill_manager) && manager.lives()) {
    ++play_.tally.managers_killed;
    play_.say("the manager is killed");
    manager.kill();
    come_back("the manager", [this] { play_.manager->begin(); });
  }
}

void BuildSchedule::stop_process() {
  if (play_.chance.in_thousand(play_.drawn.stop_builder)) {
    SimulatedBuilder& builder = *play_.builders[play_.any(play_.builders.size())];
    ++play_.tally.builders_stopped;
    play_.say("builder " + text(builder.number()) + " is stopped");
    const std::int64_t time = play_.chance.between(0, 2 * play_.drawn.away_max);
    if (builder.lives()) builder.stop(time);
    play_.truth->note_fault(builder.stopped_until);
  }
  if (play_.chance.in_thousand(play_.drawn.stop_unit)) {
    const std::uint32_t source = play_.any(play_.units.size());
    ++play_.tally.units_stopped;
    play_.say("unit " + text(source) + " is stopped");
    const std::int64_t time = play_.chance.between(0, play_.drawn.away_max);
    if (play_.units[source]->lives()) play_.units[source]->stop(time);
    play_.truth->note_fault(play_.units[source]->stopped_until);
  }
}

void BuildSchedule::kill_unit(std::uint32_t source) {
  SimulatedUnit& unit = *play_.units[source];
  if (!unit.lives()) return;
  ++play_.tally.units_killed;
  play_.say("unit " + text(source) + " is killed");
  unit.kill();
  come_back("unit " + text(source), [this, source] {
    play_.units[source]->begin();
    for (std::uint32_t each = 0; each < play_.builders.size(); ++each) {
      play_.wires->dial(source, each);
    }
    if (play_.manager) play_.manager_wires->of_unit(source).dial();
  });
}

void BuildSchedule::kill_builder(std::uint32_t number) {
  SimulatedBuilder& builder = *play_.builders[number];
  if (!builder.lives()) return;
  ++play_.tally.builders_killed;
  play_.say("builder " + text(number) + " is killed");
  play_.truth->note_killed(number, builder.protocol->building().settled());
  builder.kill();
  come_back("builder " + text(number), [this, number] {
    play_.builders[number]->begin();
    if (play_.manager) play_.manager_wires->of_builder(number).dial();
  });
}

// A process that was killed is followed by another one.
void BuildSchedule::come_back(const std::string& who, std::function<void()> begin) {
  const std::int64_t time = play_.chance.between(0, play_.drawn.away_max);
  play_.truth->note_fault(play_.clock.now() + time + play_.drawn.deadline / 4);
  play_.clock.after(time, [this, who, begin = std::move(begin)] {
    play_.say(who + " is back");
    begin();
  });
}

void BuildSchedule::judge_end() {
  if (settled()) {
    for (const auto& unit : play_.units) unit->judge_end();
    for (const auto& builder : play_.builders) builder->judge_end();
    if (play_.manager) play_.manager->judge_end();
    return play_.truth->judge_end();
  }
  std::string what = "not everything is settled long after the faults:";
  for (std::uint32_t i = 0; i < play_.units.size(); ++i) {
    const SimulatedUnit& unit = *play_.units[i];
    if (!unit.lives() || (unit.protocol->idle() && unit.worked_off())) continue;
    what += " unit " + text(i) + " holds " + text(unit.protocol->books().held) + ";";
  }
  for (const auto& builder : play_.builders) {
    if (!builder->lives() || builder->protocol->building().open_events() == 0) continue;
    what += " builder " + text(builder->number()) + " has " +
            text(builder->protocol->building().open_events()) + " open events;";
  }
  play_.wrong(play_.manager ? what + play_.manager->state() : what);
}

}  // namespace netio::test
