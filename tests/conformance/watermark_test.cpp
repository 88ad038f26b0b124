// How full a socket is, and the call-backs where that crosses a watermark.
#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class Watermark : public Conformance {
 protected:
  Watermark() : Conformance(roomy_pool_bytes) {}
};

TEST_P(Watermark, a_sender_without_peers_is_full_and_with_an_idle_one_empty) {
  Push push(here_, options());
  EXPECT_DOUBLE_EQ(push.fill(), 1.0);
  Pull pull(there_, options());
  pull.on_message([](const MessageView&) {});
  join(pull, push);
  EXPECT_DOUBLE_EQ(push.fill(), 0.0);
  pull.close();
  ASSERT_SOON(pump_, push.peers_connected() == 0);
  EXPECT_DOUBLE_EQ(push.fill(), 1.0);
}

TEST_P(Watermark, a_sender_held_back_fills_up_and_empties_again) {
  Pull pull(there_, options());
  Push push(here_, options());
  pull.on_message([](const MessageView&) {});
  pull.pause();
  int high = 0;
  int low = 0;
  bool inside = false;
  int from_inside = 0;
  push.on_high_watermark([&] {
    ++high;
    from_inside += inside ? 1 : 0;
    EXPECT_GE(push.fill(), 0.75);
  });
  push.on_low_watermark([&] {
    ++low;
    from_inside += inside ? 1 : 0;
    EXPECT_LE(push.fill(), 0.25);
  });
  join(pull, push);
  pump_.run_for(20ms);
  const int low_at_start = low;  // the first peer may empty it: it was full without one
  EXPECT_LE(low_at_start, 1);
  high = 0;
  low = 0;
  for (int refused = 0; refused < 20;) {
    inside = true;
    const Status status = push.send(payload(0, 5000));
    inside = false;
    if (status == Status::ok) {
      refused = 0;
    } else {
      ++refused;
      pump_.turn();
    }
    ASSERT_LE(push.fill(), 1.0);
    ASSERT_GE(push.fill(), 0.0);
  }
  EXPECT_GE(push.fill(), 0.75);
  if (GetParam().takes_much) {  // it was full and empty again before
    EXPECT_EQ(high, low + 1);
    high = 1;
    low = 0;
  }
  EXPECT_EQ(high, 1) << "once for one crossing";
  EXPECT_EQ(low, 0);
  pull.resume();
  ASSERT_SOON(pump_, low == 1);
  settle(push);
  pump_.run_for(20ms);
  EXPECT_DOUBLE_EQ(push.fill(), 0.0);
  EXPECT_EQ(high, 1);
  EXPECT_EQ(low, 1);
  EXPECT_EQ(from_inside, 0);
}

// Who stops at the high one need not be refused first.
TEST_P(Watermark, the_low_one_comes_though_nothing_was_refused) {
  Pull pull(there_, options());
  Push push(here_, options());
  pull.on_message([](const MessageView&) {});
  pull.pause();
  int high = 0;
  int low = 0;
  join(pull, push);
  pump_.run_for(20ms);
  push.on_high_watermark([&] { ++high; });
  push.on_low_watermark([&] { ++low; });
  ASSERT_SOON(pump_, [&] {
    while (push.fill() < 0.8 && push.send(payload(0, 3000)) == Status::ok) {
    }
    return high > 0;
  }());
  ASSERT_EQ(push.counters().agains, 0U);
  pull.resume();
  ASSERT_SOON(pump_, low == high);
  EXPECT_LE(push.fill(), 0.25);
}

// The wire takes at the end of the turn what crossed the high one just before.
TEST_P(Watermark, the_low_one_comes_though_the_wire_was_never_busy) {
  SocketOptions early = options();
  early.high_watermark = 0.01;
  early.low_watermark = 0.005;
  early.flush_when_idle = false;
  early.flush_after = 1h;
  Pull pull(there_, options());
  Push push(here_, early);
  pull.on_message([](const MessageView&) {});
  join(pull, push);
  pump_.run_for(20ms);
  int high = 0;
  int low = 0;
  push.on_high_watermark([&] { ++high; });
  push.on_low_watermark([&] { ++low; });
  // A few messages more than what fills a page.
  for (std::size_t bytes = 0; bytes < GetParam().page_bytes + 3000; bytes += 1000) {
    ASSERT_EQ(push.send(payload(0, 1000)), Status::ok);
  }
  pump_.run_for(20ms);
  EXPECT_SOON(pump_, low == high);  // some devices take their time to say what was sent
}

