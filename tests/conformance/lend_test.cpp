// Lent bytes come back exactly once, whatever happens to the message; kept messages pass on.
#include <map>
#include <optional>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class Lend : public Conformance {
 protected:
  // Counts how often each token came back.
  void count_releases(Sending& socket) {
    socket.on_released([this](std::uint64_t token) { ++released_[token]; });
  }
  void expect_each_released_once(std::uint64_t tokens) {
    EXPECT_EQ(released_.size(), tokens);
    for (const auto& [token, count] : released_) EXPECT_EQ(count, 1) << "token " << token;
  }

  std::map<std::uint64_t, int> released_;
};

TEST_P(Lend, lent_bytes_arrive_and_come_back_once) {
  Pull pull(there_, options());
  Push push(here_, options());
  Inbox inbox(pull);
  count_releases(push);
  join(pull, push);
  const std::vector<std::size_t> sizes = {0, 1, 64, 4000, 65'000, 65'536, 300'001, 5U << 20U};
  std::vector<std::vector<std::byte>> lent;
  for (std::size_t i = 0; i < sizes.size(); ++i) lent.push_back(payload(i, sizes[i]));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Status status = Status::again;
    ASSERT_SOON(pump_, (status = push.lend(lent[i], i, 100 + i)) != Status::again);
    ASSERT_EQ(status, Status::ok) << sizes[i] << " bytes";
  }
  ASSERT_SOON(pump_, inbox.size() == sizes.size() && released_.size() == sizes.size());
  pump_.run_for(20ms);
  expect_each_released_once(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_EQ(inbox[i].bytes.size(), sizes[i]);
    EXPECT_TRUE(is_payload(inbox[i].bytes, i)) << sizes[i] << " bytes";
    EXPECT_EQ(inbox[i].tag, 100 + i);
  }
  settle(push);
  EXPECT_EQ(push.books().acknowledged, sizes.size());
}

TEST_P(Lend, lent_and_sent_messages_keep_their_order) {
  Pull pull(there_, options());
  Push push(here_, options());
  Inbox inbox(pull);
  count_releases(push);
  join(pull, push);
  constexpr std::uint64_t count = 60;
  std::vector<std::vector<std::byte>> lent;
  for (std::uint64_t i = 0; i < count; ++i) lent.push_back(payload(i, 200 + i * 3001 % 90'000));
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i % 2 == 0) {
      ASSERT_EQ(send(push, lent[i]), Status::ok);
    } else {
      Status status = Status::again;
      ASSERT_SOON(pump_, (status = push.lend(lent[i], i)) != Status::again);
      ASSERT_EQ(status, Status::ok);
    }
  }
  ASSERT_SOON(pump_, inbox.size() == count && released_.size() == count / 2);
  for (std::uint64_t i = 0; i < count; ++i) ASSERT_TRUE(is_payload(inbox[i].bytes, i)) << i;
  expect_each_released_once(count / 2);
}

