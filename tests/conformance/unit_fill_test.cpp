// How full read-out units and builder units are, what they are told of it, memory for a fragment,
// and the end of runs.
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "conformance/fragments.hpp"

namespace netio::test {
namespace {

constexpr BuildPlan two_of_each{2, 2, 16, false};
constexpr std::size_t fragment_bytes_each = 936;  // a fragment counts 1000 bytes in the store

class UnitFill : public testing::TestWithParam<Row> {
 protected:
  void SetUp() override {
    if (const std::string why = GetParam().why_absent(); !why.empty()) GTEST_SKIP() << why;
  }

  void make_builder(BuilderOptions options = {}) {
    options.plan = {1, 1, 16, false};
    builder_.emplace(there_, options);
  }
  void make_unit(std::size_t store_bytes_max) {
    ReadoutOptions options;
    options.plan = {1, 1, 16, false};
    options.store_bytes_max = store_bytes_max;
    options.socket = hasty_socket();
    unit_.emplace(here_, options);
  }
  void connect() { unit_->connect(0, builder_->bind(GetParam().address)); }

  std::vector<std::byte> bytes_ = std::vector<std::byte>(fragment_bytes_each);
  Context here_{memory_to_build()};
  Context there_{memory_to_build()};
  Pump pump_{&here_, &there_};
  std::optional<BuilderUnit> builder_;
  std::optional<ReadoutUnit> unit_;
};

TEST_P(UnitFill, a_unit_tells_when_its_store_fills_and_when_there_is_room) {
  make_builder();
  make_unit(100'000);
  int high = 0;
  int low = 0;
  unit_->on_high_watermark([&] { ++high; });
  unit_->on_low_watermark([&] { ++low; });
  EXPECT_EQ(unit_->fill(), 0.0);
  const auto send_up_to = [&](std::uint64_t from, std::uint64_t to) {
    for (; from < to; ++from) ASSERT_EQ(unit_->send({1, from}, bytes_), Status::ok);
  };
  send_up_to(0, 74);
  EXPECT_DOUBLE_EQ(unit_->fill(), 0.74);
  pump_.turn(0ms);
  EXPECT_EQ(high, 0);
  send_up_to(74, 80);
  EXPECT_EQ(high, 0) << "before the turn ends";
  pump_.turn(0ms);
  EXPECT_EQ(high, 1);
  send_up_to(80, 100);
  EXPECT_EQ(unit_->send({1, 100}, bytes_), Status::again);
  EXPECT_DOUBLE_EQ(unit_->fill(), 1.0);
  pump_.turn(0ms);
  EXPECT_EQ(low, 0);
  builder_->on_event([](const Event&) {});
  connect();
  unit_->advance(end_of_run(1));
  ASSERT_SOON(pump_, low == 1);
  EXPECT_LE(unit_->fill(), 0.25);
  ASSERT_SOON(pump_, unit_->fill() == 0.0);
  EXPECT_EQ(high, 1);
  EXPECT_EQ(low, 1);
}

// Most fragments take another way while they flow.
TEST_P(UnitFill, a_unit_tells_so_of_fragments_that_flow) {
  make_builder();  // that hands nothing over for now
  make_unit(100'000);
  int high = 0;
  int low = 0;
  unit_->on_high_watermark([&] { ++high; });
  connect();
  ASSERT_SOON(pump_, unit_->builders_connected() == 1);
  for (std::uint64_t number = 0; number < 70; ++number) {
    ASSERT_EQ(unit_->send({1, number}, bytes_), Status::ok);
  }
  pump_.turns(5);
  EXPECT_EQ(high, 0);
  for (std::uint64_t number = 70; number < 90; ++number) {
    ASSERT_EQ(unit_->send({1, number}, bytes_), Status::ok);
    if (number % 4 == 0) {
      EXPECT_GT(unit_->fill(), 0.69);
    }
  }
  pump_.turns(1);
  EXPECT_EQ(high, 1);
  unit_->on_low_watermark([&] { ++low; });
  builder_->on_event([](const Event&) {});
  unit_->advance(end_of_run(1));
  ASSERT_SOON(pump_, low == 1);
}

TEST_P(UnitFill, who_asks_late_is_told_in_the_next_turn) {
  BuilderOptions options;
  options.keep_bytes_max = 10'000;
  make_builder(options);
  make_unit(20'000);
  std::vector<KeptEvent> kept;
  builder_->on_event([&](const Event& event) { kept.push_back(event.keep()); });
  connect();
  for (std::uint64_t number = 0; number < 30; ++number) {
    ASSERT_SOON(pump_, unit_->send({1, number}, bytes_) == Status::ok);
  }
  ASSERT_SOON(pump_, kept.size() == 10 && unit_->books().held == 20);
  pump_.turns(5);
  int high = 0;
  unit_->on_high_watermark([&] { ++high; });
  builder_->on_high_watermark([&] { ++high; });
  pump_.turns(1);
  EXPECT_EQ(high, 2);
}

TEST_P(UnitFill, a_builder_tells_when_the_user_keeps_much_and_when_he_has_released_it) {
  BuilderOptions options;
  options.keep_bytes_max = 10'000;
  make_builder(options);
  make_unit(100'000);
  int high = 0;
  int low = 0;
  builder_->on_high_watermark([&] { ++high; });
  builder_->on_low_watermark([&] { ++low; });
  std::vector<KeptEvent> kept;
  builder_->on_event([&](const Event& event) { kept.push_back(event.keep()); });
  connect();
  for (std::uint64_t number = 0; number < 20; ++number) {
    ASSERT_EQ(unit_->send({1, number}, bytes_), Status::ok);
  }
  ASSERT_SOON(pump_, high == 1);
  ASSERT_SOON(pump_, kept.size() == 10);
  EXPECT_DOUBLE_EQ(builder_->fill(), 1.0);
  EXPECT_EQ(low, 0);
  kept.resize(5);
  ASSERT_SOON(pump_, kept.size() == 10);
  EXPECT_EQ(high, 1);
  ASSERT_SOON(pump_, builder_->books().open == 5);
  kept.clear();
  ASSERT_SOON(pump_, kept.size() == 5);
  EXPECT_EQ(low, 0) << "the next ones came before the turn ended";
  kept.clear();
  ASSERT_SOON(pump_, low == 1);
  EXPECT_EQ(builder_->fill(), 0.0);
}

TEST_P(UnitFill, what_is_allocated_is_sent_as_it_was_written) {
  make_builder();
  make_unit(std::size_t{4} << 20U);
  constexpr std::size_t large = 50'000;
  std::uint64_t right = 0;
  builder_->on_event([&](const Event& event) {
    const std::uint64_t number = event.id().number;
    const MessageView& message = event[0].message;
    const bool segmented = number % 2 == 1;
    ASSERT_EQ(message.segments().size(), segmented ? 2U : 1U);
    const auto body = segmented ? message.segments()[1] : message.bytes();
    EXPECT_TRUE(same_bytes(body, payload(number, large)));
    if (segmented) {
      EXPECT_TRUE(same_bytes(message.segments()[0], payload(~number, 100)));
    }
    ++right;
  });
  connect();
  ASSERT_SOON(pump_, unit_->builders_connected() == 1);
  for (std::uint64_t number = 0; number < 40; ++number) {
    const bool segmented = number % 2 == 1;
    Status status = Status::invalid;
    Message body = unit_->allocate({1, number}, large, status, segmented ? 104 : 0);
    ASSERT_EQ(status, Status::ok);
    ASSERT_EQ(body.size(), large);
    const std::vector<std::byte> written = payload(number, large);
    std::memcpy(body.writable_bytes().data(), written.data(), large);
    if (segmented) {
      const std::vector<std::byte> header = payload(~number, 100);
      ASSERT_EQ(unit_->send_segments({1, number}, {header, std::move(body)}), Status::ok);
    } else {
      ASSERT_EQ(unit_->send({1, number}, std::move(body)), Status::ok);
    }
    ASSERT_SOON(pump_, unit_->books().held < 20);
  }
  ASSERT_SOON(pump_, right == 40);
}

TEST_P(UnitFill, what_cannot_be_allocated_is_told) {
  make_builder();
  make_unit(std::size_t{4} << 20U);
  Status status = Status::ok;
  EXPECT_TRUE(unit_->allocate({1, 0}, 0, status));
  EXPECT_EQ(status, Status::ok);
  EXPECT_FALSE(unit_->allocate({1, 0}, SIZE_MAX, status));
  EXPECT_EQ(status, Status::too_big);
  EXPECT_FALSE(unit_->allocate({1, 0}, 10, status, SIZE_MAX));
  EXPECT_EQ(status, Status::too_big);
  EXPECT_FALSE(unit_->allocate({1, 0}, std::size_t{4} << 20U, status)) << "beyond the store";
  EXPECT_EQ(status, Status::too_big);
  unit_->finish(0ns, [] {});
  EXPECT_FALSE(unit_->allocate({1, 0}, 10, status));
  EXPECT_EQ(status, Status::closed);
}

INSTANTIATE_TEST_SUITE_P(on, UnitFill, testing::ValuesIn(every_transport()), row_name);

// What a builder is told, in order: "3" is an event of run 3, and "end 3: ..." the end of that run.
class RunEnds : public testing::Test {
 protected:
  void make_builder(std::uint32_t number, bool by_range = false,
                    const std::string& address = "tcp://127.0.0.1:0") {
    BuilderOptions options;
    options.plan = plan_;
    options.builder = number;
    options.deadline = deadline_;
    options.meet_within = deadline_;
    auto& builder = builders_[number];
    builder = std::make_unique<BuilderUnit>(there_, options);
    std::vector<std::string>& told = told_[number];
    const auto event = [&told](std::uint64_t run) {
      if (told.empty() || told.back() != std::to_string(run)) told.push_back(std::to_string(run));
    };
    builder->on_event([event](const Event& each) { event(each.id().run); });
    if (by_range) {
      builder->on_range([event](const EventRange& range) { event(range.events()[0].id.run); });
    }
    builder->on_run_end([&told](const RunBooks& books) {
      std::uint64_t missing = 0;
      for (const auto& source : books.missing_by) {
        for (const std::uint64_t count : source) missing += count;
      }
      told.push_back("end " + std::to_string(books.run) + ": " + std::to_string(books.complete) +
                     " complete, " + std::to_string(books.incomplete) + " incomplete, " +
                     std::to_string(missing) + " missing, " + std::to_string(books.bytes) +
                     " bytes");
    });
    addresses_[number] = builder->bind(address);
  }
  void make_units(std::uint32_t count = 2) {
    for (std::uint32_t source = 0; source < count; ++source) {
      ReadoutOptions options;
      options.plan = plan_;
      options.source = source;
      options.socket = hasty_socket();
      auto& unit = units_.emplace_back(std::make_unique<ReadoutUnit>(here_, options));
      for (std::uint32_t number = 0; number < plan_.builders; ++number) {
        unit->connect(number, addresses_[number]);
      }
    }
  }
  void send(std::uint64_t run, std::uint64_t events) {
    for (std::uint64_t number = 0; number < events; ++number) {
      for (const auto& unit : units_) {
        ASSERT_EQ(unit->send({run, number}, std::vector<std::byte>(100)), Status::ok);
      }
    }
  }
  void end(std::uint64_t run) {
    for (const auto& unit : units_) unit->advance(end_of_run(run));
  }
  using Told = std::vector<std::string>;
  void await_both(const Told& of_0, const Told& of_1) {
    ASSERT_SOON(pump_, told_[0].size() == of_0.size() && told_[1].size() == of_1.size());
    EXPECT_EQ(told_[0], of_0);
    EXPECT_EQ(told_[1], of_1);
  }

  BuildPlan plan_ = two_of_each;
  std::chrono::nanoseconds deadline_ = 30s;
  Context here_{memory_to_build()};
  Context there_{memory_to_build()};
  Pump pump_{&here_, &there_};
  std::vector<std::string> addresses_ = std::vector<std::string>(2);
  std::vector<std::unique_ptr<BuilderUnit>> builders_{2};
  std::vector<std::unique_ptr<ReadoutUnit>> units_;
  std::vector<Told> told_{2};
};

TEST_F(RunEnds, come_with_their_books_at_each_builder) {
  make_builder(0);
  make_builder(1, true);
  make_units();
  send(1, 40);
  end(1);
  send(2, 10);
  end(2);
  ASSERT_SOON(pump_, told_[0].size() == 4 && told_[1].size() == 3);
  end(3);
  const Told of_0{"1", "end 1: 24 complete, 0 incomplete, 0 missing, 4800 bytes", "2",
                  "end 2: 10 complete, 0 incomplete, 0 missing, 2000 bytes",
                  "end 3: 0 complete, 0 incomplete, 0 missing, 0 bytes"};
  const Told of_1{"1", "end 1: 16 complete, 0 incomplete, 0 missing, 3200 bytes",
                  "end 2: 0 complete, 0 incomplete, 0 missing, 0 bytes",
                  "end 3: 0 complete, 0 incomplete, 0 missing, 0 bytes"};
  await_both(of_0, of_1);
}

TEST_F(RunEnds, come_in_front_of_the_next_run_also_if_no_unit_says_them) {
  make_builder(0);
  make_builder(1);
  make_units();
  send(1, 20);
  send(4, 20);
  for (const auto& unit : units_) unit->advance({4, 32});
  const Told of_0{"1", "end 1: 16 complete, 0 incomplete, 0 missing, 3200 bytes", "4"};
  const Told of_1{"1", "end 1: 4 complete, 0 incomplete, 0 missing, 800 bytes", "4"};
  await_both(of_0, of_1);
}

// A builder remembers 1,024 ends of ranges, and of later ones the last.
TEST_F(RunEnds, come_in_front_of_the_next_run_where_it_lies_behind_thousands_of_ranges) {
  plan_ = {2, 1, 1, false};
  make_builder(0);
  make_units();
  const std::vector<std::byte> fragment(100);
  for (const auto& unit : units_) {
    for (std::uint64_t number = 0; number < 2000; ++number) {
      ASSERT_EQ(unit->send({1, number}, fragment), Status::ok);
    }
    for (std::uint64_t number = 0; number < 5; ++number) {
      ASSERT_EQ(unit->send({2, number}, fragment), Status::ok);
    }
    if (unit == units_[0]) {
      ASSERT_SOON(pump_, builders_[0]->books().sources[0].received == 2005);
    }
  }
  const Told wanted{"1", "end 1: 2000 complete, 0 incomplete, 0 missing, 400000 bytes", "2"};
  ASSERT_SOON(pump_, builders_[0]->books().complete == 2005);
  EXPECT_EQ(told_[0], wanted);
}

// Where the next run begins elsewhere, no unit may ever say where the first one ended.
TEST_F(RunEnds, come_also_if_the_next_run_was_begun_before_a_builder_hears_of_its_end) {
  make_builder(0);
  make_builder(1);
  make_units();
  send(1, 40);
  end(1);
  for (const auto& unit : units_) unit->advance({2, 8});
  const Told of_0{"1", "end 1: 24 complete, 0 incomplete, 0 missing, 4800 bytes"};
  const Told of_1{"1", "end 1: 16 complete, 0 incomplete, 0 missing, 3200 bytes"};
  await_both(of_0, of_1);
}

TEST_F(RunEnds, are_not_told_of_runs_that_an_earlier_process_was_done_with) {
  make_builder(0);
  make_builder(1);
  make_units();
  send(1, 40);
  end(1);
  ASSERT_SOON(pump_, told_[0].size() == 2 && told_[1].size() == 2);
  ASSERT_SOON(pump_, units_[0]->books().held + units_[1]->books().held == 0);
  builders_[0].reset();
  told_[0].clear();
  make_builder(0, false, addresses_[0]);
  send(2, 40);
  end(2);
  const Told of_0{"2", "end 2: 24 complete, 0 incomplete, 0 missing, 4800 bytes"};
  ASSERT_SOON(pump_, told_[0].size() == of_0.size());
  EXPECT_EQ(told_[0], of_0);
}

TEST_F(RunEnds, are_not_told_after_close) {
  make_builder(0);
  make_builder(1);
  make_units();
  std::vector<std::uint64_t> ended;
  bool closed = false;
  builders_[0]->on_run_end([&](const RunBooks& books) {
    ended.push_back(books.run);
    builders_[0]->close(0ns, [&closed] { closed = true; });
  });
  for (const std::uint64_t run : {1U, 2U, 3U}) {
    send(run, 1);
    end(run);
  }
  ASSERT_SOON(pump_, closed);
  EXPECT_EQ(ended, std::vector<std::uint64_t>{1});
  EXPECT_EQ(told_[0], Told{"1"});
}

TEST_F(RunEnds, are_not_told_after_close_of_runs_without_events) {
  plan_ = {2, 1, 16, false};
  make_builder(0);
  make_units();
  std::vector<std::uint64_t> ended;
  bool closed = false;
  builders_[0]->on_run_end([&](const RunBooks& books) {
    ended.push_back(books.run);
    builders_[0]->close(0ns, [&closed] { closed = true; });
  });
  send(1, 1);
  ASSERT_SOON(pump_, builders_[0]->books().complete == 1);
  // It hears the end of each run from one unit, and then of all at once from the other.
  for (const std::uint64_t run : {1U, 2U, 3U}) {
    const std::uint64_t heard = builders_[0]->counters().pages_received;
    units_[0]->advance(end_of_run(run));
    ASSERT_SOON(pump_, builders_[0]->counters().pages_received > heard);
  }
  units_[1]->advance(end_of_run(3));
  ASSERT_SOON(pump_, closed);
  EXPECT_EQ(ended, std::vector<std::uint64_t>{1});
}

// The last events and the end of the run are over at the same moment, so a part of a range has
// still to be handed over.
TEST_F(RunEnds, count_what_is_missing) {
  deadline_ = 20ms;
  make_builder(0);
  make_builder(1, true);
  make_units(1);  // and not the other
  send(1, 20);
  end(1);
  const Told of_0{"1", "end 1: 0 complete, 16 incomplete, 16 missing, 1600 bytes"};
  const Told of_1{"1", "end 1: 0 complete, 4 incomplete, 4 missing, 400 bytes"};
  await_both(of_0, of_1);
}

// Nor is the run settled.
TEST_F(RunEnds, are_not_told_while_the_builder_is_paused) {
  make_builder(0);
  make_builder(1, true);
  make_units();
  std::uint64_t events = 0;
  builders_[0]->on_event([&](const Event& event) {
    told_[0].push_back(std::to_string(event.id().number));
    if (++events == 16 + 8) builders_[0]->pause();
  });
  std::uint64_t events_of_1 = 0;
  builders_[1]->on_range([&](const EventRange& range) {
    events_of_1 += range.events().size();
    if (events_of_1 == 16) builders_[1]->pause();
  });
  send(1, 40);
  end(1);
  ASSERT_SOON(pump_, events == 24 && events_of_1 == 16);
  pump_.turns(100);
  EXPECT_EQ(told_[0].back(), "39");
  EXPECT_EQ(told_[1], Told{});
  for (const auto& builder : builders_) {
    EXPECT_LT(builder->settled(), end_of_run(1));
    builder->resume();
  }
  ASSERT_SOON(pump_, told_[0].back().starts_with("end 1") && told_[1].size() == 1);
  EXPECT_EQ(told_[1].back(), "end 1: 16 complete, 0 incomplete, 0 missing, 3200 bytes");
  for (const auto& unit : units_) ASSERT_SOON(pump_, unit->settled() == end_of_run(1));
}

TEST_F(RunEnds, come_one_by_one_if_there_is_a_pause_in_each_call) {
  plan_ = {2, 1, 16, false};
  make_builder(0);
  make_units();
  std::vector<std::uint64_t> ended;
  builders_[0]->on_run_end([&](const RunBooks& books) {
    ended.push_back(books.run);
    builders_[0]->pause();
  });
  send(1, 1);
  ASSERT_SOON(pump_, builders_[0]->books().complete == 1);
  // Both units say that two runs are over before the builder hears of one.
  end(2);
  ASSERT_SOON(pump_, !ended.empty());
  pump_.turns(50);
  EXPECT_EQ(ended, (std::vector<std::uint64_t>{1}));
  builders_[0]->resume();
  ASSERT_SOON(pump_, ended.size() == 2);
  EXPECT_EQ(ended[1], 2U);
}

// An earlier builder had settled the run, and this one hears of it in a pause.
TEST_F(RunEnds, come_after_a_pause_in_which_a_unit_has_told_what_was_settled) {
  plan_ = {2, 1, 16, false};
  deadline_ = 20ms;
  make_builder(0);
  make_units();
  send(1, 3);
  end(1);
  ASSERT_SOON(pump_,
              units_[0]->settled() == end_of_run(1) && units_[1]->settled() == end_of_run(1));
  builders_[0].reset();
  units_.erase(units_.begin());
  // One unit is started anew, and sends what it has sent before. The other one comes later.
  const std::string before = addresses_[0];
  make_builder(0);
  int events = 0;
  builders_[0]->on_event([&](const Event&) {
    if (++events == 1) builders_[0]->pause();
  });
  told_[0].clear();
  make_units(1);
  for (std::uint64_t number = 0; number < 3; ++number) {
    ASSERT_EQ(units_[1]->send({1, number}, payload(number, 100)), Status::ok);
  }
  ASSERT_SOON(pump_, events == 1);
  bool other_came = false;
  builders_[0]->on_up([&](std::uint32_t source, const PeerInfo&) { other_came = source == 1; });
  static_cast<void>(builders_[0]->bind(before));
  ASSERT_SOON(pump_, other_came);
  pump_.turns(50);
  EXPECT_TRUE(told_[0].empty());
  builders_[0]->resume();
  ASSERT_SOON(pump_, told_[0].size() == 1);
  EXPECT_TRUE(told_[0][0].starts_with("end 1: 0 complete, 1 incomplete")) << told_[0][0];
}

TEST_F(RunEnds, are_not_told_with_an_event_manager) {
  BuilderOptions options;
  options.plan = {2, 2, 16, true};
  BuilderUnit builder(there_, options);
  EXPECT_THROW(builder.on_run_end([](const RunBooks&) {}), Error);
}

}  // namespace
}  // namespace netio::test