TEST_P(Watermark, watermarks_are_options) {
  SocketOptions early = options();
  early.high_watermark = 0.3;
  early.low_watermark = 0.1;
  Pull pull(there_, options());
  Push push(here_, early);
  pull.on_message([](const MessageView&) {});
  pull.pause();
  int high = 0;
  push.on_high_watermark([&] { ++high; });
  join(pull, push);
  pump_.run_for(20ms);
  high = 0;
  // Until the kernel takes no more and the rest waits here.
  ASSERT_SOON(pump_, [&] {
    while (push.fill() < 0.5 && push.send(payload(0, 5000)) == Status::ok) {
    }
    return high > 0;
  }());
  EXPECT_EQ(high, 1);
  EXPECT_LT(push.fill(), 0.75);
}

// The next message goes to the one with the most room.
TEST_P(Watermark, of_two_peers_the_emptier_one_counts) {
  Pull slow(there_, options());
  Pull idle(there_, options());
  Push push(here_, options());
  slow.on_message([](const MessageView&) {});
  idle.on_message([](const MessageView&) {});
  slow.pause();
  join(slow, push);
  (void)send_until_again(push, 5000);
  EXPECT_DOUBLE_EQ(push.fill(), 1.0);
  join(idle, push);
  EXPECT_LT(push.fill(), 0.25);
  EXPECT_EQ(push.send(payload(0, 5000)), Status::ok);
  idle.pause();
  (void)send_until_again(push, 5000);
  EXPECT_DOUBLE_EQ(push.fill(), 1.0);
  idle.resume();
  ASSERT_SOON(pump_, push.fill() <= 0.25);
}

TEST_P(Watermark, call_backs_agree_with_the_figure_from_the_start_to_the_end) {
  Push push(here_, options());
  int high = 0;
  int low = 0;
  int closed = 0;
  push.on_high_watermark([&high] { ++high; });
  push.on_low_watermark([&low] { ++low; });
  push.on_closed([&closed](const Books&) { ++closed; });
  ASSERT_SOON(pump_, high == 1);
  EXPECT_DOUBLE_EQ(push.fill(), 1.0) << "nobody takes anything";
  EXPECT_EQ(low, 0);
  Pull pull(there_, options());
  pull.on_message([](const MessageView&) {});
  join(pull, push);
  ASSERT_SOON(pump_, low == 1);
  EXPECT_DOUBLE_EQ(push.fill(), 0.0);
  push.close();
  ASSERT_SOON(pump_, closed == 1);
  EXPECT_EQ(push.fill() >= 0.75, high > low) << push.fill();
}

TEST_P(Watermark, a_receiver_fills_up_with_what_is_kept) {
  SocketOptions limited = options();
  limited.receive_bytes_max = 2U << 20U;
  Pull pull(there_, limited);
  Push push(here_, options());
  std::vector<Message> kept;
  pull.on_message([&](const MessageView& message) { kept.push_back(message.keep()); });
  int high = 0;
  int low = 0;
  pull.on_high_watermark([&] { ++high; });
  pull.on_low_watermark([&] { ++low; });
  join(pull, push);
  EXPECT_LT(pull.fill(), 0.25);
  (void)send_until_again(push, GetParam().page_bytes / 2);
  EXPECT_GE(pull.fill(), 0.75);
  EXPECT_LE(pull.fill(), 1.0);
  EXPECT_EQ(high, 1);
  EXPECT_EQ(low, 0);
  pull.pause();  // so that what comes next does not fill it again
  kept.clear();
  ASSERT_SOON(pump_, low == 1);
  EXPECT_LE(pull.fill(), 0.25);
  EXPECT_EQ(high, 1);
}

