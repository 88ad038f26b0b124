// A victim that is an event manager: whatever fails, everything that units have produced is
// settled, by this manager or by the next one.
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "conformance/manager_members.hpp"
#include "failing_allocator/scene.hpp"

namespace netio::test {
namespace {

constexpr std::uint32_t members_count = 2;  // units, and builders
constexpr std::uint64_t range_events = 4;
constexpr std::uint64_t ranges = 40;
const detail::BuildPlan managed_plan{members_count, members_count, range_events, true};

std::unique_ptr<EventManager> make_manager(Context& context) {
  ManagerOptions options;
  options.plan = {members_count, members_count, range_events, true};
  options.lease = 10ms;
  options.wait = 10ms;
  options.socket = hasty();
  return std::make_unique<EventManager>(context, options);
}

}  // namespace

void manage(Scene& scene) {
  std::unique_ptr<EventManager> manager;
  bool failed = false;
  const auto watch = [&] { manager->on_failed([&](std::string_view) { failed = true; }); };
  if (!scene.call([&] { manager = make_manager(scene.victim); })) return;
  if (!scene.call(watch)) return;
  std::string address;
  if (!scene.call([&] { address = manager->bind(scene.address); })) return;
  std::array<std::unique_ptr<ScriptedUnit>, members_count> units;
  std::array<std::unique_ptr<ScriptedBuilder>, members_count> builders;
  for (std::uint32_t number = 0; number < members_count; ++number) {
    units[number] = std::make_unique<ScriptedUnit>(scene.other, managed_plan, number);
    units[number]->produce(ranges * range_events);
    units[number]->connect(address);
    builders[number] = std::make_unique<ScriptedBuilder>(scene.other, managed_plan, number);
    builders[number]->addresses = {"tcp://an-address-that-takes-some-memory:7001"};
    builders[number]->finishes = true;
    builders[number]->connect(address);
  }
  const auto all_settled = [&] {
    bool done = true;
    for (const auto& unit : units) {
      done = done && unit->welcomes != 0 && unit->open.empty() &&
             unit->assigned == EventId{0, ranges * range_events};
    }
    return done;
  };
  scene.until([&] { return failed || all_settled(); }, patience);
  scene.relent();
  if (failed) {
    manager.reset();
    manager = make_manager(scene.victim);
    manager->bind(address);
  }
  scene.must(all_settled, "everything is settled");
  const ManagerBooks books = manager->books();
  if (books.assigned + books.again != books.settled + books.revoked + books.open) {
    give_up("the books do not add up");
  }
}

}  // namespace netio::test
