// Push: who gets which message, and what it answers when nobody can take one.
#include <map>
#include <memory>
#include <optional>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class PushSocket : public Conformance {};

TEST_P(PushSocket, answers_not_connected_before_a_peer_came_and_tells_when_one_did) {
  Push push(here_, options());
  Pull pull(there_, options());
  Inbox inbox(pull);
  int writable = 0;
  bool in_turn = true;
  push.on_writable([&] {
    ++writable;
    in_turn = in_turn && here_.loop().in_turn();
  });
  EXPECT_EQ(push.send("early"), Status::not_connected);
  const std::string address = bind(push);
  EXPECT_EQ(push.send("early"), Status::not_connected);
  pump_.run_for(20ms);
  EXPECT_EQ(writable, 0);
  EXPECT_EQ(push.counters().agains, 2U);
  EXPECT_EQ(push.books().sent, 0U);

  pull.connect(address);
  ASSERT_SOON(pump_, writable > 0);
  pump_.run_for(20ms);
  EXPECT_EQ(writable, 1);
  EXPECT_TRUE(in_turn);
  EXPECT_EQ(push.send("now"), Status::ok);
  ASSERT_SOON(pump_, inbox.size() == 1);
  EXPECT_EQ(inbox[0].bytes.size(), 3U);
}

TEST_P(PushSocket, serves_its_peers_in_turn) {
  Push push(here_, options());
  std::vector<std::unique_ptr<Pull>> pulls;
  std::vector<std::unique_ptr<Inbox>> inboxes;
  for (int i = 0; i < 3; ++i) {
    pulls.push_back(std::make_unique<Pull>(there_, options()));
    inboxes.push_back(std::make_unique<Inbox>(*pulls.back()));
    join(*pulls.back(), push);
  }
  send_numbered(push, 0, 300, [](std::uint64_t) { return std::size_t{16}; });
  ASSERT_SOON(pump_, inboxes[0]->size() + inboxes[1]->size() + inboxes[2]->size() == 300);
  for (const auto& inbox : inboxes) {
    ASSERT_EQ(inbox->size(), 100U);
    for (std::size_t i = 1; i < 100; ++i) {
      EXPECT_EQ(number_of((*inbox)[i].bytes), number_of((*inbox)[i - 1].bytes) + 3);
    }
  }
}

TEST_P(PushSocket, skips_a_peer_that_is_full) {
  Push push(here_, options());
  Pull slow(there_, options());
  Pull fast(there_, options());
  Inbox slow_inbox(slow);
  std::uint64_t fast_count = 0;
  fast.on_message([&](const MessageView&) { ++fast_count; });
  join(slow, push);
  join(fast, push);
  slow.pause();
  constexpr std::uint64_t count = 40'000;
  constexpr std::size_t size = 1000;
  std::vector<std::byte> message;
  for (std::uint64_t i = 0; i < count; ++i) {
    message = payload(i, size);
    ASSERT_EQ(send(push, message), Status::ok);
  }
  // What the kernel's buffers and send_bytes_max take, and no more.
  ASSERT_SOON(pump_, fast_count > count / 2);
  EXPECT_EQ(slow_inbox.size(), 0U);
  const std::uint64_t fast_before = fast_count;
  slow.resume();
  ASSERT_SOON(pump_, slow_inbox.size() + fast_count == count);
  EXPECT_GE(fast_count, fast_before);
  for (std::size_t i = 1; i < slow_inbox.size(); ++i) {
    ASSERT_LT(number_of(slow_inbox[i - 1].bytes), number_of(slow_inbox[i].bytes));
  }
  settle(push);
  EXPECT_EQ(push.books().acknowledged, count);
}

// One that is full is left out until it has room, and none of the others because of that.
TEST_P(PushSocket, keeps_the_turns_of_those_that_are_ready_whoever_is_full) {
  Push push(here_, options());
  Pull slow(there_, options());
  slow.on_message([](const MessageView&) {});
  slow.pause();
  join(slow, push);
  std::vector<std::unique_ptr<Pull>> others;
  std::map<std::uint64_t, int> taker_of;  // by message number
  for (int i = 0; i < 3; ++i) {
    others.push_back(std::make_unique<Pull>(there_, options()));
    others.back()->on_message(
        [&, i](const MessageView& message) { taker_of.emplace(number_of(message.bytes()), i); });
    join(*others.back(), push);
  }
  std::uint64_t sent = 0;
  // A quarter is for the slow one, as long as it takes any.
  ASSERT_SOON(pump_, [&] {
    for (int i = 0; i < 16; ++i) {
      if (push.send(payload(sent, 3000)) == Status::ok) ++sent;
    }
    return taker_of.size() > sent / 4 * 3 + 1000;
  }());
  std::vector<int> order;
  for (const auto& [number, taker] : taker_of) order.push_back(taker);
  for (std::size_t i = 3; i < order.size(); ++i) ASSERT_EQ(order[i], order[i - 3]) << i;
}