// On some wires the memory that the peer keeps is the sender's.
TEST_P(Watermark, a_sender_whose_peer_keeps_everything_is_full_until_that_is_released) {
  Pull pull(there_, options());
  Push push(here_, options());
  std::vector<Message> kept;
  pull.on_message([&](const MessageView& message) { kept.push_back(message.keep()); });
  int high = 0;
  int low = 0;
  push.on_high_watermark([&] { ++high; });
  push.on_low_watermark([&] { ++low; });
  join(pull, push);
  pump_.run_for(20ms);
  high = low = 0;
  (void)send_until_again(push, GetParam().page_bytes / 2);
  EXPECT_DOUBLE_EQ(push.fill(), 1.0);
  EXPECT_GE(high, 1);
  EXPECT_EQ(high, low + 1);
  pull.on_message([](const MessageView&) {});
  kept.clear();
  ASSERT_SOON(pump_, low == high && push.fill() <= 0.25);
  EXPECT_EQ(push.send(payload(0, 5000)), Status::ok);
}

ON_EVERY_TRANSPORT_AND_MODE(Watermark);

TEST(WatermarkOfLarge, a_sender_without_memory_is_full_and_counts_it) {
  ContextOptions little;
  little.large_bytes_max = 16U << 20U;
  Context here(little);
  Context there;
  Pump pump{&here, &there};
  Pull pull(there);
  std::vector<Message> kept;
  pull.on_message([&](const MessageView& message) { kept.push_back(message.keep()); });
  Push push(here);
  int high = 0;
  int low = 0;
  push.connect(pull.bind("shm://*"));
  ASSERT_SOON(pump, push.peers_connected() == 1);
  push.on_high_watermark([&] { ++high; });
  push.on_low_watermark([&] { ++low; });
  EXPECT_EQ(push.counters().starved, 0U);
  const std::vector<std::byte> megabyte = payload(0, std::size_t{1} << 20U);
  for (int refused = 0; refused < 20; pump.turn()) {
    refused = push.send(megabyte) == Status::ok ? 0 : refused + 1;
  }
  EXPECT_DOUBLE_EQ(push.fill(), 1.0);
  EXPECT_EQ(high, low + 1);
  EXPECT_GE(push.counters().starved, 1U);
  kept.clear();
  ASSERT_SOON(pump, low == high && push.fill() <= 0.25);
  high = low = 0;
  Status status = Status::ok;
  std::vector<Message> loans;
  while (status == Status::ok) loans.push_back(push.allocate(std::size_t{1} << 20U, status));
  EXPECT_EQ(status, Status::again);
  EXPECT_SOON(pump, high == 1);
  loans.clear();
  EXPECT_SOON(pump, low == 1);
}

// Memory of one socket comes home to as many places as it has kinds of links.
TEST(WatermarkOfMany, the_low_one_comes_whichever_transport_the_last_memory_was_of) {
  Context here;
  Context there;
  Pump pump{&here, &there};
  SocketOptions limited;
  limited.receive_bytes_max = 4U << 20U;
  limited.high_watermark = 0.4;
  limited.low_watermark = 0.1;
  Pull pull(there, limited);
  std::vector<Message> kept;
  pull.on_message([&](const MessageView& message) { kept.push_back(message.keep()); });
  int high = 0;
  int low = 0;
  pull.on_high_watermark([&] { ++high; });
  pull.on_low_watermark([&] { ++low; });
  const std::string tcp = pull.bind("tcp://127.0.0.1:0");
  const std::string shm = pull.bind("shm://*");
  Push first(here);
  Push second(here);
  first.connect(tcp);
  ASSERT_SOON(pump, pull.peers_connected() == 1);
  second.connect(shm);
  ASSERT_SOON(pump, pull.peers_connected() == 2);
  constexpr std::size_t each = 32;
  for (Push* const push : {&first, &second}) {
    const std::size_t before = kept.size();
    for (std::size_t i = 0; i < each; ++i) ASSERT_EQ(push->send(payload(i, 30'000)), Status::ok);
    push->flush();
    ASSERT_SOON(pump, kept.size() == before + each);
  }
  ASSERT_SOON(pump, high == 1);
  pull.pause();
  for (const std::size_t left : {each, std::size_t{0}}) {
    kept.erase(kept.begin(), kept.end() - static_cast<std::ptrdiff_t>(left));
    pump.run_for(20ms);
  }
  EXPECT_SOON(pump, low == 1);
  EXPECT_EQ(high, 1);
}

}  // namespace
}  // namespace netio::test
