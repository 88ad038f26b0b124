// All peers of a socket lose the network at once and come back together. They are greeted while one
// that was up all the time, in shared memory, goes on; and nothing is lost.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "cuts/cuts.hpp"
#include "support/in_a_child.hpp"
#include "support/own_network.hpp"
#include "support/seen.hpp"
#include "support/time_limit.hpp"

namespace netio::test {
namespace {

constexpr int few_descriptors = 78;  // exit code, as not_possible is

bool may_open(std::size_t descriptors) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= descriptors;
}

double ms_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - then).count();
}

bool come_back(std::size_t peers) {
  // What is kept for each peer takes a page.
  ContextOptions small_pages = context_options();
  small_pages.page_bytes = 4096;
  small_pages.send_pool_bytes = 4 * peers * small_pages.page_bytes;
  Context here(small_pages);
  Context there(context_options());
  Context third(context_options());
  Pump pump{&here, &there, &third};
  SocketOptions options;
  options.resume_bytes_max = std::size_t{256} << 10U;
  options.heartbeat_after = std::chrono::milliseconds(500);
  Pull pull(there, options);
  Push push(here, options);
  Push steady(third);
  std::uint64_t received = 0;
  std::uint64_t steady_received = 0;
  auto steady_at = std::chrono::steady_clock::now();
  double steady_waited_ms = 0;
  pull.on_message([&](const MessageView& message) {
    ++received;
    if (message.tag() == 0) return;
    ++steady_received;
    steady_waited_ms = std::max(steady_waited_ms, ms_since(steady_at));
    steady_at = std::chrono::steady_clock::now();
  });
  const std::string address = pull.bind("tcp://127.0.0.1:0");
  steady.connect(pull.bind("inproc://steady"));
  for (std::size_t i = 0; i < peers; ++i) push.connect(address);
  const auto message = payload(1, 200);
  std::uint64_t sent = 0;
  const auto all_up = [&](std::size_t count) {
    return push.peers_connected() == count && pull.peers_connected() == count + 1;
  };
  const auto work = [&] {
    // Two for each peer are on their way, so that there is memory for all that is kept.
    const bool few = push.books().unacknowledged < 2 * peers;
    for (int i = 0; few && i < 20 && push.send(message, 0) == Status::ok; ++i) ++sent;
    if (steady.send(message, 1) == Status::ok) ++sent;
    steady.flush();
  };
  const auto until = [&](const auto& done) {
    return static_cast<bool>(pump.until([&] { return work(), done(); }, "done", 100s));
  };
  if (!until([&] { return all_up(peers); })) return fail("not all come up");
  if (!set_loopback(false)) return fail("the network stays up");
  if (!until([&] { return all_up(0); })) return fail("the silence is not noticed");
  if (!set_loopback(true)) return fail("the network stays down");
  const auto back_at = std::chrono::steady_clock::now();
  steady_at = back_at;
  steady_waited_ms = 0;
  const std::uint64_t steady_before = steady_received;
  if (!until([&] { return all_up(peers); })) return fail("not all come back");
  const double back_ms = ms_since(back_at);
  const std::uint64_t steady_meanwhile = steady_received - steady_before;
  push.flush();
  const auto settled = [&] {
    return push.books().unsettled() == 0 && steady.books().unsettled() == 0;
  };
  if (!pump.until(settled, "settled", 60s)) return fail("it does not settle");
  const bool all = received == sent && push.books().dropped() == 0 && pull.books().missed == 0;
  std::printf(
      "cuts: %zu peers are back %.0f ms after the network; one that was up got %llu messages "
      "through meanwhile, and waited %.0f ms at most; %llu messages, %llu sent again\n",
      peers, back_ms, static_cast<unsigned long long>(steady_meanwhile), steady_waited_ms,
      static_cast<unsigned long long>(sent),
      static_cast<unsigned long long>(push.counters().resent));
  if (steady_meanwhile == 0) return fail("who was up had to wait for all of them");
  const Books books = push.books();
  return all || fail(std::to_string(received) + " of " + std::to_string(sent) + " came, " +
                     std::to_string(push.counters().resume_given_up) + " given up, lost " +
                     std::to_string(books.dropped_by[1]) + ", not sent " +
                     std::to_string(books.dropped_by[2]));
}

TEST(Crowd, that_comes_back_together_is_greeted) {
  extend_time_limit(5);
  const std::size_t peers = sanitized ? 200 : 2000;
  const int code = in_a_child([&] {
    if (!enter_own_network()) return not_possible;
    if (!may_open(2 * peers + 200)) return few_descriptors;
    return come_back(peers) ? 0 : 1;
  });
  if (code == not_possible) GTEST_SKIP() << "no network of one's own here";
  if (code == few_descriptors) GTEST_SKIP() << "a process may not open so many descriptors here";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace netio::test