TEST_P(PushSocket, again_changes_nothing) {
  Push push(here_, options());
  Pull pull(there_, options());
  Inbox inbox(pull);
  pull.pause();
  join(pull, push);
  const std::uint64_t taken = send_until_again(push, 5000);
  ASSERT_GT(taken, 0U);
  const Books books = push.books();
  const std::uint64_t agains = push.counters().agains;
  const std::uint64_t bytes = push.counters().bytes_sent;
  EXPECT_EQ(books.sent, taken);
  EXPECT_EQ(bytes, taken * 5000);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(push.send(payload(999'999, 5000)), Status::again);
  EXPECT_EQ(push.books().sent, taken);
  EXPECT_EQ(push.counters().bytes_sent, bytes);
  EXPECT_EQ(push.counters().agains, agains + 10);
  pull.resume();
  ASSERT_SOON(pump_, inbox.size() == taken);
  pump_.run_for(20ms);
  EXPECT_EQ(inbox.size(), taken);
  for (std::uint64_t i = 0; i < taken; ++i) ASSERT_TRUE(is_payload(inbox[i].bytes, i)) << i;
}

TEST_P(PushSocket, tells_once_from_the_loop_when_it_is_worth_trying_again) {
  Push push(here_, options());
  Pull pull(there_, options());
  std::uint64_t received = 0;
  pull.on_message([&](const MessageView&) { ++received; });
  bool sending = false;
  int writable = 0;
  int from_inside = 0;
  int answers_after = 0;
  push.on_writable([&] {
    ++writable;
    if (sending || !here_.loop().in_turn()) ++from_inside;
    if (push.send("worth it") == Status::ok) ++answers_after;
  });
  pull.pause();
  join(pull, push);
  std::uint64_t taken = 0;
  for (int refused = 0; refused < 1;) {
    sending = true;
    const Status status = push.send(payload(taken, 5000));
    sending = false;
    if (status == Status::ok) {
      ++taken;
    } else {
      ASSERT_EQ(status, Status::again);
      ++refused;
    }
  }
  EXPECT_EQ(writable, 0) << "called from inside send";
  pull.resume();
  ASSERT_SOON(pump_, received == taken + 1);
  pump_.run_for(30ms);
  EXPECT_EQ(writable, 1);
  EXPECT_EQ(answers_after, 1);
  EXPECT_EQ(from_inside, 0);
}

// The usual way to write a sender: send until again, go on in on_writable.
TEST_P(PushSocket, sends_everything_when_it_goes_on_in_on_writable) {
  Push push(here_, options());
  Pull pull(there_, options());
  constexpr std::uint64_t count = 30'000;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t wrong = 0;
  std::vector<std::byte> message;
  const auto go_on = [&] {
    while (sent < count) {
      message.resize(100 + sent % 1000);
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
  join(pull, push);
  go_on();
  ASSERT_SOON(pump_, received == count);
  EXPECT_EQ(wrong, 0U);
}

TEST_P(PushSocket, leaves_out_a_peer_that_went) {
  Push push(here_, options());
  std::optional<Pull> first(std::in_place, there_, options());
  Pull second(there_, options());
  std::uint64_t first_count = 0;
  std::uint64_t second_count = 0;
  first->on_message([&](const MessageView&) { ++first_count; });
  second.on_message([&](const MessageView&) { ++second_count; });
  join(*first, push);
  join(second, push);
  send_numbered(push, 0, 100, [](std::uint64_t) { return std::size_t{16}; });
  ASSERT_SOON(pump_, first_count + second_count == 100);
  settle(push);
  first.reset();
  ASSERT_SOON(pump_, push.peers_connected() == 1);
  send_numbered(push, 100, 200, [](std::uint64_t) { return std::size_t{16}; });
  ASSERT_SOON(pump_, second_count == 150);
  EXPECT_EQ(first_count, 50U);
  settle(push);
  EXPECT_EQ(push.books().acknowledged, 200U);
}

TEST_P(PushSocket, a_peer_that_joins_late_gets_its_share) {
  Push push(here_, options());
  Pull first(there_, options());
  Pull second(there_, options());
  Inbox first_inbox(first);
  Inbox second_inbox(second);
  join(first, push);
  send_numbered(push, 0, 50, [](std::uint64_t) { return std::size_t{16}; });
  join(second, push);
  send_numbered(push, 50, 150, [](std::uint64_t) { return std::size_t{16}; });
  ASSERT_SOON(pump_, first_inbox.size() == 100 && second_inbox.size() == 50);
}

ON_EVERY_TRANSPORT_AND_MODE(PushSocket);

}  // namespace
}  // namespace netio::test
