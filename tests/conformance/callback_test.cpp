// Call-backs may send, close, and destroy their own socket: in every one of them.
#include <memory>
#include <optional>
#include <utility>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class CallBack : public Conformance {
 protected:
  // Whatever the test did, the other sockets of both contexts still work.
  void expect_all_is_well() {
    Pull pull(there_, options());
    Push push(here_, options());
    Inbox inbox(pull);
    join(pull, push);
    send_numbered(push, 0, 200, [](std::uint64_t i) { return i % 50 == 0 ? 100'000U : 50U; });
    ASSERT_SOON(pump_, inbox.size() == 200);
  }
};

// Each destroys its socket and then uses what it captured: the function itself must still be there.
TEST_P(CallBack, on_message_may_destroy_its_socket) {
  for (const std::uint64_t last : {1U, 3U, 10U}) {
    std::optional<Pull> pull(std::in_place, there_, options());
    Push push(here_, options());
    std::uint64_t count = 0;
    pull->on_message([&, marker = std::vector<int>(100, 7)](const MessageView& message) {
      EXPECT_TRUE(is_payload(message.bytes(), count));
      if (++count != last) return;
      pull.reset();
      EXPECT_EQ(marker.at(99), 7);
    });
    join(*pull, push);
    send_numbered(push, 0, 10, [](std::uint64_t) { return std::size_t{30}; });
    push.flush();
    ASSERT_SOON(pump_, !pull.has_value());
    ASSERT_SOON(pump_, push.peers_connected() == 0);
    EXPECT_EQ(count, last);
    EXPECT_TRUE(add_up(push.books()));
  }
  expect_all_is_well();
}

// The view, too, is valid until the call-back returns.
TEST_P(CallBack, the_view_survives_the_socket_until_the_call_back_returns) {
  for (const std::size_t size : {std::size_t{100}, std::size_t{3U << 20U}}) {
    std::optional<Pull> pull(std::in_place, there_, options());
    Push push(here_, options());
    Message kept;
    pull->on_message([&](const MessageView& message) {
      pull.reset();
      EXPECT_TRUE(is_payload(message.bytes(), 5));
      kept = message.keep();
    });
    join(*pull, push);
    ASSERT_EQ(push.send(payload(5, size)), Status::ok);
    ASSERT_SOON(pump_, !pull.has_value());
    EXPECT_EQ(kept.size(), size);
    EXPECT_TRUE(is_payload(kept.bytes(), 5));
  }
  expect_all_is_well();
}

TEST_P(CallBack, on_batch_may_destroy_its_socket) {
  std::optional<Pull> pull(std::in_place, there_, options());
  Push push(here_, options());
  std::uint64_t count = 0;
  pull->on_batch([&](const Batch& batch) {
    const bool first = count == 0;
    for (const MessageView message : batch) {
      EXPECT_TRUE(is_payload(message.bytes(), count));
      if (first && count == 0) pull.reset();
      ++count;
    }
  });
  join(*pull, push);
  send_numbered(push, 0, 10, [](std::uint64_t) { return std::size_t{30}; });
  push.flush();
  ASSERT_SOON(pump_, !pull.has_value());
  EXPECT_GE(count, 1U);
  expect_all_is_well();
}

TEST_P(CallBack, on_up_may_destroy_its_socket) {
  for (const bool dialing : {true, false}) {
    std::optional<Push> push(std::in_place, here_, options());
    Pull pull(there_, options());
    Seen at_pull(pull);
    bool done = false;
    push->on_up([&](const PeerInfo& peer) {
      push.reset();
      EXPECT_FALSE(peer.address.empty());
      done = true;
    });
    if (dialing) {
      push->connect(bind(pull));
    } else {
      pull.connect(bind(*push));
    }
    ASSERT_SOON(pump_, done);
    ASSERT_SOON(pump_, pull.peers_connected() == 0);
  }
  expect_all_is_well();
}

TEST_P(CallBack, on_down_may_destroy_its_socket) {
  std::optional<Push> push(std::in_place, here_, options());
  std::optional<Pull> pull(std::in_place, there_, options());
  bool done = false;
  push->on_down([&](const PeerInfo& peer, const Down& down) {
    push.reset();
    EXPECT_FALSE(peer.address.empty());
    EXPECT_FALSE(down.detail.empty());
    done = true;
  });
  join(*pull, *push);
  pull.reset();
  ASSERT_SOON(pump_, done);
  expect_all_is_well();
}

TEST_P(CallBack, on_down_of_an_attempt_that_failed_may_destroy_its_socket) {
  std::string nobody;
  {
    Pull gone(there_);
    nobody = bind(gone);
  }
  std::optional<Push> push(std::in_place, here_, options());
  bool done = false;
  push->on_down([&](const PeerInfo&, const Down&) {
    push.reset();
    done = true;
  });
  push->connect(nobody);
  ASSERT_SOON(pump_, done);
  expect_all_is_well();
}

TEST_P(CallBack, on_writable_may_destroy_its_socket) {
  for (const bool from_full : {false, true}) {
    std::optional<Push> push(std::in_place, here_, options());
    Pull pull(there_, options());
    bool done = false;
    push->on_writable([&] {
      push.reset();
      done = true;
    });
    pull.on_message([](const MessageView&) {});
    if (from_full) {
      pull.pause();
      join(pull, *push);
      while (push->send(payload(1, 10'000)) == Status::ok) {
      }
      pull.resume();
    } else {
      EXPECT_EQ(push->send("early"), Status::not_connected);
      push->connect(bind(pull));
    }
    ASSERT_SOON(pump_, done);
    EXPECT_FALSE(push.has_value());
  }
  expect_all_is_well();
}

TEST_P(CallBack, on_released_may_destroy_its_socket) {
  std::optional<Push> push(std::in_place, here_, options());
  Pull pull(there_, options());
  pull.on_message([](const MessageView&) {});
  const std::vector<std::byte> lent = payload(1, 100'000);
  int released = 0;
  push->on_released([&](std::uint64_t) {
    if (++released == 1) push.reset();
  });
  join(pull, *push);
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_EQ(push->lend(lent, i), Status::ok);
  ASSERT_SOON(pump_, !push.has_value());
  pump_.run_for(20ms);
  EXPECT_EQ(released, 1) << "destroying the socket ends the other loans without calls";
  expect_all_is_well();
}

TEST_P(CallBack, on_closed_may_destroy_its_socket) {
  std::optional<Push> push(std::in_place, here_, options());
  Pull pull(there_, options());
  pull.on_message([](const MessageView&) {});
  bool done = false;
  push->on_closed([&](const Books& books) {
    push.reset();
    EXPECT_EQ(books.acknowledged, 1U);
    done = true;
  });
  join(pull, *push);
  ASSERT_EQ(push->send("one"), Status::ok);
  push->close();
  ASSERT_SOON(pump_, done);
  expect_all_is_well();
}

TEST_P(CallBack, watermarks_may_destroy_their_socket) {
  if (GetParam().takes_much) GTEST_SKIP() << "it comes while the sender fills up";
  std::optional<Push> push(std::in_place, here_, options());
  Pull pull(there_, options());
  pull.on_message([](const MessageView&) {});
  pull.pause();
  bool done = false;
  push->on_low_watermark([&] {
    push.reset();
    done = true;
  });
  join(pull, *push);
  (void)send_until_again(*push, 10'000);
  pump_.turns(5);
  ASSERT_FALSE(done);
  pull.resume();
  ASSERT_SOON(pump_, done);
  expect_all_is_well();
}

TEST_P(CallBack, every_one_may_close_its_socket) {
  Pull pull(there_, options());
  Seen at_pull(pull);
  std::uint64_t count = 0;
  pull.on_message([&](const MessageView&) {
    if (++count == 3) pull.close();
  });
  Push push(here_, options());
  int downs = 0;
  bool closed = false;
  push.on_down([&](const PeerInfo&, const Down&) {
    ++downs;
    push.close();
  });
  push.on_closed([&](const Books& books) {
    closed = true;
    EXPECT_TRUE(add_up(books));
  });
  join(pull, push);
  send_numbered(push, 0, 10, [](std::uint64_t) { return std::size_t{30}; });
  ASSERT_SOON(pump_, at_pull.closings.size() == 1 && closed);
  EXPECT_EQ(count, 3U);
  EXPECT_EQ(downs, 1);

  Push closes_when_up(here_, options());
  bool up_closed = false;
  closes_when_up.on_up([&](const PeerInfo&) { closes_when_up.close(); });
  closes_when_up.on_closed([&](const Books&) { up_closed = true; });
  Pull other(there_, options());
  Seen at_other(other);
  closes_when_up.connect(bind(other));
  ASSERT_SOON(pump_, up_closed && at_other.downs.size() == 1);
  EXPECT_EQ(at_other.downs[0].down.reason, DownReason::closed_by_peer) << at_other.why();

  Push closes_when_writable(here_, options());
  bool writable_closed = false;
  closes_when_writable.on_writable([&] { closes_when_writable.close(); });
  closes_when_writable.on_closed([&](const Books&) { writable_closed = true; });
  EXPECT_EQ(closes_when_writable.send("early"), Status::not_connected);
  closes_when_writable.connect(bind(other));
  ASSERT_SOON(pump_, writable_closed);
  expect_all_is_well();
}

TEST_P(CallBack, every_one_may_send) {
  Pair left(here_, options());
  Pair right(there_, options());
  std::uint64_t at_right = 0;
  int released = 0;
  const std::vector<std::byte> lent = payload(1, 100'000);
  left.on_up([&](const PeerInfo&) {
    EXPECT_EQ(left.send("from on_up"), Status::ok);
    EXPECT_EQ(left.lend(lent, 1), Status::ok);
  });
  left.on_released([&](std::uint64_t) {
    ++released;
    EXPECT_EQ(left.send("from on_released"), Status::ok);
  });
  left.on_writable([&] { EXPECT_EQ(left.send("from on_writable"), Status::ok); });
  left.on_message([&](const MessageView&) { EXPECT_EQ(left.send("an answer"), Status::ok); });
  left.on_down([&](const PeerInfo&, const Down&) {
    EXPECT_EQ(left.send("too late"), Status::not_connected);
  });
  right.on_message([&](const MessageView&) { ++at_right; });
  EXPECT_EQ(left.send("early"), Status::not_connected);
  join(right, left);
  ASSERT_EQ(send(right, payload(2, 10)), Status::ok);
  ASSERT_SOON(pump_, at_right == 5);
  EXPECT_EQ(released, 1);
  right.close();
  ASSERT_SOON(pump_, left.peers_connected() == 0);
  expect_all_is_well();
}

TEST_P(CallBack, connect_and_bind_work_inside_a_call_back) {
  Pull first(there_, options());
  Pull second(there_, options());
  Inbox first_inbox(first);
  Inbox second_inbox(second);
  Push push(here_, options());
  const std::string next = bind(second);
  bool more = true;
  std::string bound_inside;
  push.on_up([&](const PeerInfo&) {
    if (!std::exchange(more, false)) return;
    push.connect(next);
    bound_inside = bind(push);
  });
  join(first, push);
  ASSERT_SOON(pump_, push.peers_connected() == 2);
  Pull third(there_, options());
  Inbox third_inbox(third);
  third.connect(bound_inside);
  ASSERT_SOON(pump_, push.peers_connected() == 3);
  send_numbered(push, 0, 30, [](std::uint64_t) { return std::size_t{30}; });
  ASSERT_SOON(pump_,
              first_inbox.size() == 10 && second_inbox.size() == 10 && third_inbox.size() == 10);
}

// A socket destroyed by the call-back of another one in the same context.
TEST_P(CallBack, on_message_may_destroy_another_socket) {
  std::optional<Pull> victim(std::in_place, there_, options());
  Pull killer(there_, options());
  Push to_victim(here_, options());
  Push to_killer(here_, options());
  std::uint64_t victims = 0;
  victim->on_message([&](const MessageView&) { ++victims; });
  bool killed = false;
  killer.on_message([&](const MessageView&) {
    victim.reset();
    killed = true;
  });
  join(*victim, to_victim);
  join(killer, to_killer);
  for (int i = 0; i < 1000; ++i) {
    if (to_victim.send(payload(1, 100)) != Status::ok) break;
  }
  ASSERT_EQ(to_killer.send("now"), Status::ok);
  to_victim.flush();
  to_killer.flush();
  ASSERT_SOON(pump_, killed && to_victim.peers_connected() == 0);
  expect_all_is_well();
}

ON_EVERY_TRANSPORT_AND_MODE(CallBack);

}  // namespace
}  // namespace netio::test
