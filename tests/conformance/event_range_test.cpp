// BuilderUnit::on_range() over every transport: the same events, with the fragments of each source
// next to each other.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conformance/fragments.hpp"

namespace netio::test {
namespace {

class EventRanges : public testing::TestWithParam<Row> {
 protected:
  void SetUp() override {
    if (const std::string why = GetParam().why_absent(); !why.empty()) GTEST_SKIP() << why;
  }

  static constexpr std::uint32_t sources_count = 3;
  static constexpr std::uint64_t range_events = 16;

  void make_all(bool with_manager, std::chrono::nanoseconds deadline = 5s) {
    const BuildPlan plan{sources_count, 1, range_events, with_manager};
    if (with_manager) {
      ManagerOptions options;
      options.plan = plan;
      options.lease = 200ms;
      manager_ = std::make_unique<EventManager>(there_, options);
    }
    const std::string manager = with_manager ? manager_->bind(GetParam().address) : "";
    BuilderOptions options;
    options.plan = plan;
    options.deadline = deadline;
    builder_ = std::make_unique<BuilderUnit>(there_, options);
    builder_->on_range([this](const EventRange& part) { take(part); });
    const std::string address = builder_->bind(GetParam().address);
    if (with_manager) builder_->join(manager);
    for (std::uint32_t source = 0; source < sources_count; ++source) {
      ReadoutOptions unit;
      unit.plan = plan;
      unit.source = source;
      units_.push_back(std::make_unique<ReadoutUnit>(here_, unit));
      with_manager ? units_.back()->join(manager) : units_.back()->connect(0, address);
    }
  }

  void take(const EventRange& part) {
    ASSERT_FALSE(part.events().empty());
    ASSERT_EQ(part.sources(), sources_count);
    ++calls_;
    std::uint64_t bytes = 0;
    const EventId first = part.events().front().id;
    for (std::uint32_t source = 0; source < sources_count; ++source) {
      ASSERT_EQ(part.of(source).size(), part.events().size());
    }
    for (std::size_t i = 0; i < part.events().size(); ++i) {
      const EventRange::Entry& event = part.events()[i];
      EXPECT_EQ(event.id.number / range_events, first.number / range_events);
      EXPECT_TRUE(event.again || !seen_.contains(event.id)) << event.id.number;
      EXPECT_TRUE(i == 0 || part.events()[i - 1].id < event.id);
      ++seen_[event.id];
      if (!event.complete) ++incomplete_;
      for (std::uint32_t source = 0; source < sources_count; ++source) {
        const EventFragment& fragment = part.of(source)[i];
        ++missing_[fragment.missing];
        if (!fragment.here) continue;
        bytes += fragment.bytes().size();
        EXPECT_TRUE(same_bytes(fragment.bytes(), fragment_bytes(source, event.id)))
            << event.id.number;
      }
    }
    EXPECT_EQ(part.bytes(), bytes);
    if (on_range_) on_range_(part);
  }

  void send(std::uint64_t first, std::uint64_t count, std::uint32_t sources = sources_count) {
    for (std::uint64_t number = first; number < first + count; ++number) {
      for (std::uint32_t source = 0; source < sources; ++source) {
        const std::vector<std::byte> fragment = fragment_bytes(source, {1, number});
        ASSERT_SOON(pump_, units_[source]->send({1, number}, fragment) == Status::ok);
      }
    }
  }
  [[nodiscard]] std::uint64_t held() const {
    std::uint64_t held = 0;
    for (const auto& unit : units_) held += unit->books().held;
    return held;
  }
  void expect_all(std::uint64_t events) {
    for (const auto& unit : units_) unit->advance({1, events});
    for (const auto& unit : units_) unit->finish(1h, [this] { ++ended_; });
    ASSERT_SOON(pump_, ended_ == sources_count);
    EXPECT_EQ(held(), 0U);
    EXPECT_EQ(seen_.size(), events);
    const BuilderBooks books = builder_->books();
    EXPECT_EQ(books.complete + books.incomplete - books.again, events);
    EXPECT_EQ(books.open_bytes + books.kept_bytes, 0U);
  }

