// A paused receiver holds its senders back: nothing is lost, and nobody is taken for dead.
#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class Pause : public Conformance {};

TEST_P(Pause, a_paused_receiver_holds_its_sender_back_without_loss) {
  Pull pull(there_, options());
  Push push(here_, options());
  Inbox inbox(pull);
  pull.pause();
  EXPECT_TRUE(pull.paused());
  join(pull, push);
  const std::uint64_t taken = send_until_again(push, 3000);
  ASSERT_GT(taken, 0U);
  EXPECT_EQ(inbox.size(), 0U);
  EXPECT_EQ(push.books().acknowledged, 0U);
  EXPECT_EQ(push.books().unacknowledged, taken);
  EXPECT_GT(push.fill(), 0.5);
  pull.resume();
  EXPECT_FALSE(pull.paused());
  EXPECT_EQ(inbox.size(), 0U) << "delivered from inside resume()";
  ASSERT_SOON(pump_, inbox.size() == taken);
  for (std::uint64_t i = 0; i < taken; ++i) ASSERT_TRUE(is_payload(inbox[i].bytes, i)) << i;
  settle(push);
  EXPECT_EQ(push.books().acknowledged, taken);
}

// Also in the middle of a page, which has many messages behind this one.
TEST_P(Pause, pausing_inside_the_call_back_takes_effect_after_the_message_at_hand) {
  Pull pull(there_, options());
  Push push(here_, options());
  std::uint64_t count = 0;
  std::uint64_t wrong = 0;
  pull.on_message([&](const MessageView& message) {
    if (pull.paused() || !is_payload(message.bytes(), count)) ++wrong;
    if (++count % 7 == 0) pull.pause();
  });
  join(pull, push);
  send_numbered(push, 0, 100, [](std::uint64_t) { return std::size_t{20}; });
  push.flush();
  for (std::uint64_t stop = 7; stop < 100; stop += 7) {
    ASSERT_SOON(pump_, count == stop);
    pump_.turns(20);
    ASSERT_EQ(count, stop) << "delivered while paused";
    EXPECT_EQ(pull.books().delivered, stop);
    pull.resume();
  }
  ASSERT_SOON(pump_, count == 100);
  EXPECT_EQ(wrong, 0U);
}

// The rest of a page is held: it goes on only once somebody takes it.
TEST_P(Pause, resuming_without_a_call_back_loses_nothing) {
  Pull pull(there_, options());
  Push push(here_, options());
  std::uint64_t count = 0;
  const auto take = [&](const MessageView& message) {
    EXPECT_TRUE(is_payload(message.bytes(), count));
    if (++count == 1) pull.pause();
  };
  pull.on_message(take);
  join(pull, push);
  send_numbered(push, 0, 5, [](std::uint64_t) { return std::size_t{20}; });
  push.flush();
  ASSERT_SOON(pump_, count == 1);
  pull.resume();
  pull.on_message(nullptr);
  pump_.turns(20);
  EXPECT_EQ(pull.books().delivered, 1U);
  pull.on_message(take);
  ASSERT_SOON(pump_, count == 5);
  settle(push);
  EXPECT_EQ(pull.books().delivered, 5U);
}

TEST_P(Pause, what_was_delivered_before_the_pause_is_acknowledged_meanwhile) {
  Pull pull(there_, options());
  Push push(here_, options());
  std::uint64_t count = 0;
  pull.on_message([&](const MessageView&) {
    if (++count == 3) pull.pause();
  });
  join(pull, push);
  send_numbered(push, 0, 10, [](std::uint64_t) { return std::size_t{20}; });
  ASSERT_SOON(pump_, push.books().acknowledged == 3);
  pump_.run_for(30ms);
  EXPECT_EQ(push.books().acknowledged, 3U);
  EXPECT_EQ(push.books().unacknowledged, 7U);
  pull.resume();
  ASSERT_SOON(pump_, push.books().acknowledged == 10);
}

