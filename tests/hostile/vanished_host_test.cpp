// A host that vanishes while data is under way to it. The test runs in a process whose network is
// its own, and switches it off.
#include <functional>
#include <string>

#include "conformance/evil.hpp"
#include "support/in_a_child.hpp"
#include "support/own_network.hpp"

namespace netio::test {
namespace {

SocketOptions quick() {
  SocketOptions options;
  options.keep_alive_after = 1s;
  options.stall_after = 200ms;
  return options;
}

bool is_told(const SocketOptions& options) {
  Context here(wary_context());
  Context there(wary_context());
  Pump pump{&here, &there};
  Pull pull(there, options);
  pull.on_message([](const MessageView&) {});
  Push push(here, options);
  Seen at_push(push);
  push.connect(pull.bind("tcp://127.0.0.1:0"));
  if (!pump.until([&] { return push.peers_connected() == 1; }, "connected", soon_max)) return false;
  if (!set_loopback(false)) return fail("the network stays up");
  if (push.send(payload(0, 1000)) != Status::ok) return fail("cannot send");
  if (!pump.until([&] { return !at_push.downs.empty(); }, "told", 30s)) return fail("not told");
  const Down& down = at_push.downs.front().down;
  if (down.reason != DownReason::lost) return fail("for another reason: " + down.detail);
  return down.detail.find("does not answer") != std::string::npos || fail(down.detail);
}

// A program that does not read shuts its window, and its host answers probes.
bool who_does_not_read_is_kept() {
  Context here(wary_context());
  Context there(wary_context());
  Pump pump{&here, &there};
  Pull pull(there, quick());
  std::uint64_t received = 0;
  pull.on_message([&](const MessageView&) { ++received; });
  Push push(here, quick());
  Seen at_push(push);
  push.connect(pull.bind("tcp://127.0.0.1:0"));
  if (!pump.until([&] { return push.peers_connected() == 1; }, "connected", soon_max)) return false;
  pull.pause();
  const auto end = std::chrono::steady_clock::now() + 5s;
  const Bytes message = payload(0, 10'000);
  while (std::chrono::steady_clock::now() < end) {
    while (push.send(message) == Status::ok) {
    }
    pump.run_for(20ms);
  }
  if (!at_push.downs.empty()) return fail("ended: " + at_push.why());
  pull.resume();
  const auto all = [&] { return received == push.books().sent; };
  return pump.until(all, "all is received", soon_max);
}

int in_own_network(const std::function<bool()>& work) {
  return in_a_child([&] { return !enter_own_network() ? not_possible : work() ? 0 : 1; });
}

TEST(VanishedHost, with_data_under_way_is_told) {
  const int code = in_own_network([] { return is_told(quick()); });
  if (code == not_possible) GTEST_SKIP() << "no network of one's own here";
  EXPECT_EQ(code, 0);
}

TEST(VanishedHost, is_told_however_long_a_message_may_stall) {
  SocketOptions patient = quick();
  patient.stall_after = 1h;
  const int code = in_own_network([&patient] { return is_told(patient); });
  if (code == not_possible) GTEST_SKIP() << "no network of one's own here";
  EXPECT_EQ(code, 0);
}

TEST(VanishedHost, is_not_one_that_does_not_read) {
  const int code = in_own_network(who_does_not_read_is_kept);
  if (code == not_possible) GTEST_SKIP() << "no network of one's own here";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace netio::test
