// Peers in processes of their own, killed at the worst moment, while others go on.
#include "conformance/evil.hpp"
#include "support/child.hpp"

namespace netio::test {
namespace {

// Sends `first` small messages and a huge one, and reports when nothing moves any more.
void send_until_stuck(const std::string& address, int report_to, std::uint64_t first) {
  Context context(wary_context());
  SocketOptions options;
  Push push(context, options);
  Pump pump{&context};
  push.connect(address);
  for (std::uint64_t i = 0; i < first; ++i) {
    const std::vector<std::byte> message = payload(i, 100);
    while (push.send(message) != Status::ok) pump.turn();
  }
  const std::vector<std::byte> huge = payload(first, 32U << 20U);
  while (push.lend(huge, 0) != Status::ok) pump.turn();
  pump.run_for(100ms);
  report(report_to);
  for (;;) pump.turn(100ms);
}

TEST(KilledPeer, a_sender_killed_in_mid_message_is_lost_and_the_others_go_on) {
  constexpr std::uint64_t first = 50;
  Child child([](const std::string& address, int report_to) {
    send_until_stuck(address, report_to, first);
  });
  Context here(wary_context());
  Context there(wary_context());
  Pump pump{&here, &there};
  SocketOptions options = wary_options();
  options.message_bytes_max = 64U << 20U;
  options.stall_after = 30s;
  Pull pull(there, options);
  Push good(here, options);
  Seen at_pull(pull);
  std::uint64_t of_child = 0;
  std::uint64_t of_good = 0;
  pull.on_message([&](const MessageView& message) {
    if (message.tag() == good_tag) {
      ++of_good;
    } else {
      EXPECT_TRUE(is_payload(message.bytes(), of_child));
      ++of_child;
    }
  });
  const std::string address = pull.bind("tcp://127.0.0.1:0");
  good.connect(address);
  child.begin(address);
  ASSERT_SOON(pump, pull.peers_connected() == 2 && of_child == first);
  // Nothing is read from here on: the child gets stuck in the middle of its huge message.
  ASSERT_TRUE(child.wait_for_report());
  child.kill();
  ASSERT_EQ(good.send(payload(0, 100), good_tag), Status::ok);
  ASSERT_SOON(pump, at_pull.downs.size() == 1);
  EXPECT_EQ(at_pull.downs[0].down.reason, DownReason::lost) << at_pull.why();
  EXPECT_TRUE(is_readable(at_pull.downs[0].down));
  EXPECT_EQ(at_pull.downs[0].peer.books.delivered, first);
  EXPECT_EQ(of_child, first);
  for (std::uint64_t i = 1; i < 100; ++i) {
    ASSERT_SOON(pump, good.send(payload(i, 3000), good_tag) == Status::ok);
  }
  ASSERT_SOON(pump, of_good == 100 && good.books().acknowledged == 100);
}

TEST(KilledPeer, an_idle_sender_that_is_killed_is_lost) {
  Child child([](const std::string& address, int report_to) {
    Context context(wary_context());
    Push push(context);
    Pump pump{&context};
    push.connect(address);
    while (push.send("one") != Status::ok) pump.turn();
    while (push.books().acknowledged != 1) pump.turn();
    report(report_to);
    for (;;) pump.turn(100ms);
  });
  Context context(wary_context());
  Pump pump{&context};
  Pull pull(context, wary_options());
  Seen at_pull(pull);
  Inbox inbox(pull);
  child.begin(pull.bind("tcp://127.0.0.1:0"));
  ASSERT_SOON(pump, inbox.size() == 1);
  ASSERT_SOON(pump, child.reported());
  EXPECT_TRUE(at_pull.downs.empty()) << at_pull.why();
  child.kill();
  ASSERT_SOON(pump, at_pull.downs.size() == 1);
  EXPECT_EQ(at_pull.downs[0].down.reason, DownReason::lost) << at_pull.why();
}

TEST(KilledPeer, a_receiver_killed_while_it_is_sent_to_is_lost_and_the_others_get_the_rest) {
  Child child([](const std::string& address, int report_to) {
    Context context(wary_context());
    Pull pull(context);
    Pump pump{&context};
    std::uint64_t count = 0;
    pull.on_message([&](const MessageView&) { ++count; });
    pull.connect(address);
    while (count < 1000) pump.turn();
    report(report_to);
    for (;;) pump.turn(100ms);
  });
  Context here(wary_context());
  Context there(wary_context());
  Pump pump{&here, &there};
  Push push(here, wary_options());
  Pull good(there, wary_options());
  Seen at_push(push);
  std::uint64_t of_good = 0;
  good.on_message([&](const MessageView&) { ++of_good; });
  const std::string address = push.bind("tcp://127.0.0.1:0");
  good.connect(address);
  child.begin(address);
  ASSERT_SOON(pump, push.peers_connected() == 2);
  std::uint64_t sent = 0;
  const auto send_some = [&](std::uint64_t count) {
    for (const std::uint64_t end = sent + count; sent < end;) {
      if (push.send(payload(sent, 500)) == Status::ok) {
        ++sent;
      } else {
        pump.turn();
      }
    }
    push.flush();
  };
  send_some(4000);
  ASSERT_SOON(pump, child.reported());
  send_some(100);
  child.kill();
  send_some(4000);
  ASSERT_SOON(pump, at_push.downs.size() == 1);
  EXPECT_EQ(at_push.downs[0].down.reason, DownReason::lost) << at_push.why();
  EXPECT_TRUE(add_up(at_push.downs[0].peer.books));
  send_some(1000);
  const Books gone = at_push.downs[0].peer.books;
  ASSERT_SOON(pump, of_good == sent - gone.sent);
  ASSERT_SOON(pump, push.books().acknowledged == of_good + gone.acknowledged);
  EXPECT_TRUE(add_up(push.books()));
}

}  // namespace
}  // namespace netio::test
