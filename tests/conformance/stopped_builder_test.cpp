// A builder that is stopped beside a healthy one, over every transport: the stores of the units
// fill up with its events, and the healthy one still builds each of its own, whole.
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "conformance/fragments.hpp"

namespace netio::test {
namespace {

constexpr std::uint32_t sources_count = 2;
constexpr std::uint32_t builders_count = 2;
constexpr std::uint32_t stopped = 0;
constexpr std::uint32_t healthy = 1;

class StoppedBuilder : public testing::TestWithParam<Row> {
 protected:
  void SetUp() override {
    if (const std::string why = GetParam().why_absent(); !why.empty()) GTEST_SKIP() << why;
    for (std::uint32_t number = 0; number < builders_count; ++number) make_builder(number);
    for (std::uint32_t source = 0; source < sources_count; ++source) make_unit(source);
    Pump all{&units_context_, &contexts_[stopped], &contexts_[healthy]};
    ASSERT_SOON(all, units_[0]->builders_connected() + units_[1]->builders_connected() == 4);
  }

  static BuildPlan plan() { return {sources_count, builders_count, 16}; }
  void make_builder(std::uint32_t number) {
    BuilderOptions options;
    options.plan = plan();
    options.builder = number;
    options.deadline = deadline_;
    builders_[number] = std::make_unique<BuilderUnit>(contexts_[number], options);
    builders_[number]->on_event([this, number](const Event& event) {
      EXPECT_TRUE(event.complete()) << event.id().number;
      EXPECT_EQ(builder_of(event.id().number), number);
      for (std::uint32_t source = 0; source < sources_count; ++source) {
        EXPECT_TRUE(same_bytes(event[source].bytes(), fragment(source, event.id().number)));
      }
      ++built_[number];
    });
    addresses_[number] = builders_[number]->bind(GetParam().address);
  }
  // The stores take twice what the pool takes from which pages are sent, as by default.
  void make_unit(std::uint32_t source) {
    ReadoutOptions options;
    options.plan = plan();
    options.source = source;
    options.store_bytes_max = std::size_t{16} << 20U;
    units_[source] = std::make_unique<ReadoutUnit>(units_context_, options);
    for (std::uint32_t number = 0; number < builders_count; ++number) {
      units_[source]->connect(number, addresses_[number]);
    }
    units_[source]->on_room([this, source] { waits_[source] = false; });
    units_[source]->advance({1, 0});
  }
  static std::uint32_t builder_of(std::uint64_t number) {
    return static_cast<std::uint32_t>(number / plan().range_events % builders_count);
  }
  static std::uint64_t events_of(std::uint32_t builder, std::uint64_t below) {
    std::uint64_t count = 0;
    for (std::uint64_t number = 0; number < below; ++number) count += builder_of(number) == builder;
    return count;
  }
  // The store of unit 1 is full before that of unit 0.
  [[nodiscard]] const std::vector<std::byte>& fragment(std::uint32_t source, std::uint64_t number) {
    return fragments_[source][number % fragments_[source].size()];
  }
  [[nodiscard]] bool send_next(std::uint32_t source, std::uint64_t below) {
    if (waits_[source] || next_[source] == below) return false;
    const EventId event{1, next_[source]};
    waits_[source] = units_[source]->send(event, fragment(source, event.number)) == Status::again;
    if (!waits_[source]) ++next_[source];
    return !waits_[source];
  }
  // Until each unit has sent as many, or its store is full of what nobody settles.
  void send_what_fits(Pump& pump, std::uint64_t below) {
    for (int idle = 0; idle < 20; ++idle) {
      for (int i = 0; i < 8; ++i) {
        for (std::uint32_t source = 0; source < sources_count; ++source) {
          if (send_next(source, below)) idle = 0;
        }
      }
      const std::uint64_t built = built_[0] + built_[1];
      pump.turn();
      if (built_[0] + built_[1] != built) idle = 0;
    }
  }

