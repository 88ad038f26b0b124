// send_to(): a message goes to the peer that is named, or to nobody, and the others do not notice.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "conformance/push_to_many.hpp"
#include "support/relay.hpp"

namespace netio::test {
namespace {

class SendTo : public PushToMany {
 protected:
  Status send_to(std::uint64_t id, std::span<const std::byte> message, std::uint64_t tag = 0) {
    Status status = Status::again;
    EXPECT_SOON(pump_, (status = push_->send_to(id, message, tag)) != Status::again);
    return status;
  }
};

TEST_P(SendTo, reaches_the_peer_that_is_named_and_no_other) {
  for (int i = 0; i < 2; ++i) add();
  add_accepted();
  constexpr std::uint64_t count = 600;
  for (std::uint64_t i = 0; i < count; ++i) {
    ASSERT_EQ(send_to(1 + i % 3, payload(i, size_of(i)), i % 5), Status::ok);
  }
  ASSERT_EQ(push_->send_to(2, "some text"), Status::ok);
  settle(*push_);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    const Inbox& inbox = pullers_[id - 1]->inbox;
    ASSERT_EQ(inbox.size(), count / 3 + (id == 2 ? 1 : 0));
    for (std::uint64_t i = 0; i < count / 3; ++i) {
      const std::uint64_t number = 3 * i + id - 1;
      ASSERT_TRUE(is_payload(inbox[i].bytes, number)) << number;
      ASSERT_EQ(inbox[i].bytes.size(), size_of(number));
      ASSERT_EQ(inbox[i].tag, number % 5);
    }
    EXPECT_EQ(push_->peers()[id - 1].books.acknowledged, inbox.size());
  }
  EXPECT_EQ(push_->books().acknowledged, count + 1);
}

TEST_P(SendTo, does_not_move_the_turn_of_the_others) {
  for (int i = 0; i < 3; ++i) add();
  for (std::uint64_t i = 0; i < 300; ++i) {
    ASSERT_EQ(send(*push_, payload(i, 20), 7), Status::ok);
    for (std::uint64_t more = 0; more < i % 4; ++more) {
      ASSERT_EQ(send_to(1 + (i + more) % 3, payload(i, 20)), Status::ok);
    }
  }
  settle(*push_);
  for (const auto& puller : pullers_) {
    std::vector<std::uint64_t> numbers;
    for (const Inbox::Arrived& message : puller->inbox.messages) {
      if (message.tag == 7) numbers.push_back(number_of(message.bytes));
    }
    ASSERT_EQ(numbers.size(), 100U);
    for (std::size_t i = 1; i < 100; ++i) ASSERT_EQ(numbers[i], numbers[i - 1] + 3);
  }
}

TEST_P(SendTo, an_id_that_nobody_has_is_not_connected_until_a_peer_comes) {
  EXPECT_EQ(push_->send_to(1, "early"), Status::not_connected);
  EXPECT_EQ(push_->send_to(0, "nobody"), Status::not_connected);
  EXPECT_EQ(push_->send_to(UINT64_MAX, "nobody"), Status::not_connected);
  EXPECT_EQ(push_->send("nobody"), Status::not_connected);
  EXPECT_EQ(push_->counters().agains, 4U);
  pump_.run_for(20ms);
  EXPECT_EQ(writable_, 0);
  Puller& first = add();
  ASSERT_SOON(pump_, writable_ > 0);
  pump_.run_for(20ms);
  EXPECT_EQ(writable_, 1) << "once for all of them";
  EXPECT_EQ(push_->send_to(1, "now"), Status::ok);
  EXPECT_EQ(push_->send_to(2, "early"), Status::not_connected);
  settle(*push_);
  EXPECT_EQ(first.inbox.size(), 1U);
  EXPECT_EQ(writable_, 1) << "what the first peer takes is no news of the second one";
  add_accepted();
  ASSERT_SOON(pump_, writable_ == 2);
  EXPECT_EQ(push_->send_to(2, "now"), Status::ok);
  settle(*push_);
  EXPECT_EQ(writable_, 2);
}

TEST_P(SendTo, a_full_peer_answers_again_while_the_others_go_on) {
  Puller& slow = add();
  Puller& fast = add();
  slow.pull.pause();
  const std::uint64_t taken = fill_up(1, 5000);
  ASSERT_GT(taken, 0U);
  const Books before = push_->books();
  const std::uint64_t agains = push_->counters().agains;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(push_->send_to(1, payload(0, 5000)), Status::again);
  EXPECT_EQ(push_->books().sent, before.sent);
  EXPECT_EQ(push_->counters().agains, agains + 5);
  EXPECT_TRUE(push_->peers()[0].behind);
  writable_ = 0;
  for (std::uint64_t i = 0; i < 300; ++i) {
    ASSERT_EQ(i % 2 == 0 ? push_->send_to(2, payload(i, 3000)) : push_->send(payload(i, 3000)),
              Status::ok);
    if (i % 10 == 9) {
      ASSERT_SOON(pump_, fast.inbox.size() == i + 1);
    }
  }
  EXPECT_EQ(writable_, 0) << "the other peers say nothing of the slow one";
  slow.pull.resume();
  ASSERT_SOON(pump_, slow.inbox.size() == taken);
  ASSERT_SOON(pump_, writable_ > 0);
  pump_.run_for(30ms);
  EXPECT_EQ(writable_, 1);
  EXPECT_EQ(push_->send_to(1, payload(taken, 5000)), Status::ok);
  settle(*push_);
  ASSERT_EQ(slow.inbox.size(), taken + 1);
  for (std::uint64_t i = 0; i <= taken; ++i) ASSERT_TRUE(is_payload(slow.inbox[i].bytes, i)) << i;
  EXPECT_EQ(fast.inbox.size(), 300U);
}

// Also where the one whose turn it is was filled up by name.
TEST_P(SendTo, a_peer_that_is_full_is_left_out_of_the_turn) {
  add().pull.pause();
  add();
  add();
  (void)fill_up(1, 5000);
  send_numbered(*push_, 0, 100, [](std::uint64_t) { return std::size_t{40}; });
  ASSERT_SOON(pump_, pullers_[1]->inbox.size() + pullers_[2]->inbox.size() == 100);
  EXPECT_EQ(pullers_[1]->inbox.size(), 50U);
  pullers_[0]->pull.resume();
  settle(*push_);
}

TEST_P(SendTo, on_writable_comes_when_a_full_peer_is_gone_for_good) {
  Puller& slow = add_accepted();
  add();
  slow.pull.pause();
  (void)fill_up(1, 5000);
  EXPECT_EQ(push_->send_to(1, payload(0, 5000)), Status::again);
  writable_ = 0;
  Seen seen(*push_);
  pullers_.erase(pullers_.begin());
  ASSERT_SOON(pump_, writable_ > 0);
  EXPECT_EQ(seen.downs.size(), 1U);
  EXPECT_EQ(push_->send_to(1, "late"), Status::not_connected);
  pump_.run_for(20ms);
  EXPECT_EQ(writable_, 1);
  EXPECT_EQ(push_->send_to(2, "still here"), Status::ok);
  ASSERT_SOON(pump_, push_->books().unacknowledged == 0);
}

TEST_P(SendTo, a_peer_that_has_said_good_bye_is_not_connected) {
  Puller& leaver = add();
  add();
  leaver.pull.close();
  ASSERT_SOON(pump_, push_->peers_connected() == 1);
  EXPECT_EQ(push_->send_to(1, "late"), Status::not_connected);
  EXPECT_EQ(push_->send_to(2, "still here"), Status::ok);
  pump_.run_for(20ms);
  EXPECT_EQ(writable_, 0) << "it is dialed on, and did not come back";
  settle(*push_);
}

TEST_P(SendTo, a_message_that_was_refused_is_untouched) {
  Puller& slow = add();
  slow.pull.pause();
  (void)fill_up(1, 5000);
  for (const std::size_t bytes : {20U, 40'000U}) {
    Message message = Message::copy_of(payload(3, bytes), 5);
    const std::byte* const data = message.data();
    EXPECT_EQ(push_->send_to(9, std::move(message)), Status::not_connected);
    EXPECT_EQ(message.data(), data);  // NOLINT: that is the promise
    EXPECT_EQ(push_->send_to(1, std::move(message)), Status::again);
    EXPECT_EQ(message.data(), data);  // NOLINT
    EXPECT_EQ(message.size(), bytes);
    EXPECT_EQ(message.tag(), 5U);
  }
  slow.pull.resume();
  settle(*push_);
  slow.inbox.messages.clear();
  Message message = Message::copy_of(payload(3, 40'000), 5);
  ASSERT_EQ(push_->send_to(1, std::move(message)), Status::ok);
  EXPECT_FALSE(message);                                              // NOLINT
  EXPECT_EQ(push_->send_to(1, std::move(message)), Status::invalid);  // NOLINT
  settle(*push_);
  ASSERT_EQ(slow.inbox.size(), 1U);
  EXPECT_TRUE(is_payload(slow.inbox[0].bytes, 3));
  EXPECT_EQ(slow.inbox[0].tag, 5U);
}

TEST_P(SendTo, what_is_lent_to_a_peer_comes_back_once) {
  Puller& slow = add();
  Puller& other = add();
  std::vector<std::uint64_t> released;
  push_->on_released([&](std::uint64_t token) { released.push_back(token); });
  const std::vector<std::byte> lent = payload(4, 100'000);
  ASSERT_EQ(push_->lend_to(2, lent, 11, 6), Status::ok);
  EXPECT_EQ(push_->lend_to(3, lent, 12), Status::not_connected);
  settle(*push_);
  ASSERT_SOON(pump_, released.size() == 1);
  slow.pull.pause();
  (void)fill_up(1, 5000);
  EXPECT_EQ(push_->lend_to(1, lent, 13), Status::again);
  pump_.run_for(20ms);
  EXPECT_EQ(released, std::vector<std::uint64_t>{11}) << "what was refused was never lent";
  ASSERT_EQ(other.inbox.size(), 1U);
  EXPECT_TRUE(is_payload(other.inbox[0].bytes, 4));
  EXPECT_EQ(other.inbox[0].tag, 6U);
  slow.pull.resume();
  settle(*push_);
}

TEST_P(SendTo, memory_is_allocated_for_a_peer) {
  add();
  Puller& second = add();
  Status status = Status::ok;
  for (std::uint64_t i = 0; i < 20; ++i) {
    Message message = push_->allocate_for(2, 30'000, status, 8);
    ASSERT_EQ(status, Status::ok);
    fill_payload(message.writable_bytes(), i);
    ASSERT_EQ(push_->send_to(2, std::move(message)), Status::ok);
    settle(*push_);
  }
  ASSERT_EQ(second.inbox.size(), 20U);
  for (std::uint64_t i = 0; i < 20; ++i) EXPECT_TRUE(is_payload(second.inbox[i].bytes, i));
  EXPECT_EQ(second.inbox[0].tag, 8U);
  EXPECT_FALSE(push_->allocate_for(3, 30'000, status));
  EXPECT_EQ(status, Status::not_connected);
  EXPECT_FALSE(push_->allocate_for(2, SIZE_MAX, status));
  EXPECT_EQ(status, Status::too_big);
  second.pull.pause();
  (void)fill_up(2, 5000);
  EXPECT_FALSE(push_->allocate_for(2, 30'000, status));
  EXPECT_EQ(status, Status::again);
  second.pull.resume();
  settle(*push_);
}

TEST_P(SendTo, too_big_is_said_of_the_peer_that_is_named) {
  SocketOptions small = options();
  small.message_bytes_max = 1000;
  pullers_.push_back(std::make_unique<Puller>(there_, small));
  join(pullers_.back()->pull, *push_);
  add();
  EXPECT_EQ(push_->send_to(1, payload(0, 1001)), Status::too_big);
  EXPECT_EQ(push_->send_to(1, payload(0, 1000)), Status::ok);
  EXPECT_EQ(push_->send_to(2, payload(0, 1001)), Status::ok);
  settle(*push_);
  EXPECT_EQ(writable_, 0);
}

TEST_P(SendTo, a_closing_socket_answers_closed_and_delivers_what_it_took) {
  Puller& first = add();
  add();
  Seen seen(*push_);
  EXPECT_EQ(push_->send_to(9, "nobody"), Status::not_connected);
  for (std::uint64_t i = 0; i < 50; ++i) ASSERT_EQ(send_to(1, payload(i, 100)), Status::ok);
  push_->close();
  Status status = Status::ok;
  EXPECT_EQ(push_->send_to(1, "late"), Status::closed);
  EXPECT_EQ(push_->send_to(9, "late"), Status::closed);
  EXPECT_EQ(push_->lend_to(1, payload(0, 9), 1), Status::closed);
  EXPECT_FALSE(push_->allocate_for(1, 9, status));
  EXPECT_EQ(status, Status::closed);
  ASSERT_SOON(pump_, seen.closings.size() == 1);
  EXPECT_EQ(seen.closings[0].acknowledged, 50U);
  EXPECT_EQ(first.inbox.size(), 50U);
  EXPECT_EQ(writable_, 0);
}

TEST_P(SendTo, the_socket_may_be_destroyed_in_the_on_writable_that_follows) {
  bool called = false;
  push_->on_writable([&] {
    called = true;
    push_.reset();
  });
  EXPECT_EQ(push_->send_to(1, "early"), Status::not_connected);
  Pull pull(there_, options());
  push_->connect(bind(pull));
  ASSERT_SOON(pump_, called);
  pump_.turns(20);
}

TEST_P(SendTo, works_with_a_pair) {
  Pair here(here_, options());
  Pair there(there_, options());
  Inbox inbox(there);
  join(there, here);
  EXPECT_EQ(here.send_to(1, "hello"), Status::ok);
  EXPECT_EQ(here.send_to(2, "hello"), Status::not_connected);
  ASSERT_SOON(pump_, inbox.size() == 1);
  settle(here);
  EXPECT_TRUE(add_up(here.books()));
}

ON_EVERY_TRANSPORT_AND_MODE(SendTo);

class SendToCut : public Conformance {};

TEST_P(SendToCut, a_peer_that_was_lost_is_tried_again_when_it_is_back) {
  for (const bool push_dials : {true, false}) {
    SCOPED_TRACE(push_dials ? "the push dials" : "the pull dials");
    Push push(here_, eager());
    Pull pull(there_, eager());
    Pull other(there_, eager());
    Inbox inbox(pull);
    Inbox other_inbox(other);
    Relay relay(push_dials ? bind(pull) : bind(push));
    push_dials ? push.connect(relay.address()) : pull.connect(relay.address());
    ASSERT_SOON(pump_, push.peers_connected() == 1);
    join(other, push);
    const std::uint64_t id = 1;
    int writable = 0;
    push.on_writable([&] { ++writable; });
    ASSERT_EQ(push.send_to(id, "before"), Status::ok);
    settle(push);
    relay.forbid(true);
    relay.cut();
    ASSERT_SOON(pump_, push.peers_connected() == 1);
    ASSERT_EQ(push.send_to(id, "meanwhile"), Status::not_connected);
    for (int i = 0; i < 10; ++i) {
      ASSERT_EQ(push.send("to the other"), Status::ok);
      settle(push);
    }
    EXPECT_EQ(writable, 0);
    relay.forbid(false);
    ASSERT_SOON(pump_, writable > 0);
    EXPECT_EQ(push.send_to(id, "after"), Status::ok);
    settle(push);
    EXPECT_EQ(writable, 1);
    EXPECT_EQ(inbox.size(), 2U);
    EXPECT_EQ(other_inbox.size(), 10U);
    EXPECT_TRUE(add_up(push.books()));
  }
}

ON_TCP_IN_EVERY_MODE(SendToCut);

}  // namespace
}  // namespace netio::test