TEST_P(Pause, pause_and_resume_inside_one_call_back_change_nothing) {
  Pull pull(there_, options());
  Push push(here_, options());
  std::uint64_t count = 0;
  std::uint64_t wrong = 0;
  pull.on_message([&](const MessageView& message) {
    if (!is_payload(message.bytes(), count)) ++wrong;
    ++count;
    pull.pause();
    pull.resume();
  });
  join(pull, push);
  send_numbered(push, 0, 2000, [](std::uint64_t i) { return i % 100 == 0 ? 100'000U : 30U; });
  ASSERT_SOON(pump_, count == 2000);
  EXPECT_EQ(wrong, 0U);
}

TEST_P(Pause, closing_in_the_same_call_back_is_the_end_whatever_came_before) {
  for (const int calls : {1, 2, 3, 4}) {
    Pull pull(there_, options());
    Push push(here_, options());
    Seen at_pull(pull);
    std::uint64_t count = 0;
    pull.on_message([&](const MessageView&) {
      if (++count != 3) return;
      pull.pause();
      if (calls == 2) pull.resume();
      pull.close(20s);
      if (calls == 3) pull.resume();
      if (calls == 4) pull.pause();
    });
    // It dials, so that the push has no reason to expect it back.
    join(push, pull);
    send_numbered(push, 0, 10, [](std::uint64_t) { return std::size_t{20}; });
    push.flush();
    const auto start = std::chrono::steady_clock::now();
    ASSERT_SOON(pump_, at_pull.closings.size() == 1);
    EXPECT_LT(std::chrono::steady_clock::now() - start, 10s) << "waited for its linger";
    ASSERT_SOON(pump_, push.peers_connected() == 0);
    EXPECT_EQ(count, 3U);
    EXPECT_EQ(push.books().acknowledged, 3U);
    EXPECT_EQ(push.books().unacknowledged, 0U);
  }
}

TEST_P(Pause, a_large_message_half_read_goes_on_after_the_pause) {
  Pull pull(there_, options());
  Push push(here_, options());
  Inbox inbox(pull);
  join(pull, push);
  ASSERT_EQ(push.send(payload(0, 16U << 20U)), Status::ok);
  // It takes more than a few turns: pause again and again on the way.
  for (int i = 0; i < 20 && inbox.size() == 0; ++i) {
    pump_.turns(3);
    pull.pause();
    const std::size_t before = inbox.size();
    pump_.turns(10);
    EXPECT_EQ(inbox.size(), before);
    pull.resume();
  }
  ASSERT_SOON(pump_, inbox.size() == 1);
  EXPECT_EQ(inbox[0].bytes.size(), std::size_t{16} << 20U);
  EXPECT_TRUE(is_payload(inbox[0].bytes, 0));
}

TEST_P(Pause, a_long_pause_is_not_taken_for_death) {
  if (GetParam().mode == Mode::buffered || GetParam().page_bytes > 4096) {
    GTEST_SKIP() << "once for each transport: it waits for seconds";
  }
  SocketOptions impatient = options();
  impatient.keep_alive_after = 1s;
  impatient.stall_after = 100ms;
  impatient.handshake_within = 1s;
  Pull pull(there_, impatient);
  Push push(here_, impatient);
  Inbox inbox(pull);
  Seen at_pull(pull);
  Seen at_push(push);
  join(pull, push);
  // In the middle of a message, too: it is larger than what the kernel holds.
  const std::vector<std::byte> lent = payload(0, 32U << 20U);
  if (GetParam().read_in_place) pull.pause();  // there is no middle
  ASSERT_EQ(push.lend(lent, 0), Status::ok);
  pump_.turns(5);
  pull.pause();
  pump_.run_for(1500ms);
  EXPECT_EQ(inbox.size(), 0U);
  EXPECT_TRUE(at_pull.downs.empty()) << at_pull.why();
  EXPECT_TRUE(at_push.downs.empty()) << at_push.why();
  pull.resume();
  ASSERT_SOON(pump_, inbox.size() == 1);
  EXPECT_TRUE(is_payload(inbox[0].bytes, 0));
  settle(push);
  EXPECT_TRUE(at_pull.downs.empty()) << at_pull.why();
  EXPECT_TRUE(at_push.downs.empty()) << at_push.why();
}

TEST_P(Pause, an_idle_connection_is_not_taken_for_dead) {
  if (GetParam().mode == Mode::buffered || GetParam().page_bytes > 4096) {
    GTEST_SKIP() << "once for each transport: it waits for seconds";
  }
  SocketOptions impatient = options();
  impatient.keep_alive_after = 1s;
  impatient.stall_after = 50ms;
  impatient.handshake_within = 1s;
  Pull pull(there_, impatient);
  Push push(here_, impatient);
  Inbox inbox(pull);
  Seen at_pull(pull);
  Seen at_push(push);
  join(pull, push);
  pump_.run_for(1500ms);
  EXPECT_TRUE(at_pull.downs.empty()) << at_pull.why();
  EXPECT_TRUE(at_push.downs.empty()) << at_push.why();
  ASSERT_EQ(push.send("still there"), Status::ok);
  ASSERT_SOON(pump_, inbox.size() == 1);
}

TEST_P(Pause, what_a_closing_sender_left_is_delivered_after_the_pause) {
  Pull pull(there_, options());
  Push push(here_, options());
  Inbox inbox(pull);
  Seen at_push(push);
  Seen at_pull(pull);
  join(pull, push);
  pull.pause();
  send_numbered(push, 0, 50, [](std::uint64_t) { return std::size_t{100}; });
  push.close(20s);
  pump_.run_for(50ms);
  EXPECT_TRUE(at_push.closings.empty()) << "nothing was acknowledged so far";
  EXPECT_EQ(inbox.size(), 0U);
  pull.resume();
  ASSERT_SOON(pump_, at_push.closings.size() == 1);
  EXPECT_EQ(inbox.size(), 50U);
  EXPECT_EQ(at_push.closings[0].acknowledged, 50U);
  ASSERT_SOON(pump_, at_pull.downs.size() == 1);
  EXPECT_EQ(at_pull.downs[0].down.reason, DownReason::closed_by_peer) << at_pull.why();
}

TEST_P(Pause, a_peer_that_comes_while_paused_is_greeted_and_waits) {
  Pull pull(there_, options());
  Push first(here_, options());
  Push second(here_, options());
  Inbox inbox(pull);
  join(pull, first);
  pull.pause();
  second.connect(bind(pull));
  ASSERT_SOON(pump_, second.peers_connected() == 1 && pull.peers_connected() == 2);
  ASSERT_EQ(first.send("first"), Status::ok);
  ASSERT_EQ(second.send("second"), Status::ok);
  pump_.run_for(30ms);
  EXPECT_EQ(inbox.size(), 0U);
  pull.resume();
  ASSERT_SOON(pump_, inbox.size() == 2);
}

// At random moments, a hundred times.
TEST_P(Pause, any_number_of_pauses_loses_nothing) {
  Pull pull(there_, options());
  Push push(here_, options());
  Random random(11);
  std::uint64_t count = 0;
  std::uint64_t wrong = 0;
  pull.on_message([&](const MessageView& message) {
    if (!is_payload(message.bytes(), count)) ++wrong;
    ++count;
    if (random.one_in(100)) pull.pause();
  });
  join(pull, push);
  constexpr std::uint64_t total = 10'000;
  std::uint64_t sent = 0;
  std::vector<std::byte> message;
  ASSERT_SOON(pump_, [&] {
    for (int i = 0; i < 500 && sent < total; ++i) {
      message.resize(sent % 777 == 0 ? 90'000 : 10 + sent % 300);
      fill_payload(message, sent);
      if (push.send(message) != Status::ok) break;
      ++sent;
    }
    if (pull.paused() && random.one_in(3)) pull.resume();
    return count == total;
  }());
  EXPECT_EQ(wrong, 0U);
  settle(push);
}

ON_EVERY_TRANSPORT_AND_MODE(Pause);

}  // namespace
}  // namespace netio::test
