// Context::close(): all sockets at once, one call at the end.
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class ContextClose : public Conformance {
 protected:
  // What a close() then waits for in vain: the receiver takes nothing.
  void send_in_vain(Pull& pull, Push& push) {
    join(pull, push);
    pull.pause();
    (void)send_until_again(push, 20'000);
  }
};

TEST_P(ContextClose, delivers_what_was_taken_and_calls_once_when_all_are_closed) {
  std::vector<std::unique_ptr<Pull>> pulls;
  std::vector<std::unique_ptr<Push>> pushes;
  std::vector<std::unique_ptr<Seen>> seen;
  std::uint64_t arrived = 0;
  for (int i = 0; i < 3; ++i) {
    pulls.push_back(std::make_unique<Pull>(there_, options()));
    pulls.back()->on_message([&](const MessageView&) { ++arrived; });
    pushes.push_back(std::make_unique<Push>(here_, options()));
    seen.push_back(std::make_unique<Seen>(*pushes.back()));
    join(*pulls.back(), *pushes.back());
    for (std::uint64_t n = 0; n < 20; ++n) {
      ASSERT_EQ(send(*pushes.back(), payload(n, 100)), Status::ok);
    }
  }
  int calls = 0;
  const auto all_told = [&] {
    for (const auto& one : seen) {
      if (one->closings.size() != 1) return false;
    }
    return true;
  };
  here_.close(30s, [&] {
    ++calls;
    EXPECT_TRUE(all_told());
  });
  EXPECT_EQ(calls, 0);  // from the loop
  EXPECT_EQ(pushes[0]->send("late"), Status::closed);
  ASSERT_SOON(pump_, calls != 0);
  EXPECT_EQ(arrived, 60U);
  for (const auto& one : seen) EXPECT_EQ(one->closings[0].acknowledged, 20U);
  pump_.turns(10);
  EXPECT_EQ(calls, 1);
  EXPECT_THROW(Push(here_, options()), Error);
  // Again, when it is over: that is told too.
  here_.close(0s, [&] { ++calls; });
  ASSERT_SOON(pump_, calls == 2);
}

TEST_P(ContextClose, a_shorter_linger_and_another_call_take_the_place_of_the_first) {
  Pull pull(there_, options());
  Push push(here_, options());
  send_in_vain(pull, push);
  int first = 0;
  int second = 0;
  here_.close(std::chrono::hours(1), [&] { ++first; });
  pump_.turns(10);
  here_.close(0s, [&] { ++second; });
  ASSERT_SOON(pump_, second != 0);
  EXPECT_EQ(first, 0);
  EXPECT_TRUE(push.closed());
}

TEST_P(ContextClose, a_second_call_does_not_prolong_the_first) {
  Pull pull(there_, options());
  Push push(here_, options());
  send_in_vain(pull, push);
  int calls = 0;
  here_.close(50ms, [&] { ++calls; });
  here_.close(std::chrono::hours(1));
  here_.close(std::chrono::nanoseconds::max());
  ASSERT_SOON(pump_, calls != 0);
  EXPECT_TRUE(push.closed());
  EXPECT_EQ(calls, 1);
}

TEST_P(ContextClose, sockets_that_are_destroyed_meanwhile_count_as_closed) {
  Pull pull(there_, options());
  auto push = std::make_unique<Push>(here_, options());
  Push idle(here_, options());
  send_in_vain(pull, *push);
  bool done = false;
  here_.close(std::chrono::hours(1), [&] { done = true; });
  pump_.turns(10);
  EXPECT_FALSE(done);
  push.reset();
  ASSERT_SOON(pump_, done);
}

TEST_P(ContextClose, without_a_call_it_ends_run) {
  Pull pull(there_, options());
  Timer timer(there_.loop(), [&] { there_.close(); });
  timer.start_once(1ms);
  there_.run();
  EXPECT_TRUE(pull.closed());
}

TEST_P(ContextClose, without_sockets_it_is_done_in_the_next_turn) {
  bool done = false;
  here_.close(5s, [&] { done = true; });
  EXPECT_FALSE(done);
  ASSERT_SOON(pump_, done);
}

TEST_P(ContextClose, run_ends_when_what_was_closed_before_it_is_delivered) {
  Pull pull(there_, options());
  Inbox inbox(pull);
  Push push(here_, options());
  join(pull, push);
  for (std::uint64_t n = 0; n < 20; ++n) ASSERT_EQ(send(push, payload(n, 100)), Status::ok);
  push.close(30s);
  std::thread receiver([&] { there_.run(); });
  here_.run();
  there_.loop().post([&] { there_.stop(); });
  receiver.join();
  EXPECT_TRUE(push.closed());
  EXPECT_EQ(push.books().acknowledged, 20U);
  // The context goes on; with a socket that is open, run() does until it is stopped.
  Push next(here_, options());
  bool stopped = false;
  Timer timer(here_.loop(), [&] {
    stopped = true;
    here_.stop();
  });
  timer.start_once(20ms);
  here_.run();
  EXPECT_TRUE(stopped);
}

TEST_P(ContextClose, run_leaves_its_end_to_the_call_that_close_was_given) {
  Push push(here_, options());
  bool stopped = false;
  Timer timer(here_.loop(), [&] {
    stopped = true;
    here_.stop();
  });
  here_.close(5s, [&] { timer.start_once(1ms); });
  here_.run();
  EXPECT_TRUE(stopped);
}

// Neither a call-back's call nor another thread's changes what the one under way does.
TEST_P(ContextClose, a_run_that_is_refused_changes_nothing) {
  std::optional<Push> open;
  Push push(here_, options());
  int refused = 0;
  const auto is_refused = [&] {
    try {
      here_.run();
    } catch (const Error&) {
      ++refused;
    }
  };
  here_.loop().post([&] {
    open.emplace(here_, options());
    is_refused();
    std::thread(is_refused).join();
    open->close();
  });
  push.close();
  here_.run();
  EXPECT_EQ(refused, 2);
  EXPECT_TRUE(open->closed());
  // Nor the other way round: with a socket that is open, until it is stopped.
  Push last(here_, options());
  bool stopped = false;
  Timer timer(here_.loop(), [&] {
    stopped = true;
    here_.stop();
  });
  here_.loop().post([&] {
    last.close();
    is_refused();
    timer.start_once(20ms);
  });
  here_.run();
  EXPECT_EQ(refused, 3);
  EXPECT_TRUE(stopped);
}

// What read-out units hold is built, whether their builder is in this context or in another one.
TEST_P(ContextClose, read_out_units_finish_and_builders_of_the_same_context_wait_for_them) {
  for (const bool together : {false, true}) {
    for (const bool managed : {false, true}) {
      Context here;
      Context there;
      Context& home = together ? here : there;
      Pump pump{&here, &there};
      const BuildPlan plan{1, 1, 16, managed};
      std::unique_ptr<EventManager> manager;
      std::string at;
      if (managed) {
        manager = std::make_unique<EventManager>(home, ManagerOptions{.plan = plan, .lease = 50ms});
        at = manager->bind(GetParam().address);
      }
      BuilderUnit builder(home, {.plan = plan});
      std::uint64_t events = 0;
      builder.on_event([&](const Event& event) {
        if (event.complete()) ++events;
      });
      const std::string address = builder.bind(GetParam().address);
      ReadoutUnit unit(here, {.plan = plan});
      if (managed) builder.join(at);
      managed ? unit.join(at) : unit.connect(0, address);
      const std::vector<std::byte> fragment = payload(0, 300);
      for (std::uint64_t number = 0; number < 1000; ++number) {
        ASSERT_EQ(unit.send({1, number}, fragment), Status::ok);
      }
      unit.advance(end_of_run(1));
      bool closed = false;
      here.close(1h, [&closed] { closed = true; });
      EXPECT_EQ(unit.send({2, 0}, fragment), Status::closed);
      ASSERT_SOON(pump, closed);
      EXPECT_EQ(events, 1000U);
      EXPECT_EQ(unit.books().settled, 1000U);
      std::string fault;
      try {
        ReadoutUnit(here, {.plan = plan});
      } catch (const Error& error) {
        fault = error.what();
      }
      EXPECT_THAT(fault, testing::HasSubstr("the context was closed"));
    }
  }
}

TEST_P(ContextClose, units_have_no_more_time_than_they_were_given_and_their_own_calls_come) {
  std::vector<std::string> calls;
  const auto note = [&](const char* call) { return [&calls, call] { calls.emplace_back(call); }; };
  const BuildPlan plan{1, 1, 16};
  ReadoutUnit unit(here_, {.plan = plan});  // there is no builder
  ReadoutUnit other(here_, {.plan = plan});
  BuilderUnit builder(here_, {.plan = plan});
  const std::vector<std::byte> fragment = payload(0, 300);
  ASSERT_EQ(unit.send({1, 0}, fragment), Status::ok);
  ASSERT_EQ(other.send({1, 0}, fragment), Status::ok);
  unit.finish(1h, note("unit"));
  here_.close(1h, note("first"));
  pump_.turns(50);
  EXPECT_TRUE(calls.empty());
  builder.close(1h, note("builder"));
  here_.close(10ms, note("context"));
  ASSERT_SOON(pump_, calls.size() == 3);
  EXPECT_THAT(calls, testing::UnorderedElementsAre("unit", "builder", "context"));
  EXPECT_EQ(calls.back(), "context");
  EXPECT_EQ(unit.books().held, 1U);
}

TEST_P(ContextClose, a_unit_that_finishes_while_its_context_closes_has_no_more_time_than_that) {
  const BuildPlan plan{1, 1, 16};
  ReadoutUnit unit(here_, {.plan = plan});  // there is no builder
  BuilderUnit builder(here_, {.plan = plan});
  std::vector<std::string> calls;
  unit.on_finished([&] { calls.emplace_back("unit"); });
  builder.on_closed([&] { calls.emplace_back("builder"); });
  ASSERT_EQ(unit.send({1, 0}, payload(0, 300)), Status::ok);
  here_.close(10ms, [&] { calls.emplace_back("context"); });
  unit.finish(1h, {});
  ASSERT_SOON(pump_, calls.size() == 3);
  EXPECT_THAT(calls, testing::ElementsAre("unit", "builder", "context"));
}

// In the middle of a finish that goes on for long, or of the calls that end it.
TEST_P(ContextClose, a_unit_that_is_destroyed_meanwhile_is_not_waited_for) {
  const BuildPlan plan{1, 1, 16};
  for (const bool in_its_call : {false, true}) {
    Context context;
    Pump pump{&context};
    auto unit = std::make_unique<ReadoutUnit>(context, ReadoutOptions{.plan = plan});
    auto builder = std::make_unique<BuilderUnit>(context, BuilderOptions{.plan = plan});
    ASSERT_EQ(unit->send({1, 0}, payload(0, 300)), Status::ok);
    bool closed = false;
    if (in_its_call) unit->finish(20ms, [&unit] { unit.reset(); });
    context.close(1h, [&closed] { closed = true; });
    pump.turns(5);
    if (!in_its_call) unit.reset();
    ASSERT_SOON(pump, closed);
    EXPECT_EQ(unit, nullptr);
  }
}

TEST_P(ContextClose, run_waits_for_a_socket_that_is_made_meanwhile) {
  std::optional<Push> next;
  Push push(here_, options());
  bool stopped = false;
  Timer timer(here_.loop(), [&] {
    stopped = true;
    next->close();
  });
  here_.loop().post([&] {
    next.emplace(here_, options());
    timer.start_once(20ms);
  });
  push.close();
  here_.run();
  EXPECT_TRUE(stopped);
  EXPECT_TRUE(next->closed());
}

ON_EVERY_TRANSPORT_AND_MODE(ContextClose);

}  // namespace
}  // namespace netio::test
