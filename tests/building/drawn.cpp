// See drawn.hpp.
#include "building/drawn.hpp"

#include <algorithm>

namespace netio::test {

namespace {

void draw_faults(Drawn& drawn, Chance& chance) {
  const std::int64_t kinds = chance.between(0, 8);
  if (kinds >= 1) drawn.cut = chance.one_of({0, 5, 30});
  if (kinds >= 2) drawn.kill_builder = chance.one_of({0, 2, 10});
  if (kinds >= 4) drawn.stop_builder = chance.one_of({0, 2, 10});
  if (kinds >= 5) drawn.partition = chance.one_of({0, 2, 10});
  if (kinds >= 6) drawn.kill_unit = chance.one_of({0, 2, 10});
  if (kinds >= 7) drawn.stop_unit = chance.one_of({0, 2, 10});
}

void draw_options(Drawn& drawn, Chance& chance) {
  drawn.turns = static_cast<std::uint32_t>(chance.one_of({0, 0, 1, 2}));
  drawn.keep = chance.one_of({0, 0, 0, 200, 1000});
  drawn.keep_for_max = chance.one_of({50, 2000}) * us;
  drawn.keep_bytes = chance.in_thousand(500) ? UINT64_MAX : drawn.window;
  drawn.done_with_release = chance.in_thousand(500);
  drawn.drops = chance.in_thousand(200);
  drawn.veto = chance.in_thousand(500);
  drawn.large = chance.one_of({0, 0, 20});
  drawn.dense = chance.one_of({1000, 1000, 900, 300});
}

void draw_manager(Drawn& drawn, Chance& chance, const BuildSettings& settings) {
  if (chance.in_thousand(500) || !settings.has(BuildPart::manager)) return;
  drawn.plan.managed = true;
  drawn.lease = chance.one_of({20, 100, 500}) * ms;
  drawn.credit = static_cast<std::uint32_t>(chance.one_of({1, 2, 8}));
  const std::int64_t kinds = chance.between(0, 5);
  if (kinds >= 1) drawn.cut_manager = chance.one_of({0, 5, 30});
  if (kinds >= 2) drawn.kill_manager = chance.one_of({0, 2, 10});
  if (kinds >= 3) drawn.partition_manager = chance.one_of({0, 2, 10});
  if (kinds >= 4) drawn.stop_manager = chance.one_of({0, 2, 10});
}

void leave_out(Drawn& drawn, const BuildSettings& settings) {
  if (!settings.has(BuildPart::cuts)) drawn.cut = 0;
  if (!settings.has(BuildPart::partitions)) drawn.partition = 0;
  if (!settings.has(BuildPart::unit_kills)) drawn.kill_unit = 0;
  if (!settings.has(BuildPart::unit_stops)) drawn.stop_unit = 0;
  if (!settings.has(BuildPart::builder_kills)) drawn.kill_builder = 0;
  if (!settings.has(BuildPart::builder_stops)) drawn.stop_builder = 0;
  if (!settings.has(BuildPart::manager_kills)) drawn.kill_manager = 0;
  if (!settings.has(BuildPart::manager_stops)) drawn.stop_manager = 0;
  if (!settings.has(BuildPart::manager_cuts)) drawn.cut_manager = 0;
  if (!settings.has(BuildPart::manager_partitions)) drawn.partition_manager = 0;
  if (!settings.has(BuildPart::turns)) drawn.turns = 0;
  if (!settings.has(BuildPart::keeps)) drawn.keep = 0;
  if (!settings.has(BuildPart::drops)) drawn.drops = false;
  if (!settings.has(BuildPart::large)) drawn.large = 0;
  if (!settings.has(BuildPart::sparse)) drawn.dense = 1000;
}

}  // namespace

Drawn draw(Chance& chance, const BuildSettings& settings) {
  Drawn drawn;
  drawn.plan.sources = static_cast<std::uint32_t>(chance.between(1, 4));
  drawn.plan.builders = static_cast<std::uint32_t>(chance.between(1, 3));
  drawn.plan.range_events = static_cast<std::uint64_t>(chance.one_of({1, 2, 5, 16}));
  drawn.size_max = chance.one_of({0, 100, 2000});
  const std::uint64_t usual = detail::window_cost(static_cast<std::uint64_t>(drawn.size_max));
  // A window at its least takes one fragment of the usual size.
  drawn.window = usual * static_cast<std::uint64_t>(chance.one_of({1, 2, 10, 100}));
  const auto held = static_cast<std::uint64_t>(chance.one_of({4, 30, 1000}));
  drawn.period = chance.one_of({10, 100, 2000}) * us;
  drawn.events = static_cast<std::uint64_t>(chance.between(20, 300));
  drawn.runs = static_cast<std::uint32_t>(chance.between(1, 2));
  drawn.latency = chance.one_of({5, 50, 500}) * us;
  drawn.on_wire_max = static_cast<std::size_t>(chance.one_of({2, 8, 100}));
  drawn.work = chance.one_of({0, 0, 50, 500}) * us;
  draw_options(drawn, chance);
  draw_faults(drawn, chance);
  draw_manager(drawn, chance, settings);
  leave_out(drawn, settings);
  // With one large fragment, such a fragment may be most of what a store holds.
  const std::uint64_t large = drawn.large != 0 ? 1 + drawn.plan.sources % 2 : 0;
  drawn.store = usual * held + large * detail::window_cost(drawn.large_max());
  // No deadline is shorter than what a unit needs that is in order: a window of fragments, each of
  // which may take its time on the wire, behind as many others.
  const auto fragments = static_cast<std::int64_t>(
      std::min<std::uint64_t>(drawn.window / usual, 100) + 2 * drawn.plan.range_events);
  const std::int64_t kept = drawn.keep == 0 ? 0 : drawn.keep_for_max;
  const std::int64_t slowest = fragments * (3 * drawn.latency + 2 * drawn.work + kept);
  drawn.deadline = std::max(chance.one_of({20, 100, 500}) * ms, 2 * slowest);
  drawn.meet_within = drawn.deadline * (drawn.plan.managed ? 1 : chance.one_of({1, 1, 4}));
  drawn.away_max = drawn.loses_nothing() ? drawn.deadline / 4 : drawn.deadline * 4;
  return drawn;
}

}  // namespace netio::test
