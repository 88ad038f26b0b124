// When an open page leaves: full, at its deadline, at the end of a turn, on demand.
#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

using Flush = Conformance;

TEST_P(Flush, a_page_that_is_not_full_waits) {
  Pull pull(there_);
  Push push(here_, patient());
  Inbox inbox(pull);
  join(pull, push);
  ASSERT_EQ(push.send("waiting"), Status::ok);
  pump_.run_for(100ms);
  EXPECT_EQ(inbox.size(), 0U);
  const Books books = push.books();
  EXPECT_EQ(books.sent, 1U);
  EXPECT_EQ(books.unacknowledged, 1U);
}

TEST_P(Flush, a_full_page_leaves) {
  Pull pull(there_);
  Push push(here_, patient());
  Inbox inbox(pull);
  join(pull, push);
  const std::size_t page = GetParam().page_bytes;
  // A hundred messages fill more than a page, and less than two.
  const std::size_t size = page / 80;
  send_numbered(push, 0, 100, [&](std::uint64_t) { return size; });
  ASSERT_SOON(pump_, inbox.size() >= 70);
  pump_.run_for(50ms);
  EXPECT_LT(inbox.size(), 100U) << "the rest is less than a page";
  push.flush();
  ASSERT_SOON(pump_, inbox.size() == 100);
}

TEST_P(Flush, flush_sends_the_open_page) {
  Pull pull(there_);
  Push push(here_, patient());
  Inbox inbox(pull);
  join(pull, push);
  for (std::size_t round = 1; round <= 20; ++round) {
    ASSERT_EQ(push.send("now"), Status::ok);
    push.flush();
    ASSERT_SOON(pump_, inbox.size() == round);
  }
  push.flush();  // nothing is open
  pump_.turns(5);
  EXPECT_EQ(inbox.size(), 20U);
}

TEST_P(Flush, flush_does_not_wait_for_the_senders_loop) {
  Pull pull(there_);
  Push push(here_, patient());
  Inbox inbox(pull);
  join(pull, push);
  pump_.run_for(20ms);
  ASSERT_EQ(push.send("now"), Status::ok);
  push.flush();
  pump_.remove(here_);
  ASSERT_SOON(pump_, inbox.size() == 1);
}

TEST_P(Flush, an_unbuffered_message_does_not_wait_for_the_senders_loop) {
  SocketOptions unbuffered;
  unbuffered.mode = Mode::unbuffered;
  Pull pull(there_);
  Push push(here_, unbuffered);
  Inbox inbox(pull);
  join(pull, push);
  pump_.run_for(20ms);
  ASSERT_EQ(push.send("now"), Status::ok);
  pump_.remove(here_);
  ASSERT_SOON(pump_, inbox.size() == 1);
}

TEST_P(Flush, the_deadline_sends_the_open_page) {
  SocketOptions options = patient();
  options.flush_after = 60ms;
  Pull pull(there_);
  Push push(here_, options);
  Inbox inbox(pull);
  join(pull, push);
  for (std::size_t round = 1; round <= 3; ++round) {
    const auto sent = std::chrono::steady_clock::now();
    ASSERT_EQ(push.send("later"), Status::ok);
    ASSERT_SOON(pump_, inbox.size() == round);
    const auto waited = std::chrono::steady_clock::now() - sent;
    // The deadline counts from the turn's time, which may be a little before the send.
    EXPECT_GE(waited, 50ms);
  }
}

// Also when messages keep coming: the deadline is that of the first in the page.
TEST_P(Flush, a_trickle_does_not_put_the_deadline_off) {
  SocketOptions options = patient();
  options.flush_after = 50ms;
  Pull pull(there_);
  Push push(here_, options);
  Inbox inbox(pull);
  join(pull, push);
  const auto start = std::chrono::steady_clock::now();
  while (inbox.size() == 0) {
    ASSERT_LT(std::chrono::steady_clock::now() - start, soon_max);
    ASSERT_NE(push.send("drop"), Status::closed);
    pump_.run_for(5ms);
    if (push.books().sent > 500) break;  // half a page
  }
  EXPECT_GT(inbox.size(), 0U);
}

TEST_P(Flush, an_idle_wire_takes_the_page_at_the_end_of_the_turn) {
  SocketOptions options = patient();
  options.flush_when_idle = true;
  Pull pull(there_);
  Push push(here_, options);
  Inbox inbox(pull);
  join(pull, push);
  ASSERT_EQ(push.send("outside of a turn"), Status::ok);
  ASSERT_SOON(pump_, inbox.size() == 1);
  here_.loop().post([&] { EXPECT_EQ(push.send("inside of a turn"), Status::ok); });
  ASSERT_SOON(pump_, inbox.size() == 2);
}

// Also when the wire was busy as the last message came: nobody need flush, or send more.
TEST_P(Flush, a_wire_that_falls_idle_takes_the_end_of_a_burst) {
  SocketOptions options = patient();
  options.flush_when_idle = true;
  for (const double fill : {0.3, 2.0}) {
    Pull pull(there_);
    Push push(here_, options);
    Inbox inbox(pull);
    join(pull, push);
    pull.pause();
    std::uint64_t sent = 0;
    // Until the wire is busy, or so much so that it refuses.
    for (int idle = 0; idle < 20; ++idle) {
      while (push.fill() < fill && push.send(payload(sent, 900)) == Status::ok) {
        ++sent;
        idle = 0;
      }
      pump_.turn();
    }
    EXPECT_GT(push.fill(), 0.2);
    pull.resume();
    ASSERT_SOON(pump_, inbox.size() == sent);
  }
}

TEST_P(Flush, each_peer_has_its_own_open_page) {
  Pull first(there_);
  Pull second(there_);
  Push push(here_, patient());
  Inbox first_inbox(first);
  Inbox second_inbox(second);
  join(first, push);
  join(second, push);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(push.send("in turn"), Status::ok);
  pump_.run_for(30ms);
  EXPECT_EQ(first_inbox.size() + second_inbox.size(), 0U);
  push.flush();
  ASSERT_SOON(pump_, first_inbox.size() == 5 && second_inbox.size() == 5);
}

TEST_P(Flush, close_sends_the_open_page) {
  Pull pull(there_);
  Push push(here_, patient());
  Inbox inbox(pull);
  Seen at_push(push);
  join(pull, push);
  ASSERT_EQ(push.send("last"), Status::ok);
  push.close();
  ASSERT_SOON(pump_, at_push.closings.size() == 1);
  EXPECT_EQ(inbox.size(), 1U);
  EXPECT_EQ(at_push.closings[0].acknowledged, 1U);
}

ON_EVERY_TRANSPORT(Flush);

}  // namespace
}  // namespace netio::test
