// Context::close(): all sockets at once, one call at the end.
#include <memory>
#include <vector>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

using ContextClose = Conformance;

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
  join(pull, push);
  pull.pause();
  (void)send_until_again(push, 20'000);
  int first = 0;
  int second = 0;
  here_.close(std::chrono::hours(1), [&] { ++first; });
  pump_.turns(10);
  here_.close(0s, [&] { ++second; });
  ASSERT_SOON(pump_, second != 0);
  EXPECT_EQ(first, 0);
  EXPECT_TRUE(push.closed());
}

TEST_P(ContextClose, sockets_that_are_destroyed_meanwhile_count_as_closed) {
  Pull pull(there_, options());
  auto push = std::make_unique<Push>(here_, options());
  Push idle(here_, options());
  join(pull, *push);
  pull.pause();
  (void)send_until_again(*push, 20'000);
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

ON_EVERY_TRANSPORT_AND_MODE(ContextClose);

}  // namespace
}  // namespace netio::test