  // The device is software in an emulated machine, where a turn may take a tenth of a second.
  const std::chrono::milliseconds deadline_ = GetParam().name.starts_with("verbs") ? 5s : 500ms;
  Context units_context_{memory_to_build()};
  std::array<Context, builders_count> contexts_{Context(memory_to_build()),
                                                Context(memory_to_build())};
  std::array<std::unique_ptr<BuilderUnit>, builders_count> builders_;
  std::array<std::unique_ptr<ReadoutUnit>, sources_count> units_;
  std::array<std::string, builders_count> addresses_;
  std::array<std::vector<std::vector<std::byte>>, sources_count> fragments_{
      std::vector<std::vector<std::byte>>{payload(1, 10'000), payload(2, 9'000), payload(3, 300)},
      std::vector<std::vector<std::byte>>{payload(4, 12'000), payload(5, 11'000), payload(6, 400)}};
  std::array<std::uint64_t, sources_count> next_{};
  std::array<bool, sources_count> waits_{};  // for room
  std::array<std::uint64_t, builders_count> built_{};
};

TEST_P(StoppedBuilder, takes_nothing_from_another_one) {
  Reply reply(units_context_, {});
  reply.on_request([](const MessageView&, ReplyTo to) { EXPECT_EQ(to.send("!"), Status::ok); });
  Request request(contexts_[healthy], {});
  int answers = 0;
  request.on_reply([&](std::uint64_t, const MessageView&) { ++answers; });
  request.connect(reply.bind(GetParam().address));

  constexpr std::uint64_t far = 1'000'000;
  Pump without{&units_context_, &contexts_[healthy]};
  send_what_fits(without, far);
  ASSERT_GT(units_[0]->books().held_bytes, std::size_t{8} << 20U);
  ASSERT_GT(next_[0], next_[1]);
  EXPECT_EQ(builder_of(next_[1]), stopped) << "events of the other one were held up before";
  EXPECT_GT(units_[1]->fill(), 0.999);
  EXPECT_EQ(units_[1]->held_for_builders()[healthy].fragments, 0U);
  const std::uint64_t whole = events_of(healthy, next_[1]);
  ASSERT_SOON(without, built_[healthy] == whole);
  std::uint64_t id = 0;
  ASSERT_SOON(without, request.send("?", id) == Status::ok);
  ASSERT_SOON(without, answers == 1);

  for (const auto& unit : units_) {
    const std::vector<HeldForBuilder> held = unit->held_for_builders();
    EXPECT_GT(held[stopped].bytes, unit->books().held_bytes / 4 * 3);
    EXPECT_EQ(held[stopped].oldest, (EventId{1, 0}));
    EXPECT_EQ(held[stopped].fragments + held[healthy].fragments, unit->books().held);
    EXPECT_EQ(held[stopped].bytes + held[healthy].bytes, unit->books().held_bytes);
    EXPECT_TRUE(held[stopped].connected && held[healthy].connected);
  }

  // The source of unit 1 waits. So do the events of which unit 0 has a fragment, and no longer.
  EXPECT_TRUE(builders_[healthy]->books().sources[1].busy);
  without.run_for(2 * deadline_);
  EXPECT_EQ(built_[healthy], whole);
  EXPECT_GT(builders_[healthy]->books().open, 0U);

  Pump all{&units_context_, &contexts_[stopped], &contexts_[healthy]};
  const std::uint64_t count = next_[0] + 1'000;
  ASSERT_SOON(all, (send_what_fits(all, count), next_[0] == count && next_[1] == count));
  for (const auto& unit : units_) unit->advance(end_of_run(1));
  ASSERT_SOON(all, units_[0]->books().held + units_[1]->books().held == 0);
  for (std::uint32_t number = 0; number < builders_count; ++number) {
    EXPECT_EQ(built_[number], events_of(number, count));
    EXPECT_FALSE(builders_[number]->books().sources[1].busy);
  }
}

ON_EVERY_TRANSPORT(StoppedBuilder);

}  // namespace
}  // namespace netio::test
