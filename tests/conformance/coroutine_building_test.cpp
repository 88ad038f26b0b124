// Read-out units and builder units awaited by coroutines, over every transport: what each gets, who
// is held back, and what happens to those that wait when a unit goes.
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <netio/coroutine.hpp>

#include "conformance/fragments.hpp"
#include "support/allocation_counter.hpp"

namespace netio::test {
namespace {

constexpr std::uint32_t sources_count = 2;
constexpr std::size_t small_store = 4000;

class CoroutineBuilding : public testing::TestWithParam<Row> {
 protected:
  void SetUp() override {
    if (const std::string why = GetParam().why_absent(); !why.empty()) GTEST_SKIP() << why;
  }

  static BuildPlan plan(bool managed = false) { return {sources_count, 1, 16, managed}; }
  void make_builder(bool settle_released = false, bool managed = false) {
    BuilderOptions options;
    options.plan = plan(managed);
    options.settle_released = settle_released;
    options.socket = hasty_socket();
    builder_ = std::make_unique<co::BuilderUnit>(there_, options);
    address_ = builder_->bind(GetParam().address);
  }
  std::unique_ptr<co::ReadoutUnit> make_unit(std::uint32_t source,
                                             std::size_t store_bytes_max = std::size_t{1} << 20U,
                                             bool managed = false) {
    ReadoutOptions options;
    options.plan = plan(managed);
    options.source = source;
    options.store_bytes_max = store_bytes_max;
    options.socket = hasty_socket();
    return std::make_unique<co::ReadoutUnit>(here_, options);
  }
  void make_units(std::size_t store_bytes_max = std::size_t{1} << 20U) {
    for (std::uint32_t source = 0; source < sources_count; ++source) {
      units_.push_back(make_unit(source, store_bytes_max));
      units_.back()->connect(0, address_);
    }
  }

  // Until the answer is another than ok.
  Task<> send_run(co::ReadoutUnit& unit, std::uint32_t source, std::uint64_t run,
                  std::uint64_t events) {
    for (EventId event{run, 0}; event.number < events; event = event.next()) {
      const std::vector<std::byte> fragment = fragment_bytes(source, event);
      answer_ = co_await unit.send(event, fragment);
      if (answer_ != Status::ok) co_return;
    }
    unit.advance(end_of_run(run));
    ++runs_sent_;
  }
  void send_runs(std::uint64_t run, std::uint64_t events) {
    for (std::uint32_t source = 0; source < sources_count; ++source) {
      spawn(here_, send_run(*units_[source], source, run, events));
    }
  }
  void note(const co::Built& built) {
    if (built.run != nullptr) {
      told_.push_back("end " + std::to_string(built.run->run) + " of " +
                      std::to_string(built.run->complete));
      return;
    }
    EXPECT_TRUE(built->complete());
    for (std::uint32_t source = 0; source < sources_count; ++source) {
      EXPECT_TRUE(same_bytes((*built)[source].bytes(), fragment_bytes(source, built->id())));
    }
    ++events_;
    const std::string run = std::to_string(built->id().run);
    if (told_.empty() || told_.back() != run) told_.push_back(run);
  }
  Task<> receive_all(co::BuilderUnit& builder) {
    co::Built built = co_await builder.receive();
    while (built.status == Status::ok) {
      note(built);
      built = co_await builder.receive();
    }
    received_last_ = built.status;
  }
  Task<> receive_one(co::BuilderUnit& builder) {
    const co::Built built = co_await builder.receive();
    if (built.status == Status::ok) note(built);
    received_last_ = built.status;
  }
  Task<> send_one(co::ReadoutUnit& unit, EventId event, std::size_t bytes) {
    const std::vector<std::byte> fragment = payload(event.number, bytes);
    answer_ = co_await unit.send(event, fragment);
    answered_.push_back(event.number);
  }
  // Its store holds one fragment of `bytes`, and nobody takes it.
  std::unique_ptr<co::ReadoutUnit> full_unit() {
    auto unit = make_unit(0, small_store);
    spawn(here_, send_one(*unit, {1, 0}, 3000));
    EXPECT_EQ(answered_.size(), 1U);
    return unit;
  }

