// Tasks, and the loop's events that are awaited: time, signals, descriptors; each also when it goes
// while a coroutine waits for it.
#include <csignal>
#include <memory>
#include <optional>
#include <stdexcept>
#include <sys/epoll.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <netio/coroutine.hpp>

#include "support/pump.hpp"

namespace netio::test {
namespace {

Task<int> doubled(Loop& loop, int value) {
  co_await co::sleep(loop, 1ms);
  co_return 2 * value;
}
Task<int> at_once(int value) { co_return value; }
Task<int> throws_late(Loop& loop) {
  co_await co::sleep(loop, 1ms);
  throw std::runtime_error("late");
}

TEST(Tasks, give_their_result_or_their_exception) {
  Loop loop;
  std::string caught;
  int result = 0;
  const auto work = [&]() -> Task<> {
    result = co_await doubled(loop, 4) + co_await at_once(2);
    try {
      result += co_await throws_late(loop);
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
    loop.stop();
  };
  spawn(loop, work());
  EXPECT_EQ(result, 0) << "it waits";
  loop.run();
  EXPECT_EQ(result, 10);
  EXPECT_EQ(caught, "late");
}

// Transfers of control that are calls would overflow the stack.
TEST(Tasks, a_loop_over_tasks_that_never_wait_has_a_flat_stack) {
  Loop loop;
  std::uint64_t sum = 0;
  const auto work = [&]() -> Task<> {
    for (int i = 0; i < 1'000'000; ++i) sum += static_cast<std::uint64_t>(co_await at_once(1));
  };
  spawn(loop, work());
  EXPECT_EQ(sum, 1'000'000U);
}

TEST(Tasks, one_that_nobody_awaits_does_nothing) {
  bool ran = false;
  const auto work = [&]() -> Task<> {
    ran = true;
    co_return;
  };
  { const Task<> task = work(); }
  EXPECT_FALSE(ran);
}

TEST(Tasks, end_with_their_loop_where_they_wait) {
  int alive = 0;
  struct Local {
    explicit Local(int& alive) : count(alive) { ++count; }
    ~Local() { --count; }
    int& count;
  };
  const auto inner = [&](Loop& loop) -> Task<> {
    const Local local(alive);
    co_await co::sleep(loop, 1h);
    ADD_FAILURE() << "it went on";
  };
  const auto outer = [&](Loop& loop) -> Task<> {
    const Local local(alive);
    co_await inner(loop);
    ADD_FAILURE() << "it went on";
  };
  {
    Loop loop;
    spawn(loop, outer(loop));
    spawn(loop, inner(loop));
    loop.run_once(0ns);
    EXPECT_EQ(alive, 3);
  }
  EXPECT_EQ(alive, 0);
}

// A line may wait for what its first message needs, such as room in a store.
TEST(AwaitedSending, goes_on_with_the_next_when_the_first_that_waits_is_destroyed) {
  Loop loop;
  detail::SendLine line(loop);
  const auto large = [] { return Status::again; };
  const auto small = [] { return Status::ok; };
  std::optional<detail::SendAwaiter<decltype(large)>> first(std::in_place, line, large);
  ASSERT_FALSE(first->await_ready());
  first->await_suspend(std::noop_coroutine());
  std::vector<int> sent;
  const auto send = [&](int number) -> Task<> {
    const Status status = co_await detail::SendAwaiter(line, small);
    EXPECT_EQ(status, Status::ok);
    sent.push_back(number);
  };
  spawn(loop, send(1));
  spawn(loop, send(2));
  loop.run_once(0ns);
  ASSERT_TRUE(sent.empty());
  first.reset();
  EXPECT_TRUE(sent.empty()) << "from inside the destructor";
  loop.run_once(0ns);
  EXPECT_EQ(sent, (std::vector<int>{1, 2}));
  EXPECT_TRUE(line.empty());
}

TEST(AwaitedSignal, comes_from_a_thread_and_is_kept_for_who_comes_later) {
  Loop loop;
  auto signal = std::make_unique<co::Signal>(loop);
  std::vector<bool> answers;
  const auto work = [&]() -> Task<> {
    for (bool more = true; more;) {
      more = co_await signal->wait();
      answers.push_back(more);
    }
    loop.stop();
  };
  signal->notify();
  loop.run_once(1s);  // nobody waits yet
  spawn(loop, work());
  EXPECT_EQ(answers, std::vector<bool>{true});
  std::thread([&] { signal->notify(); }).join();
  while (answers.size() < 2) loop.run_once(1s);
  signal.reset();
  EXPECT_EQ(answers.size(), 2U) << "from inside the destructor";
  loop.run();
  EXPECT_EQ(answers, (std::vector<bool>{true, true, false}));
}

TEST(AwaitedSignal, is_for_one_at_a_time) {
  Loop loop;
  co::Signal signal(loop);
  std::string complaint;
  const auto work = [&]() -> Task<> {
    try {
      (void)co_await signal.wait();
    } catch (const Error& error) {
      complaint = error.what();
    }
  };
  spawn(loop, work());
  EXPECT_EQ(complaint, "");
  spawn(loop, work());
  EXPECT_THAT(complaint, testing::HasSubstr("another coroutine waits"));
}

TEST(AwaitedEvents, are_for_one_at_a_time_each) {
  Loop loop;
  co::PosixSignals signals(loop, {SIGUSR1});
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  co::Descriptor descriptor(loop, ends[0]);
  int complaints = 0;
  int number = 0;
  std::uint32_t events = 0;
  const auto for_signal = [&]() -> Task<> {
    try {
      number = co_await signals.wait();
    } catch (const Error&) {
      ++complaints;
    }
  };
  const auto for_descriptor = [&](std::uint32_t wanted) -> Task<> {
    try {
      events = co_await descriptor.wait(wanted);
    } catch (const Error&) {
      ++complaints;
    }
  };
  spawn(loop, for_signal());
  spawn(loop, for_descriptor(EPOLLIN));
  EXPECT_EQ(complaints, 0);
  spawn(loop, for_signal());
  spawn(loop, for_descriptor(EPOLLOUT));
  EXPECT_EQ(complaints, 2);
  std::raise(SIGUSR1);  // the first are served all the same
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  while (number == 0 || events == 0) loop.run_once(1s);
  EXPECT_EQ(number, SIGUSR1);
  EXPECT_EQ(events, static_cast<std::uint32_t>(EPOLLIN));
  loop.run_once(0ns);
  ::close(ends[1]);
}

TEST(AwaitedPosixSignals, each_comes_once_and_is_kept) {
  Loop loop;
  std::optional<co::PosixSignals> signals;
  const std::initializer_list<int> all = {SIGUSR1, SIGUSR2, SIGRTMAX};
  signals.emplace(loop, all);
  std::vector<int> numbers;
  std::raise(SIGUSR2);
  std::raise(SIGUSR1);
  std::raise(SIGRTMAX);
  while (loop.run_once(0ns)) {
  }
  const auto work = [&]() -> Task<> {
    for (int number = 1; number != 0;) {
      number = co_await signals->wait();
      numbers.push_back(number);
    }
  };
  spawn(loop, work());
  EXPECT_THAT(numbers, testing::UnorderedElementsAre(SIGUSR1, SIGUSR2, SIGRTMAX));
  std::raise(SIGUSR1);
  while (numbers.size() < 4) loop.run_once(1s);
  EXPECT_EQ(numbers.back(), SIGUSR1);
  signals.reset();
  while (numbers.size() < 5) loop.run_once(1s);
  EXPECT_EQ(numbers.back(), 0);
}

TEST(AwaitedDescriptor, is_read_by_a_coroutine) {
  Loop loop;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  auto descriptor = std::make_unique<co::Descriptor>(loop, ends[0]);
  std::string text;
  std::optional<std::uint32_t> last;
  const auto work = [&]() -> Task<> {
    while (true) {
      last = co_await descriptor->wait(EPOLLIN);
      if ((*last & EPOLLIN) == 0) co_return;
      char letter = 0;
      if (::read(ends[0], &letter, 1) == 1) text += letter;
    }
  };
  spawn(loop, work());
  ASSERT_EQ(::write(ends[1], "abc", 3), 3);
  while (text.size() < 3) loop.run_once(1s);
  EXPECT_EQ(text, "abc");
  last.reset();
  ::close(ends[1]);
  while (!last) loop.run_once(1s);
  EXPECT_EQ(*last, static_cast<std::uint32_t>(EPOLLHUP));
  loop.run_once(0ns);  // nobody waits: not watched any more
  EXPECT_FALSE(loop.run_once(0ns));
  last.reset();
  descriptor.reset();
  ::close(ends[0]);
}

TEST(AwaitedDescriptor, says_so_when_it_goes_and_what_cannot_be_watched) {
  Loop loop;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::optional<std::uint32_t> last;
  auto descriptor = std::make_unique<co::Descriptor>(loop, ends[0]);
  const auto work = [&]() -> Task<> { last = co_await descriptor->wait(EPOLLIN); };
  spawn(loop, work());
  descriptor.reset();
  EXPECT_FALSE(last);
  loop.run_once(0ns);
  EXPECT_EQ(last, 0U);
  ::close(ends[0]);
  ::close(ends[1]);
  co::Descriptor closed(loop, ends[0]);
  std::string complaint;
  const auto watch = [&]() -> Task<> {
    try {
      last = co_await closed.wait(EPOLLIN);
    } catch (const Error& error) {
      complaint = error.what();
    }
  };
  spawn(loop, watch());
  EXPECT_THAT(complaint, testing::HasSubstr("watch descriptor"));
}

}  // namespace
}  // namespace netio::test
