// See wires.hpp.
#include "building/wires.hpp"

#include <algorithm>
#include <utility>

#include "building/describe.hpp"
#include "building/simulated_builder.hpp"
#include "building/simulated_unit.hpp"

namespace netio::test {

Wires::Wires(Play& play) : play_(play) {
  for (std::uint32_t source = 0; source < play.drawn.plan.sources; ++source) {
    for (std::uint32_t builder = 0; builder < play.drawn.plan.builders; ++builder) {
      wires_.push_back({});
      wires_.back().source = source;
      wires_.back().builder = builder;
    }
  }
}

void Wires::dial_all() {
  for (Wire& each : wires_) dial(each.source, each.builder);
}

void Wires::no_more_faults() {
  for (Wire& each : wires_) each.cut_off_until = 0;
}

void Wires::dial(std::uint32_t source, std::uint32_t builder) {
  Wire& wire = of(source, builder);
  if (wire.dialing || wire.unit_has) return;
  wire.dialing = true;
  const std::int64_t most = std::min(play_.drawn.deadline / 8, 20 * ms);
  play_.clock.after(play_.chance.between(0, most), [this, &wire] {
    wire.dialing = false;
    if (!play_.units[wire.source]->lives() || wire.unit_has) return;
    // The builder has to hear of the end of the connection before first.
    const bool taken = play_.builders[wire.builder]->lives() && !wire.builder_has;
    if (taken && wire.cut_off_until <= play_.clock.now()) return made(wire);
    if (wire.builder_has) ++play_.tally.not_taken;
    dial(wire.source, wire.builder);
  });
}

void Wires::made(Wire& wire) {
  ++wire.id;
  wire.up = wire.unit_has = wire.builder_has = true;
  wire.greeted = false;
  wire.on_wire = {};
  wire.refused = {};
  wire.up_since = play_.clock.now();
  play_.say("unit " + text(wire.source) + " and builder " + text(wire.builder) + " are connected");
  play_.units[wire.source]->put([this, &wire, id = wire.id] {
    if (wire.id == id && wire.unit_has) play_.units[wire.source]->protocol->connected(wire.builder);
  });
}

// From now on nothing arrives.
void Wires::cut(std::uint32_t source, std::uint32_t builder, bool told_soon) {
  Wire& wire = of(source, builder);
  if (!wire.up) return;
  wire.up = false;
  play_.say("the connection of unit " + text(source) + " and builder " + text(builder) + " is cut");
  const std::int64_t most = told_soon ? 10 * us : play_.drawn.deadline / 8;
  const auto later = [&] { return play_.chance.between(0, most); };
  play_.clock.after(later(), [this, &wire, id = wire.id] { tell_unit(wire, id); });
  play_.clock.after(later(), [this, &wire, id = wire.id] { tell_builder(wire, id); });
}

void Wires::cut_off(Wire& wire, std::int64_t time) {
  wire.cut_off_until = play_.clock.now() + time;
  play_.say("unit " + text(wire.source) + " and builder " + text(wire.builder) + " are cut off");
  cut(wire.source, wire.builder, false);
}

void Wires::tell_unit(Wire& wire, std::uint64_t id) {
  if (!play_.units[wire.source]->lives()) return;
  play_.units[wire.source]->put([this, &wire, id] {
    if (wire.id != id || !wire.unit_has) return;
    wire.unit_has = false;
    play_.units[wire.source]->protocol->disconnected(wire.builder);
    dial(wire.source, wire.builder);
  });
}

// The time in which a builder had no unit at all does not count as a unit's absence.
void Wires::note_return(std::uint32_t builder) {
  std::int64_t last = 0;
  for (const Wire& each : wires_) {
    if (each.builder != builder) continue;
    if (each.greeted) return;
    last = std::max(last, each.gone_since);
  }
  for (Wire& each : wires_) {
    if (each.builder == builder && each.gone_since != 0) {
      each.gone_since += play_.clock.now() - last;
    }
  }
}

void Wires::tell_builder(Wire& wire, std::uint64_t id) {
  if (!play_.builders[wire.builder]->lives()) return;
  play_.builders[wire.builder]->put([this, &wire, id] {
    if (wire.id != id || !wire.builder_has) return;
    wire.builder_has = false;
    play_.say("builder " + text(wire.builder) + " knows that unit " + text(wire.source) +
              " is gone");
    if (!std::exchange(wire.greeted, false)) return;
    wire.gone_since = play_.clock.now();
    play_.builders[wire.builder]->protocol->disconnected(wire.source);
  });
}

// A connection that loses or repeats a fragment, and goes on.
bool Wires::lies(const OnWire& what) {
  if (play_.settings.lie == BuildLie::none || !std::holds_alternative<SentFragment>(what)) {
    return false;
  }
  return ++fragments_ % 20 == 0;
}

bool Wires::put(Wire& wire, bool to_builder, OnWire what) {
  if (!wire.up) return true;  // nobody knows it yet, and what is put on it is lost
  const std::size_t way = to_builder ? 1 : 0;
  if (wire.on_wire[way] >= play_.drawn.on_wire_max) {
    wire.refused[way] = true;
    return false;
  }
  const bool lie = lies(what);
  if (lie && play_.settings.lie != BuildLie::twice) return true;
  const int times = lie ? 2 : 1;
  for (int time = 0; time < times; ++time) {
    ++wire.on_wire[way];
    const std::int64_t now = play_.clock.now();
    const std::int64_t at =
        std::max(wire.last_at[way], now + play_.chance.between(1, play_.drawn.latency));
    wire.last_at[way] = at;
    play_.clock.after(at - now, [this, &wire, to_builder, id = wire.id, what] {
      arrive(wire, to_builder, id, what);
    });
  }
  return true;
}

void Wires::arrive(Wire& wire, bool to_builder, std::uint64_t id, const OnWire& what) {
  if (wire.id != id || !wire.up) return;
  auto work = [this, &wire, to_builder, id, what] { deliver(wire, to_builder, id, what); };
  if (to_builder) {
    play_.builders[wire.builder]->put(std::move(work));
  } else {
    play_.units[wire.source]->put(std::move(work));
  }
}

// What has arrived is received, though the connection may have been cut meanwhile.
void Wires::deliver(Wire& wire, bool to_builder, std::uint64_t id, const OnWire& what) {
  if (wire.id != id || !(to_builder ? wire.builder_has : wire.unit_has)) return;
  const std::size_t way = to_builder ? 1 : 0;
  --wire.on_wire[way];
  if (play_.settings.trace) {
    const std::string unit = "unit " + text(wire.source);
    const std::string builder = "builder " + text(wire.builder);
    play_.say((to_builder ? unit + " to " + builder : builder + " to " + unit) + ": " +
              describe(what));
  }
  if (to_builder) {
    hand_to_builder(wire, what);
  } else {
    const auto& message = std::get<detail::BuilderMessage>(what);
    if (const auto* hello = std::get_if<detail::BuilderHello>(&message)) {
      play_.units[wire.source]->greeted_by(wire.builder, hello->builder_run);
    }
    play_.units[wire.source]->protocol->received(wire.builder, message);
  }
  if (wire.refused[way] && wire.up) tell_writable(wire, to_builder, id);
}

void Wires::hand_to_builder(Wire& wire, const OnWire& what) {
  SimulatedBuilder& builder = *play_.builders[wire.builder];
  if (const auto* fragment = std::get_if<SentFragment>(&what)) {
    return builder.received(wire.source, *fragment);
  }
  const auto& message = std::get<detail::UnitMessage>(what);
  const auto* hello = std::get_if<detail::UnitHello>(&message);
  if (const auto* waits = std::get_if<detail::UnitWaits>(&message)) {
    builder.opened.emplace(waits->event, play_.clock.now());
    builder.hears_of(waits->event.next());
  }
  if (const auto* mark = std::get_if<detail::UnitMark>(&message)) builder.hears_of(mark->below);
  if (const auto* dropped = std::get_if<detail::UnitDropped>(&message)) {
    builder.hears_of(dropped->below);
  }
  if (hello != nullptr) builder.hears_of(hello->begins);
  if (hello == nullptr || wire.greeted) {
    return builder.protocol->received(wire.source, message);
  }
  builder.meets(wire.source);
  note_return(wire.builder);
  wire.greeted = true;
  wire.greeted_since = play_.clock.now();
  const std::string why = builder.protocol->connected(*hello).why;
  if (!why.empty()) play_.wrong("builder " + text(wire.builder) + " does not take: " + why);
}

void Wires::tell_writable(Wire& wire, bool to_builder, std::uint64_t id) {
  wire.refused[to_builder ? 1 : 0] = false;
  if (to_builder) {
    if (!play_.units[wire.source]->lives()) return;
    play_.units[wire.source]->put([this, &wire, id] {
      if (wire.id != id || !wire.unit_has) return;
      play_.units[wire.source]->protocol->writable(wire.builder);
    });
  } else {
    if (!play_.builders[wire.builder]->lives()) return;
    play_.builders[wire.builder]->put([this, &wire, id] {
      if (wire.id != id || !wire.builder_has || !wire.greeted) return;
      play_.builders[wire.builder]->protocol->writable(wire.source);
    });
  }
}

}  // namespace netio::test
