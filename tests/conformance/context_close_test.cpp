// Context::close(): all sockets at once, one call at the end.
#include <memory>
#include <optional>
#include <thread>
#include <vector>

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