TEST_P(Lend, release_is_told_from_the_loop_and_not_from_inside_lend) {
  Pull pull(there_, options());
  Push push(here_, options());
  bool inside_lend = false;
  int inside = 0;
  int outside_turn = 0;
  int calls = 0;
  push.on_released([&](std::uint64_t) {
    ++calls;
    if (inside_lend) ++inside;
    if (!here_.loop().in_turn()) ++outside_turn;
  });
  pull.on_message([](const MessageView&) {});
  join(pull, push);
  const std::vector<std::byte> lent = payload(1, 20'000);
  for (std::uint64_t i = 0; i < 10; ++i) {
    Status status = Status::again;
    ASSERT_SOON(pump_, [&] {
      inside_lend = true;
      status = push.lend(lent, i);
      inside_lend = false;
      return status == Status::ok;
    }());
  }
  ASSERT_SOON(pump_, calls == 10);
  EXPECT_EQ(inside, 0);
  EXPECT_EQ(outside_turn, 0);
}

TEST_P(Lend, what_was_not_taken_is_not_released) {
  Push push(here_, options());
  count_releases(push);
  const std::vector<std::byte> lent = payload(1, 100);
  EXPECT_EQ(push.lend(lent, 1), Status::not_connected);

  Pull pull(there_, options());
  pull.on_message([](const MessageView&) {});
  pull.pause();
  join(pull, push);
  std::vector<std::byte> large = payload(2, 100'000);
  std::uint64_t taken = 0;
  int refused = 0;
  while (refused < 20) {
    const Status status = push.lend(large, 1000 + taken);
    if (status == Status::ok) {
      ++taken;
      refused = 0;
    } else {
      ASSERT_EQ(status, Status::again);
      ++refused;
      pump_.turn();
    }
  }
  pull.resume();
  ASSERT_SOON(pump_, released_.size() == taken);
  pump_.run_for(20ms);
  expect_each_released_once(taken);
  EXPECT_EQ(released_.count(1000 + taken), 0U);
}

TEST_P(Lend, bytes_come_back_once_when_the_connection_breaks) {
  Push push(here_, options());
  count_releases(push);
  std::vector<std::vector<std::byte>> lent;
  std::uint64_t taken = 0;
  {
    Pull pull(there_, options());
    pull.on_message([](const MessageView&) {});
    pull.pause();
    join(pull, push);
    for (std::uint64_t i = 0; i < 8; ++i) lent.push_back(payload(i, 8U << 20U));
    while (taken < lent.size() && push.lend(lent[taken], taken) == Status::ok) ++taken;
    ASSERT_GE(taken, 1U);
    pump_.turns(20);
    if (!GetParam().read_in_place) {  // else it was copied to where the receiver reads it
      EXPECT_LT(released_.size(), taken) << "8 MiB cannot have left towards a paused receiver";
    }
  }
  ASSERT_SOON(pump_, released_.size() == taken);
  pump_.run_for(20ms);
  expect_each_released_once(taken);
  EXPECT_TRUE(add_up(push.books()));
}

// Without a call: who destroys the socket knows. The bytes are not looked at again.
TEST_P(Lend, destroying_the_socket_ends_all_loans_at_once) {
  Pull pull(there_, options());
  Seen at_pull(pull);
  Inbox inbox(pull);
  pull.pause();
  std::optional<Push> push(std::in_place, here_, options());
  count_releases(*push);
  join(pull, *push);
  std::vector<std::byte> lent = payload(1, 32U << 20U);
  ASSERT_EQ(push->lend(lent, 77), Status::ok);
  pump_.turns(20);
  const std::size_t before = released_.size();
  if (!GetParam().read_in_place) {  // else it was copied to where the receiver reads it
    EXPECT_EQ(before, 0U);
  }
  push.reset();
  lent = {};  // what still read it would be caught by a sanitizer
  pull.resume();
  ASSERT_SOON(pump_, at_pull.downs.size() == 1);
  pump_.run_for(20ms);
  EXPECT_EQ(released_.size(), before);
  EXPECT_EQ(inbox.size(), before);
}

TEST_P(Lend, bytes_come_back_once_when_linger_expires) {
  Pull pull(there_, options());
  pull.on_message([](const MessageView&) {});
  pull.pause();
  Push push(here_, options());
  Seen at_push(push);
  count_releases(push);
  join(pull, push);
  const std::vector<std::byte> lent = payload(1, 32U << 20U);
  ASSERT_EQ(push.lend(lent, 5), Status::ok);
  push.close(50ms);
  ASSERT_SOON(pump_, at_push.closings.size() == 1);
  ASSERT_SOON(pump_, released_.size() == 1);
  pump_.run_for(20ms);
  expect_each_released_once(1);
  EXPECT_TRUE(add_up(at_push.closings[0]));
}

TEST_P(Lend, a_kept_message_is_passed_on_and_emptied) {
  Pull middle_in(there_, options());
  Push source(here_, options());
  Push middle_out(there_, options());
  Pull sink(here_, options());
  Inbox inbox(sink);
  std::vector<Message> kept;
  middle_in.on_message([&](const MessageView& message) { kept.push_back(message.keep()); });
  join(middle_in, source);
  join(sink, middle_out);
  const std::vector<std::size_t> sizes = {0, 5, 300, 30'000, 65'536, 2U << 20U};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    ASSERT_EQ(send(source, payload(i, sizes[i]), 50 + i), Status::ok);
  }
  ASSERT_SOON(pump_, kept.size() == sizes.size());
  for (Message& message : kept) {
    Status status = Status::again;
    ASSERT_SOON(pump_, (status = middle_out.send(std::move(message))) != Status::again);
    ASSERT_EQ(status, Status::ok);
    EXPECT_FALSE(message);          // NOLINT(bugprone-use-after-move): the contract
    EXPECT_EQ(message.size(), 0U);  // NOLINT(bugprone-use-after-move)
  }
  ASSERT_SOON(pump_, inbox.size() == sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_EQ(inbox[i].bytes.size(), sizes[i]);
    EXPECT_TRUE(is_payload(inbox[i].bytes, i));
    EXPECT_EQ(inbox[i].tag, 50 + i);
  }
}

TEST_P(Lend, a_message_that_was_not_taken_is_untouched) {
  Push push(here_, options());
  const std::vector<std::byte> bytes = payload(3, 1000);
  Message message = Message::copy_of(bytes, 9);
  EXPECT_EQ(push.send(std::move(message)), Status::not_connected);
  ASSERT_TRUE(message);  // NOLINT(bugprone-use-after-move): the contract
  EXPECT_EQ(message.size(), 1000U);
  EXPECT_EQ(message.tag(), 9U);
  EXPECT_TRUE(is_payload(message.bytes(), 3));

  Pull pull(there_, options());
  Inbox inbox(pull);
  join(pull, push);
  ASSERT_EQ(push.send(std::move(message)), Status::ok);
  EXPECT_FALSE(message);  // NOLINT(bugprone-use-after-move)
  ASSERT_SOON(pump_, inbox.size() == 1);
  EXPECT_EQ(inbox[0].bytes, bytes);
  EXPECT_EQ(inbox[0].tag, 9U);
}

ON_EVERY_TRANSPORT_AND_MODE(Lend);

}  // namespace
}  // namespace netio::test
