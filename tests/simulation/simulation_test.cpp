// Can the simulation fail? A wire that lies is found, each lie in its way; a schedule repeats, also
// behind others; and the program says what it should.
#include "simulation/simulation.hpp"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace netio::test {
namespace {

// Some lies show only where memory is short, or two pages follow each other.
constexpr std::uint64_t schedules_most = 3000;

struct Found {
  std::uint64_t seed = 0;
  std::string what;
};

Found first_found(Simulation& simulation) {
  for (std::uint64_t seed = 1; seed <= schedules_most; ++seed) {
    std::string what = simulation.run(seed);
    if (!what.empty()) return {seed, std::move(what)};
  }
  return {};
}

class SimulationOfALie : public testing::TestWithParam<std::size_t> {};

TEST_P(SimulationOfALie, is_found_and_found_again) {
  Settings settings;
  settings.lie = static_cast<Lie>(GetParam());
  Simulation simulation(settings);
  const Found found = first_found(simulation);
  ASSERT_NE(found.seed, 0U) << "nothing found in " << schedules_most << " schedules";
  RecordProperty("found", found.what);
  EXPECT_EQ(Simulation(settings).run(found.seed), found.what);
}

std::string name_of_lie(const testing::TestParamInfo<std::size_t>& lie) {
  return std::string(lie_names[lie.param]);
}
INSTANTIATE_TEST_SUITE_P(on, SimulationOfALie, testing::Range(std::size_t{1}, lie_names.size()),
                         name_of_lie);

TEST(Simulation, repeats_a_schedule_whatever_came_before_it) {
  constexpr std::uint64_t count = 40;
  std::vector<std::uint64_t> digests;
  Simulation forwards({});
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    ASSERT_EQ(forwards.run(seed), "") << "seed " << seed;
    digests.push_back(forwards.digest());
  }
  Simulation backwards({});
  for (std::uint64_t seed = count; seed > 0; --seed) {
    ASSERT_EQ(backwards.run(seed), "") << "seed " << seed;
    EXPECT_EQ(backwards.digest(), digests[seed - 1]) << "seed " << seed;
  }
}

// The rarest comes once in some thousands of schedules.
TEST(Simulation, draws_all_that_it_has) {
  Simulation simulation({});
  const auto lacks = [&simulation] {
    std::string all;
    for (std::size_t i = 0; i < happened_names.size(); ++i) {
      if (simulation.tally().of(static_cast<Happened>(i)) != 0) continue;
      all += all.empty() ? "" : ", ";
      all += happened_names[i];
    }
    return all;
  };
  for (std::uint64_t seed = 1; seed <= 10 * schedules_most && !lacks().empty(); ++seed) {
    ASSERT_EQ(simulation.run(seed), "") << "seed " << seed;
  }
  EXPECT_EQ(lacks(), "");
}

}  // namespace
}  // namespace netio::test