  Context here_{memory_to_build()};
  Context there_{memory_to_build()};
  Pump pump_{&here_, &there_};
  std::string address_;
  std::unique_ptr<co::BuilderUnit> builder_;
  std::vector<std::unique_ptr<co::ReadoutUnit>> units_;
  std::vector<std::string> told_;  // to the reader: see note()
  std::uint64_t events_ = 0;
  int runs_sent_ = 0;
  std::optional<Status> answer_;
  std::vector<std::uint64_t> answered_;  // events of send_one()
  std::optional<Status> received_last_;
};

// The stores are small, so both ends wait for each other.
TEST_P(CoroutineBuilding, runs_are_received_one_after_the_other) {
  make_builder();
  make_units(200'000);
  spawn(there_, receive_all(*builder_));
  send_runs(1, 500);
  ASSERT_SOON(pump_, runs_sent_ == 2);
  send_runs(2, 100);
  ASSERT_SOON(pump_, told_.size() == 4);
  EXPECT_THAT(told_, testing::ElementsAre("1", "end 1 of 500", "2", "end 2 of 100"));
  EXPECT_EQ(events_, 600U);
  EXPECT_EQ(builder_->books().incomplete + builder_->books().again, 0U);
}

TEST_P(CoroutineBuilding, nothing_is_handed_over_while_nobody_receives) {
  make_builder();
  make_units(200'000);
  send_runs(1, 300);
  ASSERT_SOON(pump_, builder_->books().open > 1);
  spawn(there_, receive_one(*builder_));
  ASSERT_SOON(pump_, events_ == 1);
  pump_.turns(200);
  EXPECT_EQ(builder_->books().complete, 1U);
  EXPECT_EQ(runs_sent_, 0) << "the stores are full";
  spawn(there_, receive_all(*builder_));
  ASSERT_SOON(pump_, told_.size() == 2);
  EXPECT_THAT(told_, testing::ElementsAre("1", "end 1 of 300"));
}

// Everything of the run was handed over, and the end of the run waits for a reader, as the position
// does that units are told.
TEST_P(CoroutineBuilding, a_run_does_not_end_while_nobody_receives) {
  make_builder();
  make_units();
  const auto receive = [&]() -> Task<> {
    for (int i = 0; i < 20; ++i) {
      const co::Built built = co_await builder_->receive();
      note(built);
    }
  };
  spawn(there_, receive());
  send_runs(1, 20);
  ASSERT_SOON(pump_, events_ == 20);
  pump_.turns(200);
  EXPECT_THAT(told_, testing::ElementsAre("1"));
  EXPECT_LT(builder_->settled(), end_of_run(1));
  spawn(there_, receive_one(*builder_));
  ASSERT_SOON(pump_, told_.size() == 2);
  EXPECT_EQ(told_[1], "end 1 of 20");
  ASSERT_SOON(pump_, units_[0]->settled() == end_of_run(1));
}

TEST_P(CoroutineBuilding, an_event_that_is_kept_is_settled_when_it_is_released) {
  make_builder(true);
  make_units();
  std::vector<KeptEvent> kept;
  const auto receive = [&]() -> Task<> {
    while (const co::Built built = co_await builder_->receive()) kept.push_back(built->keep());
    received_last_ = Status::ok;
  };
  spawn(there_, receive());
  send_runs(1, 30);
  ASSERT_SOON(pump_, received_last_.has_value());
  EXPECT_EQ(kept.size(), 30U);
  EXPECT_EQ(units_[0]->books().settled, 0U);
  kept.clear();
  ASSERT_SOON(pump_, units_[0]->books().settled == 30 && units_[1]->books().settled == 30);
}

// What had come and was not received is given to the next builder, and nothing else.
TEST_P(CoroutineBuilding, a_builder_with_events_that_are_kept_ends_in_order) {
  make_builder(true);
  make_units();
  std::vector<KeptEvent> kept;
  const auto receive = [&]() -> Task<> {
    for (;;) {
      const co::Built built = co_await builder_->receive();
      received_last_ = built.status;
      if (!built) break;
      kept.push_back(built->keep());
      if (kept.size() == 7) builder_->end_receiving();
    }
  };
  spawn(there_, receive());
  send_runs(1, 30);
  ASSERT_SOON(pump_, received_last_ == Status::closed && builder_->books().open == 23);
  EXPECT_EQ(kept.size(), 7U);
  EXPECT_EQ(units_[0]->books().settled, 0U);
  kept.clear();
  bool closed = false;
  const auto close = [&]() -> Task<> { closed = co_await builder_->close(1h); };
  spawn(there_, close());
  ASSERT_SOON(pump_, closed && units_[0]->books().settled == 7 && units_[1]->books().settled == 7);
  EXPECT_EQ(units_[0]->books().held, 23U);
}

TEST_P(CoroutineBuilding, each_kind_of_fragment_waits_for_room) {
  make_builder();
  auto unit = full_unit();
  auto other = make_unit(1);
  std::vector<std::string> order;
  std::uint64_t released = 0;
  unit->on_released([&](std::uint64_t token) { released = token; });
  const std::vector<std::byte> bytes = payload(7, 1500);
  const auto send_message = [&]() -> Task<> {
    co::Allocated allocated = co_await unit->allocate({1, 1}, 1500);
    EXPECT_TRUE(allocated);
    std::memcpy(allocated.message.writable_bytes().data(), bytes.data(), bytes.size());
    const Status status = co_await unit->send({1, 1}, std::move(allocated.message));
    EXPECT_EQ(status, Status::ok);
    order.emplace_back("message");
  };
  const auto send_segments = [&]() -> Task<> {
    const std::vector<Segment> segments = {std::span(bytes).first(500),
                                           std::span(bytes).last(1000)};
    const Status status = co_await unit->send_segments({1, 2}, segments, FragmentStatus::truncated);
    EXPECT_EQ(status, Status::ok);
    order.emplace_back("segments");
  };
  const auto lend = [&]() -> Task<> {
    const Status status = co_await unit->lend({1, 3}, bytes, 42);
    EXPECT_EQ(status, Status::ok);
    order.emplace_back("lent");
  };
  const auto too_large = [&]() -> Task<> {
    const co::Allocated allocated = co_await unit->allocate({1, 4}, 2 * small_store);
    EXPECT_EQ(allocated.status, Status::too_big);
    order.emplace_back("too large");
  };
  spawn(here_, send_message());
  spawn(here_, send_segments());
  spawn(here_, lend());
  spawn(here_, too_large());
  pump_.turns(20);
  EXPECT_THAT(order, testing::ElementsAre("too large")) << "it waits behind nobody";
  order.clear();

  std::vector<FragmentStatus> statuses;
  const auto receive = [&]() -> Task<> {
    while (const co::Built built = co_await builder_->receive()) {
      const EventFragment fragment = (*built)[0];
      statuses.push_back(fragment.status);
      if (built->id().number == 2) {
        EXPECT_EQ(fragment.message.segments().size(), 2U);
      } else if (built->id().number != 0) {
        EXPECT_TRUE(same_bytes(fragment.bytes(), bytes));
      }
    }
    received_last_ = Status::ok;
  };
  spawn(there_, receive());
  unit->connect(0, address_);
  other->connect(0, address_);
  other->advance({1, 0});  // it begins there, and has nothing for any event
  other->advance(end_of_run(1));
  ASSERT_SOON(pump_, order.size() == 3);
  EXPECT_THAT(order, testing::ElementsAre("message", "segments", "lent"));
  unit->advance(end_of_run(1));
  ASSERT_SOON(pump_, received_last_.has_value());
  EXPECT_THAT(statuses, testing::ElementsAre(FragmentStatus::good, FragmentStatus::good,
                                             FragmentStatus::truncated, FragmentStatus::good));
  ASSERT_SOON(pump_, released == 42);
  const BuilderBooks::MissingCounts counts = builder_->books().sources[1].missing_by;
  EXPECT_EQ(counts[static_cast<std::size_t>(Missing::no)], 4U) << "the unit said it has none";
}

TEST_P(CoroutineBuilding, a_position_is_awaited_until_it_is_settled) {
  make_builder();
  make_units();
  std::vector<std::string> order;
  units_[0]->on_settled([&](EventId below) {
    if (below >= end_of_run(1)) order.emplace_back("told");
  });
  const auto wait = [&](EventId below) -> Task<> {
    const bool settled = co_await units_[0]->until_settled(below);
    order.emplace_back(settled ? "settled" : "not settled");
  };
  spawn(here_, wait({0, 0}));
  EXPECT_THAT(order, testing::ElementsAre("settled")) << "at once";
  order.clear();
  spawn(here_, wait(end_of_run(1)));
  std::string complaint;
  const auto second = [&]() -> Task<> {
    try {
      (void)co_await units_[0]->until_settled(end_of_run(2));
    } catch (const Error& error) {
      complaint = error.what();
    }
  };
  spawn(here_, second());
  EXPECT_THAT(complaint, testing::HasSubstr("another coroutine waits"));
  spawn(there_, receive_all(*builder_));
  send_runs(1, 50);
  ASSERT_SOON(pump_, order.size() == 2);
  EXPECT_THAT(order, testing::ElementsAre("told", "settled"));
  EXPECT_EQ(units_[0]->books().settled, 50U);
  // One that is finished settles nothing more.
  order.clear();
  spawn(here_, wait(end_of_run(2)));
  (void)units_[0]->finish();
  ASSERT_SOON(pump_, !order.empty());
  EXPECT_THAT(order, testing::ElementsAre("not settled"));
  spawn(here_, wait(end_of_run(2)));
  EXPECT_EQ(order.size(), 2U) << "at once";
}

TEST_P(CoroutineBuilding, finishing_gives_the_books_when_everything_is_settled) {
  make_builder();
  make_units();
  spawn(there_, receive_all(*builder_));
  send_runs(1, 40);
  std::vector<ReadoutBooks> finished;
  const auto finish = [&](co::ReadoutUnit& unit) -> Task<> {
    finished.push_back(co_await unit.finish(1h));
  };
  for (const auto& unit : units_) spawn(here_, finish(*unit));
  ASSERT_SOON(pump_, finished.size() == 2);
  for (const ReadoutBooks& books : finished) {
    EXPECT_EQ(books.sent, 40U);
    EXPECT_EQ(books.built, 40U);
  }
  bool closed = false;
  const auto close = [&]() -> Task<> { closed = co_await builder_->close(1h); };
  spawn(there_, close());
  ASSERT_SOON(pump_, closed && received_last_);
  EXPECT_EQ(received_last_, Status::closed);
}

TEST_P(CoroutineBuilding, an_end_may_be_awaited_when_it_has_come) {
  make_builder();
  make_units();
  spawn(there_, receive_all(*builder_));
  send_runs(1, 10);
  std::vector<std::uint64_t> settled;
  const auto finish_both = [&]() -> Task<> {
    auto first = units_[0]->finish(1h);
    auto second = units_[1]->finish(1h);
    const ReadoutBooks books_of_first = co_await first;
    settled.push_back(books_of_first.settled);
    co_await co::sleep(here_.loop(), 20ms);
    const ReadoutBooks books_of_second = co_await second;
    settled.push_back(books_of_second.settled);
  };
  spawn(here_, finish_both());
  ASSERT_SOON(pump_, settled.size() == 2);
  EXPECT_THAT(settled, testing::ElementsAre(10U, 10U));
  bool closed = false;
  const auto close = [&]() -> Task<> {
    auto end = builder_->close(1h);
    co_await co::sleep(there_.loop(), 20ms);
    closed = co_await end;
  };
  spawn(there_, close());
  ASSERT_SOON(pump_, closed);
}

TEST_P(CoroutineBuilding, closing_the_context_answers_all_who_wait) {
  make_builder();
  spawn(there_, receive_all(*builder_));
  auto unit = full_unit();
  spawn(here_, send_one(*unit, {1, 1}, 3000));
  std::vector<std::string> ends;
  const auto wait = [&]() -> Task<> {
    const bool settled = co_await unit->until_settled({1, 1});
    ends.emplace_back(settled ? "settled" : "not settled");
  };
  unit->on_finished([&] { ends.emplace_back("finished"); });
  builder_->on_closed([&] { ends.emplace_back("closed"); });
  spawn(here_, wait());
  here_.close(10ms, [] {});
  there_.close(10ms, [] {});
  ASSERT_SOON(pump_, ends.size() == 3 && answered_.size() == 2 && received_last_);
  EXPECT_THAT(ends, testing::UnorderedElementsAre("finished", "closed", "not settled"));
  EXPECT_EQ(answer_, Status::closed);
  EXPECT_EQ(received_last_, Status::closed);
}

TEST_P(CoroutineBuilding, one_coroutine_receives_at_a_time) {
  make_builder();
  spawn(there_, receive_all(*builder_));
  std::string complaint;
  const auto second = [&]() -> Task<> {
    try {
      (void)co_await builder_->receive();
    } catch (const Error& error) {
      complaint = error.what();
    }
  };
  spawn(there_, second());
  EXPECT_THAT(complaint, testing::HasSubstr("another coroutine waits"));
}

TEST_P(CoroutineBuilding, closing_and_finishing_answer_all_who_wait) {
  make_builder();
  spawn(there_, receive_one(*builder_));
  auto unit = full_unit();
  spawn(here_, send_one(*unit, {1, 1}, 3000));
  spawn(here_, send_one(*unit, {1, 2}, 3000));
  builder_->close();
  unit->finish(0ns);
  EXPECT_EQ(answered_.size(), 1U) << "from inside finish()";
  EXPECT_FALSE(received_last_) << "from inside close()";
  ASSERT_SOON(pump_, answered_.size() == 3 && received_last_);
  EXPECT_EQ(answer_, Status::closed);
  EXPECT_EQ(received_last_, Status::closed);
  answer_.reset();
  received_last_.reset();
  spawn(here_, send_one(*unit, {1, 3}, 10));
  spawn(there_, receive_one(*builder_));
  EXPECT_EQ(answer_, Status::closed);
  EXPECT_EQ(received_last_, Status::closed);
}

TEST_P(CoroutineBuilding, destroying_a_unit_answers_all_who_wait) {
  make_builder();
  spawn(there_, receive_one(*builder_));
  auto unit = full_unit();
  spawn(here_, send_one(*unit, {1, 1}, 3000));
  std::vector<std::string> ends;
  const auto close = [&]() -> Task<> {
    const bool closed = co_await builder_->close(1h);
    ends.emplace_back(closed ? "closed" : "not closed");
  };
  const auto finish = [&](co::ReadoutUnit& finishes) -> Task<> {
    const ReadoutBooks books = co_await finishes.finish(1h);
    ends.push_back(std::to_string(books.held) + " held");
  };
  const auto wait = [&](co::ReadoutUnit& waits) -> Task<> {
    const bool settled = co_await waits.until_settled({1, 1});
    ends.emplace_back(settled ? "settled" : "not settled");
  };
  spawn(here_, wait(*unit));
  spawn(here_, finish(*unit));
  spawn(there_, close());
  unit.reset();
  builder_.reset();
  EXPECT_THAT(ends, testing::IsEmpty()) << "from inside the destructors";
  ASSERT_SOON(pump_, ends.size() == 3 && answered_.size() == 2 && received_last_);
  EXPECT_THAT(ends, testing::UnorderedElementsAre("not settled", "1 held", "not closed"));
  EXPECT_EQ(answer_, Status::closed);
  EXPECT_EQ(received_last_, Status::closed);
}

TEST_P(CoroutineBuilding, a_coroutine_may_destroy_the_builder_that_resumed_it) {
  for (const bool at_end_of_run : {false, true}) {
    make_builder();
    units_.clear();
    make_units();
    events_ = 0;
    const auto receive = [&]() -> Task<> {
      for (;;) {
        const co::Built built = co_await builder_->receive();
        if (built.status != Status::ok) co_return;
        note(built);
        if ((built.run != nullptr) != at_end_of_run) continue;
        builder_.reset();
        if (built) note(built);  // it is valid until this waits again
        co_return;
      }
    };
    spawn(there_, receive());
    send_runs(1, 20);
    ASSERT_SOON(pump_, builder_ == nullptr);
    EXPECT_EQ(events_, at_end_of_run ? 20U : 2U);
    pump_.turns(20);
  }
}

TEST_P(CoroutineBuilding, a_coroutine_may_destroy_the_unit_that_resumed_it) {
  make_builder();
  const auto take_all = [&]() -> Task<> {
    co::Built built = co_await builder_->receive();
    while (built.status == Status::ok) built = co_await builder_->receive();
  };
  spawn(there_, take_all());
  auto other = make_unit(1);
  other->connect(0, address_);
  for (const bool in_send : {true, false}) {
    auto unit = make_unit(0, small_store);
    const EventId first{in_send ? 1U : 2U, 0};
    const auto send = [&]() -> Task<> {
      const std::vector<std::byte> fragment = payload(0, 3000);
      Status status = co_await unit->send(first, fragment);
      EXPECT_EQ(status, Status::ok);
      if (in_send) {
        status = co_await unit->send(first.next(), fragment);  // waits for room
        EXPECT_EQ(status, Status::ok);
      } else {
        const bool settled = co_await unit->until_settled(first.next());
        EXPECT_TRUE(settled);
      }
      unit.reset();
    };
    answered_.clear();
    spawn(here_, send());
    if (in_send) spawn(here_, send_one(*unit, first.next().next(), 10));  // behind it in the line
    other->advance(end_of_run(first.run));
    if (!in_send) unit->advance(first.next());
    unit->connect(0, address_);
    ASSERT_SOON(pump_, unit == nullptr);
    if (!in_send) continue;
    ASSERT_SOON(pump_, answered_.size() == 1);
    EXPECT_EQ(answer_, Status::closed);
  }
}

// Its frame is destroyed with the context of its loop, or by hand.
TEST_P(CoroutineBuilding, a_coroutine_that_ends_while_it_waits_leaves_the_builder_paused) {
  make_builder();
  make_units();
  {
    auto awaiter = builder_->receive();
    ASSERT_FALSE(awaiter.await_ready());
    awaiter.await_suspend(std::noop_coroutine());
  }
  send_runs(1, 20);
  ASSERT_SOON(pump_, builder_->books().open == 20);
  pump_.turns(50);
  EXPECT_EQ(builder_->books().complete, 0U);
  spawn(there_, receive_all(*builder_));
  ASSERT_SOON(pump_, told_.size() == 2);
}

TEST_P(CoroutineBuilding, an_event_manager_gives_the_ranges) {
  ManagerOptions options;
  options.plan = plan(true);
  options.lease = 200ms;
  EventManager manager(there_, options);
  const std::string address = manager.bind(GetParam().address);
  make_builder(false, true);
  builder_->join(address);
  for (std::uint32_t source = 0; source < sources_count; ++source) {
    units_.push_back(make_unit(source, std::size_t{1} << 20U, true));
    units_.back()->join(address);
  }
  ASSERT_SOON(pump_, units_[0]->builders_connected() == 1 && units_[1]->builders_connected() == 1);
  send_runs(1, 100);
  spawn(there_, receive_all(*builder_));
  ASSERT_SOON(pump_, events_ == 100);
  EXPECT_THAT(told_, testing::ElementsAre("1"));
}

TEST_P(CoroutineBuilding, awaiting_takes_nothing_from_the_heap) {
  make_builder();
  make_units();
  const auto receive = [&]() -> Task<> {
    for (;;) {
      const co::Built built = co_await builder_->receive();
      if (!built) break;
      ++events_;
    }
  };
  spawn(there_, receive());
  bool stop = false;
  const auto send = [&](co::ReadoutUnit& unit) -> Task<> {
    const std::vector<std::byte> fragment = payload(0, 100);
    for (EventId event{1, 0}; !stop; event = event.next()) {
      if (co_await unit.send(event, fragment) != Status::ok) break;
      if (event.number % 16 == 0) co_await co::sleep(here_.loop(), 0ns);
    }
  };
  for (const auto& unit : units_) spawn(here_, send(*unit));
  ASSERT_SOON(pump_, events_ > 5000);
  const std::uint64_t allocations = allocations_during([&] {
    const std::uint64_t until = events_ + 2000;
    EXPECT_SOON(pump_, events_ >= until);
  });
  EXPECT_EQ(allocations, 0U);
  stop = true;
  pump_.turns(20);
}

INSTANTIATE_TEST_SUITE_P(on, CoroutineBuilding, testing::ValuesIn(every_transport()), row_name);

}  // namespace
}  // namespace netio::test
