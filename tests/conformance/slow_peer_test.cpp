// Peers that are slow, silent, stuck or gone without a word: bounded in time and memory, and no
// trouble for anybody else.
#include <algorithm>
#include <memory>
#include <optional>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include "conformance/evil.hpp"
#include "wire/frame.hpp"

namespace netio::test {
namespace {

using SlowSender = EvilSender;
using SlowReceiver = EvilReceiver;

Bytes announce(std::uint32_t bytes) {
  detail::PageHeader header;
  header.bytes = bytes;
  header.messages = 1;
  return page_of(header, {});
}
Bytes good_bye() {
  detail::PageHeader header;
  header.bytes = 8;
  header.flags = detail::page_flag::control;
  constexpr auto kind = static_cast<std::uint32_t>(detail::ControlKind::bye);
  Bytes body(8);
  detail::store_u64(body.data(),
                    detail::frame_word(0, detail::frame_flag::control |
                                              (kind << detail::frame_flag::control_shift)));
  return page_of(header, body);
}

TEST_F(SlowSender, a_silent_connection_times_out) {
  RawTcp raw = RawTcp::connect(address());
  const auto start = std::chrono::steady_clock::now();
  const Seen::Gone& gone = next_down();
  EXPECT_EQ(gone.down.reason, DownReason::handshake_timeout) << gone.down.detail;
  EXPECT_GE(std::chrono::steady_clock::now() - start, 250ms);
  ASSERT_SOON(pump_, raw.ended());
  EXPECT_EQ(pull_.counters().rejected, 1U);
}

TEST_F(SlowSender, more_silent_connections_than_are_let_in_hold_nobody_up_for_long) {
  std::vector<RawTcp> silent;
  for (int i = 0; i < 16; ++i) silent.push_back(RawTcp::connect(address()));
  good_messages();
  // One more good sender, behind all of them in the queue.
  Push late(here_, wary_options());
  late.connect(address());
  const auto start = std::chrono::steady_clock::now();
  ASSERT_SOON(pump_, late.peers_connected() == 1);
  // Up to eight at a time, each for 10 ms.
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
  const Bytes message = payload(1, 50);
  ASSERT_EQ(late.send(message), Status::ok);
  ASSERT_SOON(pump_, evil_received_.size() == 1 && late.books().acknowledged == 1);
  ASSERT_SOON(pump_, pull_.counters().rejected >= 12);
  late.close();
  ASSERT_SOON(pump_, late.closed());
}

TEST_F(SlowSender, silent_connections_give_way_before_their_time_is_up) {
  SocketOptions patient = wary_options();
  patient.handshake_within = 60s;
  Pull pull(there_, patient);
  pull.on_message([](const MessageView&) {});
  const std::string crowded = pull.bind("tcp://127.0.0.1:0");
  std::vector<RawTcp> silent;
  for (int i = 0; i < 32; ++i) silent.push_back(RawTcp::connect(crowded));
  Push late(here_, patient);
  late.connect(crowded);
  const auto start = std::chrono::steady_clock::now();
  ASSERT_SOON(pump_, late.peers_connected() == 1);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
  // Those that keep nobody out are left alone.
  EXPECT_LT(pull.counters().rejected, 32U);
}

TEST_F(SlowSender, a_message_announced_and_never_sent_stalls) {
  for (const std::uint32_t bytes : {1000U, 60'000U, 500'000U}) {
    RawTcp raw = greeted();
    raw.send(announce(bytes));
    raw.send(Bytes(bytes / 2));
    const auto start = std::chrono::steady_clock::now();
    const Seen::Gone& gone = next_down();
    EXPECT_EQ(gone.down.reason, DownReason::stalled) << gone.down.detail;
    EXPECT_GE(std::chrono::steady_clock::now() - start, 150ms);
    ASSERT_SOON(pump_, raw.ended());
  }
  EXPECT_EQ(pull_.counters().disconnects, 3U);
}

TEST_F(SlowSender, half_a_header_stalls) {
  RawTcp raw = greeted();
  raw.send(Bytes(10));
  EXPECT_EQ(next_down().down.reason, DownReason::stalled) << at_pull_.why();
}

TEST_F(SlowSender, a_message_of_which_no_more_parts_come_stalls) {
  RawTcp raw = greeted();
  Bytes body(16 + 64);
  detail::store_u64(body.data(), detail::frame_word(64, detail::frame_flag::more));
  detail::store_u64(body.data() + 8, 1000);
  detail::PageHeader header;
  header.bytes = static_cast<std::uint32_t>(body.size());
  raw.send(page_of(header, body));
  EXPECT_EQ(next_down().down.reason, DownReason::stalled) << at_pull_.why();
}

TEST_F(SlowSender, slow_is_not_stalled_as_long_as_something_comes) {
  RawTcp raw = greeted();
  const Bytes page = message_page(0, payload(0, 400));
  // 440 bytes, 20 at a time, 30 ms apart: three times the stall limit in all.
  for (std::size_t at = 0; at < page.size(); at += 20) {
    raw.send(std::span(page).subspan(at, std::min<std::size_t>(20, page.size() - at)));
    pump_.run_for(30ms);
  }
  ASSERT_SOON(pump_, evil_received_.size() == 1);
  EXPECT_TRUE(is_payload(evil_received_[0], 0));
  EXPECT_TRUE(at_pull_.downs.empty()) << at_pull_.why();
}

// Who stood still was this process (a debugger, a long call-back, a loaded machine); the peer had
// gone on in time.
TEST_F(SlowSender, what_waits_in_the_kernel_while_this_process_stands_still_came_in_time) {
  RawTcp in_message = greeted();
  RawTcp in_hello = RawTcp::connect(address());
  RawTcp behind_hello = RawTcp::connect(address());
  behind_hello.send(hello_of(sound_hello(detail::WirePattern::push, 68)));
  const Bytes page = message_page(0, payload(0, 400));
  const Bytes hello = hello_of(sound_hello(detail::WirePattern::push, 67));
  in_message.send(std::span(page).first(100));
  in_hello.send(std::span(hello).first(20));
  pump_.run_for(50ms);
  behind_hello.confirm();
  in_message.send(std::span(page).subspan(100));
  in_hello.send(std::span(hello).subspan(20));
  std::this_thread::sleep_for(600ms);
  ASSERT_SOON(pump_, evil_received_.size() == 1 && hello_in(in_hello.received()).nonce != 0);
  in_hello.confirm();
  ASSERT_SOON(pump_, pull_.peers_connected() == 4);
  EXPECT_TRUE(at_pull_.downs.empty()) << at_pull_.why();
}

TEST_F(SlowSender, an_idle_connection_is_not_stalled) {
  RawTcp raw = greeted();
  raw.send(message_page(0, payload(0, 100)));
  pump_.run_for(500ms);
  raw.send(message_page(1, payload(1, 100)));
  ASSERT_SOON(pump_, evil_received_.size() == 2);
  EXPECT_TRUE(at_pull_.downs.empty()) << at_pull_.why();
}

// Memory is taken for what is announced; what is not sent gives it back when it stalls.
TEST_F(SlowSender, many_large_messages_announced_and_never_sent_do_not_starve_the_good_one) {
  std::vector<RawTcp> liars;
  for (std::uint8_t i = 0; i < 60; ++i) {
    liars.push_back(greeted(i));
    liars.back().send(announce(1U << 20U));
    liars.back().send(Bytes(100));
  }
  for (int i = 0; i < 5; ++i) good_messages();
  for (RawTcp& liar : liars) ASSERT_SOON(pump_, liar.ended());
  for (const Seen::Gone& gone : at_pull_.downs) {
    EXPECT_EQ(gone.down.reason, DownReason::stalled) << gone.down.detail;
  }
}

TEST_F(SlowSender, a_reset_in_mid_message_is_a_loss) {
  std::uint8_t session = 10;
  for (const std::uint32_t bytes : {1000U, 500'000U}) {
    RawTcp raw = greeted(++session);
    raw.send(message_page(0, payload(0, 100)));
    raw.send(announce(bytes));
    raw.send(Bytes(bytes / 2));
    const std::size_t before = evil_received_.size();
    ASSERT_SOON(pump_, evil_received_.size() == before + 1);
    raw.reset();
    const Seen::Gone& gone = next_down();
    EXPECT_EQ(gone.down.reason, DownReason::lost) << gone.down.detail;
    EXPECT_EQ(gone.peer.books.delivered, 1U);
  }
}

TEST_F(SlowSender, an_end_without_a_good_bye_is_a_loss) {
  RawTcp raw = greeted();
  raw.send(message_page(0, payload(0, 100)));
  (void)::shutdown(raw.fd(), SHUT_WR);
  const Seen::Gone& gone = next_down();
  EXPECT_EQ(gone.down.reason, DownReason::lost) << gone.down.detail;
  EXPECT_EQ(gone.peer.books.delivered, 1U) << "what came before it arrived";
  ASSERT_SOON(pump_, raw.ended());
}

TEST_F(SlowSender, who_says_good_bye_and_stays_is_shown_out) {
  RawTcp raw = greeted();
  raw.send(good_bye());
  const Seen::Gone& gone = next_down();
  EXPECT_TRUE(gone.down.reason == DownReason::closed_by_peer ||
              gone.down.reason == DownReason::stalled)
      << gone.down.detail;
  ASSERT_SOON(pump_, raw.ended());
}

TEST_F(SlowSender, coming_and_going_all_the_time_leaves_nothing_behind) {
  for (int i = 0; i < 200; ++i) {
    RawTcp raw = RawTcp::connect(address());
    detail::Hello hello = sound_hello(detail::WirePattern::push, 3);
    hello.epoch = static_cast<std::uint64_t>(i) + 1;
    if (i % 4 != 0) raw.send(hello_of(hello));
    if (i % 8 == 2) raw.send(message_page(0, payload(0, 30)));
    pump_.turns(i % 5);
    if (hello_in(raw.received()).nonce != 0) {
      raw.confirm();
      pump_.turns(i % 5);
    }
    if (i % 3 == 0) raw.reset();
  }
  ASSERT_SOON(pump_, pull_.peers_connected() == 1);
  good_messages();
}

// --- Receivers.

TEST_F(SlowReceiver, that_was_reached_while_this_thread_stood_still_was_not_late) {
  RawListener server;
  Push push(here_, wary_options());
  Seen at_push(push);
  push.connect(server.address());
  here_.loop().run_once(0ns);  // begins to connect, and is not told yet that it has
  std::this_thread::sleep_for(350ms);
  std::optional<RawTcp> raw = server.accept();
  ASSERT_TRUE(raw);
  EXPECT_SOON(pump_, !raw->received().empty() || !at_push.downs.empty());
  EXPECT_TRUE(at_push.downs.empty()) << at_push.why();
}

TEST_F(SlowReceiver, who_never_reads_holds_up_nobody_else) {
  RawTcp raw = greeted();
  // Much more than what the kernel's buffers hold for it.
  good_messages(10'000);
  EXPECT_EQ(push_.counters().disconnects, 0U) << at_push_.why();
  EXPECT_EQ(push_.peers_connected(), 2U);
  raw.reset();
  const Seen::Gone& gone = next_down();
  EXPECT_EQ(gone.down.reason, DownReason::lost) << gone.down.detail;
  EXPECT_GT(gone.peer.books.sent, 0U);
  EXPECT_EQ(gone.peer.books.acknowledged, 0U);
  EXPECT_TRUE(add_up(gone.peer.books));
}

TEST_F(SlowReceiver, alone_makes_the_sender_wait_and_its_close_bounded) {
  Push push(here_, wary_options());
  Seen at_push(push);
  const std::string alone = push.bind("tcp://127.0.0.1:0");
  RawTcp raw = RawTcp::connect(alone);
  raw.send(hello_of(sound_hello(detail::WirePattern::pull)));
  ASSERT_SOON(pump_, hello_in(raw.received()).nonce != 0);
  raw.confirm();
  ASSERT_SOON(pump_, push.peers_connected() == 1);
  const Bytes message = payload(0, 10'000);
  std::uint64_t taken = 0;
  for (int refused = 0; refused < 50;) {
    const Status status = push.send(message);
    if (status == Status::ok) {
      ++taken;
      refused = 0;
    } else {
      ASSERT_EQ(status, Status::again);
      ++refused;
      pump_.turn();
    }
  }
  pump_.run_for(500ms);
  EXPECT_TRUE(at_push.downs.empty()) << "slow is not dead: " << at_push.why();
  good_messages();
  const auto start = std::chrono::steady_clock::now();
  push.close(300ms);
  ASSERT_SOON(pump_, at_push.closings.size() == 1);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
  EXPECT_TRUE(add_up(at_push.closings[0]));
  EXPECT_EQ(at_push.closings[0].sent, taken);
  EXPECT_EQ(at_push.closings[0].acknowledged, 0U);
}

TEST_F(SlowReceiver, who_reads_and_never_acknowledges_leaves_messages_in_doubt) {
  RawTcp raw = greeted();
  good_messages(50);
  ASSERT_SOON(pump_, !raw.received().empty() && push_.books().unacknowledged > 0);
  pump_.run_for(100ms);
  (void)raw.received();
  EXPECT_GT(push_.books().unsettled(), 0U);
  raw.close();
  const Seen::Gone& gone = next_down();
  EXPECT_GT(gone.peer.books.unsettled() + gone.peer.books.dropped(), 0U);
  EXPECT_TRUE(add_up(gone.peer.books));
}

TEST_F(SlowReceiver, a_reset_while_it_is_sent_to_is_a_loss) {
  for (std::uint8_t i = 0; i < 10; ++i) {
    RawTcp raw = greeted(static_cast<std::uint8_t>(100 + i));
    good_messages(30);
    raw.reset();
    good_messages(30);
    const Seen::Gone& gone = next_down();
    EXPECT_EQ(gone.down.reason, DownReason::lost) << gone.down.detail;
  }
}

}  // namespace
}  // namespace netio::test