  Context here_{memory_to_build()};
  Context there_{memory_to_build()};
  Pump pump_{&here_, &there_};
  std::unique_ptr<EventManager> manager_;
  std::unique_ptr<BuilderUnit> builder_;
  std::vector<std::unique_ptr<ReadoutUnit>> units_;
  std::map<EventId, int> seen_;
  std::map<Missing, int> missing_;
  std::uint64_t calls_ = 0;
  std::uint64_t incomplete_ = 0;
  std::uint32_t ended_ = 0;
  std::function<void(const EventRange&)> on_range_;
};

TEST_P(EventRanges, have_every_event_once_and_several_in_a_call) {
  make_all(false);
  send(0, 2000);
  expect_all(2000);
  EXPECT_EQ(incomplete_, 0U);
  EXPECT_LT(calls_, 1000U);
}

TEST_P(EventRanges, have_every_event_with_a_manager) {
  make_all(true);
  ASSERT_SOON(pump_, std::ranges::all_of(
                         units_, [](const auto& unit) { return unit->builders_connected() == 1; }));
  send(0, 1000);
  expect_all(1000);
  EXPECT_EQ(incomplete_, 0U);
}

TEST_P(EventRanges, say_what_is_missing) {
  make_all(false, 50ms);
  for (const auto& unit : units_) unit->advance({1, 0});
  ASSERT_SOON(pump_, std::ranges::all_of(
                         units_, [](const auto& unit) { return unit->builders_connected() == 1; }));
  send(0, range_events, 2);  // the third unit is there, and sends nothing
  ASSERT_SOON(pump_, seen_.size() == range_events);
  EXPECT_EQ(incomplete_, range_events);
  EXPECT_EQ(missing_[Missing::late], static_cast<int>(range_events));
  EXPECT_EQ(missing_[Missing::no], static_cast<int>(2 * range_events));
}

// What is in the call is settled, and nothing else.
TEST_P(EventRanges, may_close_the_builder_in_their_call) {
  make_all(false);
  bool closed = false;
  on_range_ = [&](const EventRange&) {
    if (calls_ == 3) builder_->close(10s, [&] { closed = true; });
  };
  send(0, 3 * range_events);
  ASSERT_SOON(pump_, closed);
  ASSERT_SOON(pump_, held() == (3 * range_events - seen_.size()) * sources_count);
  EXPECT_EQ(calls_, 3U);
}

TEST_P(EventRanges, and_single_events_take_turns) {
  make_all(false);
  std::uint64_t single = 0;
  send(0, 200);
  ASSERT_SOON(pump_, held() < 200);
  const std::uint64_t calls = calls_;
  builder_->on_event([&](const Event& event) {
    ++single;
    ++seen_[event.id()];
  });
  send(200, 200);
  ASSERT_SOON(pump_, seen_.size() > 350);
  EXPECT_EQ(calls_, calls);
  builder_->on_range([this](const EventRange& part) { take(part); });
  send(400, 200);
  expect_all(600);
  EXPECT_GT(single, 0U);
  EXPECT_GT(calls_, calls);
}

// The one that runs must not be destroyed, and the other one gets all that follows.
TEST_P(EventRanges, a_call_may_set_another_one) {
  make_all(false);
  std::uint64_t single = 0;
  std::uint64_t ranges = 0;
  const auto large = std::make_shared<std::vector<std::uint64_t>>(1000, 7);
  std::function<void()> take_next;
  const auto of_one = [&, large](const Event& event) {
    ++seen_[event.id()];
    if (++single % 10 == 0) take_next();
    EXPECT_EQ((*large)[999], 7U);
  };
  const auto of_range = [&, large](const EventRange& part) {
    for (const EventRange::Entry& each : part.events()) ++seen_[each.id];
    ++ranges;
    take_next();
    EXPECT_EQ((*large)[999], 7U);
  };
  bool by_range = true;
  take_next = [&] {
    by_range = !by_range;
    if (by_range) {
      builder_->on_range(of_range);
    } else {
      builder_->on_event(of_one);
    }
  };
  builder_->on_range(of_range);
  send(0, 1000);
  expect_all(1000);
  EXPECT_GT(ranges, 1U);
  EXPECT_GT(single, 10U);
}

TEST_P(EventRanges, a_call_may_take_itself_away) {
  make_all(false);
  std::uint64_t calls = 0;
  builder_->on_range([&](const EventRange& part) {
    for (const EventRange::Entry& each : part.events()) ++seen_[each.id];
    if (++calls == 1) builder_->on_range({});
    EXPECT_EQ(calls, 1U);
  });
  send(0, 3 * range_events);
  ASSERT_SOON(pump_, calls == 1);
  pump_.turns(50);
  EXPECT_EQ(calls, 1U);
  builder_->on_range([this](const EventRange& part) { take(part); });
  expect_all(3 * range_events);
}

TEST_P(EventRanges, cannot_be_settled_when_they_are_released) {
  BuilderOptions options;
  options.plan = {1, 1, 16};
  options.settle_released = true;
  BuilderUnit builder(there_, options);
  EXPECT_THROW(builder.on_range([](const EventRange&) {}), Error);
}

ON_EVERY_TRANSPORT(EventRanges);

}  // namespace
}  // namespace netio::test
