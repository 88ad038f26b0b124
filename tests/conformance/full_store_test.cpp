// A unit whose store is full, because its builder takes nothing for a while, over every transport.
#include <cstdint>
#include <vector>

#include "conformance/fragments.hpp"

namespace netio::test {
namespace {

class FullStore : public testing::TestWithParam<Row> {
 protected:
  void SetUp() override {
    if (const std::string why = GetParam().why_absent(); !why.empty()) GTEST_SKIP() << why;
  }
  static constexpr BuildPlan plan{1, 1, 1U << 20U};

  static BuilderOptions building() {
    BuilderOptions options;
    options.plan = plan;
    return options;
  }
  // More than a unit takes from the memory for pages, which other sockets need too.
  static ReadoutOptions sending() {
    ReadoutOptions options;
    options.plan = plan;
    options.store_bytes_max = 12U << 20U;
    return options;
  }
  // Each lies in a page with others. The first event has no number in its frame.
  static std::vector<std::byte> bytes_of(std::uint64_t number) {
    return payload(mix(number), number % 100 == 0 ? 0 : mix(number) % 400);
  }
};

TEST_P(FullStore, is_sent_from_where_it_lies_if_the_wire_reads_it_there) {
  Context here(memory_to_build());
  Context there(memory_to_build());
  Pump pump{&here, &there};
  BuilderUnit builder(there, building());
  const std::string address = builder.bind(GetParam().address);
  ReadoutUnit unit(here, sending());
  unit.connect(0, address);
  unit.advance({0, 0});
  ASSERT_SOON(pump, unit.builders_connected() == 1);

  std::uint64_t events = 0;
  while (unit.send({0, events}, bytes_of(events)) == Status::ok) {
    if (++events % 1'000 == 0) pump.turns(1);
  }
  pump.turns(10);
  EXPECT_GT(unit.books().held_bytes, sending().store_bytes_max / 8 * 7);
  std::uint64_t seen = 0;
  builder.on_event([&](const Event& event) {
    EXPECT_EQ(event.id().number, seen);
    EXPECT_TRUE(same_bytes(event[0].bytes(), bytes_of(seen))) << seen;
    ++seen;
  });
  bool ended = false;
  unit.advance({0, events});
  unit.finish(1h, [&] { ended = true; });
  ASSERT_SOON(pump, ended);
  EXPECT_EQ(seen, events);
  EXPECT_EQ(unit.books().settled, events);
  if (GetParam().read_in_place) {
    // What is left of a window at its end is short, and is copied.
    EXPECT_LT(unit.counters().at(0).bytes_copied, sending().store_bytes_max / 4);
  }
}

// A page that is sent in pieces, because ranges are short, is memory that its peer holds once: the
// window can be used up.
TEST_P(FullStore, is_sent_in_pieces_that_wait_for_another_unit) {
  constexpr BuildPlan short_ranges{2, 1, 100};
  BuilderOptions building;
  building.plan = short_ranges;
  building.window_bytes = 4U << 20U;
  building.deadline = 1h;
  ReadoutOptions sending;
  sending.plan = short_ranges;
  sending.store_bytes_max = 12U << 20U;
  ContextOptions memory = memory_to_build();
  memory.large_bytes_max = 4U << 20U;
  Context here(memory);
  Context there(BuilderUnit::with_memory(building, memory_to_build()));
  Pump pump{&here, &there};
  BuilderUnit builder(there, building);
  std::uint64_t complete = 0;
  builder.on_event([&](const Event& event) { complete += event.complete() ? 1U : 0U; });
  const std::string address = builder.bind(GetParam().address);
  ReadoutUnit first(here, sending);
  sending.source = 1;
  ReadoutUnit second(here, sending);
  for (ReadoutUnit* each : {&first, &second}) {
    each->connect(0, address);
    each->advance({0, 0});
  }
  ASSERT_SOON(pump, first.builders_connected() + second.builders_connected() == 2);

  std::uint64_t events = 0;
  while (first.send({0, events}, bytes_of(events)) == Status::ok) ++events;
  ASSERT_SOON(pump, builder.books().open_bytes > building.window_bytes / 20 * 19);
  int ended = 0;
  first.advance({0, events});
  second.advance({0, events});  // it has nothing for them
  first.finish(1h, [&] { ++ended; });
  second.finish(1h, [&] { ++ended; });
  ASSERT_SOON(pump, ended == 2);
  EXPECT_EQ(complete, events);
}

ON_EVERY_TRANSPORT(FullStore);

}  // namespace
}  // namespace netio::test
