// A loop that is not ours: plain poll(2) on loop().fd() and run_once(0) when it is readable.
#include <array>
#include <functional>
#include <poll.h>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class ForeignLoop : public Conformance {
 protected:
  // Turns only loops whose descriptor is readable. False if neither was, for `timeout`.
  bool turn_when_readable(std::chrono::milliseconds timeout) {
    std::array<pollfd, 2> waits = {pollfd{here_.loop().fd(), POLLIN, 0},
                                   pollfd{there_.loop().fd(), POLLIN, 0}};
    if (::poll(waits.data(), waits.size(), static_cast<int>(timeout.count())) <= 0) return false;
    if (waits[0].revents != 0) here_.loop().run_once(0ns);
    if (waits[1].revents != 0) there_.loop().run_once(0ns);
    return true;
  }
  // Never waits in vain longer than this: an event that was missed shows as a time-out.
  testing::AssertionResult drive_until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + soon_max;
    while (!condition()) {
      if (!turn_when_readable(5s)) return testing::AssertionFailure() << "quiet for 5 s";
      if (std::chrono::steady_clock::now() > end) return testing::AssertionFailure() << "too long";
    }
    return testing::AssertionSuccess();
  }
};

TEST_P(ForeignLoop, drives_a_whole_exchange) {
  Pull pull(there_, options());
  Push push(here_, options());
  Seen at_push(push);
  Seen at_pull(pull);
  constexpr std::uint64_t count = 20'000;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t wrong = 0;
  std::vector<std::byte> message;
  const auto go_on = [&] {
    while (sent < count) {
      message.resize(sent % 1000 == 0 ? 300'000 : 200);
      fill_payload(message, sent);
      if (push.send(message) != Status::ok) return;
      ++sent;
    }
  };
  push.on_writable(go_on);
  pull.on_message([&](const MessageView& view) {
    if (!is_payload(view.bytes(), received)) ++wrong;
    ++received;
  });
  const std::string address = bind(pull);
  push.connect(address);
  ASSERT_TRUE(drive_until([&] { return push.peers_connected() == 1; }));
  go_on();  // a send outside of any turn must wake the foreign loop by itself
  ASSERT_TRUE(drive_until([&] { return received == count; }));
  EXPECT_EQ(wrong, 0U);
  ASSERT_TRUE(drive_until([&] { return push.books().acknowledged == count; }));
  push.close();
  ASSERT_TRUE(drive_until([&] { return at_push.closings.size() == 1; }));
  ASSERT_TRUE(drive_until([&] { return at_pull.downs.size() == 1; }));
  EXPECT_EQ(at_pull.downs[0].down.reason, DownReason::closed_by_peer) << at_pull.why();
}

// Every message alone, with silence between: nothing is left behind when the descriptors go quiet.
TEST_P(ForeignLoop, misses_no_single_message) {
  Pair left(here_, options());
  Pair right(there_, options());
  std::uint64_t rounds = 0;
  right.on_message(
      [&](const MessageView& message) { EXPECT_EQ(right.send(message.bytes()), Status::ok); });
  left.on_message([&](const MessageView&) { ++rounds; });
  right.connect(bind(left));
  ASSERT_TRUE(drive_until([&] { return left.peers_connected() == 1; }));
  ASSERT_TRUE(drive_until([&] { return right.peers_connected() == 1; }));
  for (std::uint64_t i = 1; i <= 300; ++i) {
    ASSERT_EQ(left.send("ping"), Status::ok);
    ASSERT_TRUE(drive_until([&] { return rounds == i; })) << "round " << i;
  }
}

TEST_P(ForeignLoop, is_told_of_the_flush_deadline) {
  SocketOptions late = options();
  late.flush_when_idle = false;
  late.flush_after = 30ms;
  Pull pull(there_, options());
  Push push(here_, late);
  Inbox inbox(pull);
  push.connect(bind(pull));
  ASSERT_TRUE(drive_until([&] { return push.peers_connected() == 1; }));
  for (std::size_t i = 1; i <= 5; ++i) {
    ASSERT_EQ(push.send("late"), Status::ok);
    ASSERT_TRUE(drive_until([&] { return inbox.size() == i; }));
  }
}

TEST_P(ForeignLoop, is_told_of_resume) {
  Pull pull(there_, options());
  Push push(here_, options());
  Inbox inbox(pull);
  push.connect(bind(pull));
  ASSERT_TRUE(drive_until([&] { return push.peers_connected() == 1; }));
  pull.pause();
  ASSERT_EQ(push.send("one"), Status::ok);
  while (turn_when_readable(50ms)) {
  }
  EXPECT_EQ(inbox.size(), 0U);
  pull.resume();
  ASSERT_TRUE(drive_until([&] { return inbox.size() == 1; }));
}

// Soon: in the end a timer would find it.
TEST_P(ForeignLoop, is_told_on_resume_that_a_peer_went_meanwhile) {
  Pull pull(there_, options());
  Seen at_pull(pull);
  Inbox inbox(pull);
  auto push = std::make_unique<Push>(here_, options());
  push->connect(bind(pull));
  ASSERT_TRUE(drive_until([&] { return push->peers_connected() == 1; }));
  pull.pause();
  while (turn_when_readable(50ms)) {
  }
  push.reset();
  while (turn_when_readable(50ms)) {
  }
  pull.resume();
  while (at_pull.downs.empty()) ASSERT_TRUE(turn_when_readable(1s));
}

// A descriptor that stays readable with nothing to do would burn a core.
TEST_P(ForeignLoop, is_left_in_peace_when_nothing_happens) {
  Pull pull(there_, options());
  Push push(here_, options());
  Inbox inbox(pull);
  push.connect(bind(pull));
  ASSERT_TRUE(drive_until([&] { return push.peers_connected() == 1; }));
  ASSERT_EQ(push.send("one"), Status::ok);
  ASSERT_TRUE(drive_until([&] { return push.books().acknowledged == 1; }));
  int turns = 0;
  const auto end = std::chrono::steady_clock::now() + 300ms;
  while (std::chrono::steady_clock::now() < end) turns += turn_when_readable(50ms) ? 1 : 0;
  EXPECT_LT(turns, 60);
}

ON_EVERY_TRANSPORT_AND_MODE(ForeignLoop);

}  // namespace
}  // namespace netio::test
