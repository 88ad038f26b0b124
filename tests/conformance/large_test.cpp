// Messages much larger than a page: split or lent, whole at the other end, or refused with reason.
#include <memory>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class Large : public Conformance {};

TEST_P(Large, a_message_of_64_mib_arrives_between_small_ones) {
  Pull pull(there_, options());
  Push push(here_, options());
  std::vector<std::uint64_t> wrong;
  std::uint64_t count = 0;
  const auto size_of = [](std::uint64_t i) { return i == 1 ? 64 * mebi : std::size_t{64}; };
  pull.on_message([&](const MessageView& message) {
    if (message.size() != size_of(count) || !is_payload(message.bytes(), count)) {
      wrong.push_back(count);
    }
    ++count;
  });
  join(pull, push);
  send_numbered(push, 0, 3, size_of);
  ASSERT_SOON(pump_, count == 3);
  EXPECT_TRUE(wrong.empty());
  settle(push);
  EXPECT_EQ(push.books().acknowledged, 3U);
  EXPECT_EQ(push.counters().bytes_sent, 64 * mebi + 128);
  EXPECT_EQ(pull.counters().bytes_received, 64 * mebi + 128);
  EXPECT_GE(pull.counters().bytes_arrived, 64 * mebi + 128);
  const std::uint64_t arrived = pull.counters().bytes_arrived;
  push.close();
  ASSERT_SOON(pump_, pull.peers_connected() == 0);
  EXPECT_GE(pull.counters().bytes_arrived, arrived) << "it counts what gone peers brought";
}

TEST_P(Large, large_messages_of_two_senders_do_not_mix) {
  Pull pull(there_, options());
  Push first(here_, options());
  Push second(here_, options());
  std::uint64_t count = 0;
  std::uint64_t wrong = 0;
  pull.on_message([&](const MessageView& message) {
    if (!is_payload(message.bytes(), message.tag())) ++wrong;
    ++count;
  });
  join(pull, first);
  second.connect(bind(pull));
  ASSERT_SOON(pump_, second.peers_connected() == 1);
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_EQ(send(first, payload(2 * i, 700'000 + 8 * i), 2 * i), Status::ok);
    ASSERT_EQ(send(second, payload(2 * i + 1, 900'001 + i), 2 * i + 1), Status::ok);
  }
  ASSERT_SOON(pump_, count == 40);
  EXPECT_EQ(wrong, 0U);
}

TEST_P(Large, more_large_messages_than_the_memory_for_them_arrive_one_after_the_other) {
  ContextOptions tight = small_context(GetParam().page_bytes);
  tight.large_bytes_max = 12 * mebi;
  tight.large_kept_bytes_max = 8 * mebi;
  Context here(tight);
  Context there(tight);
  Pump pump{&here, &there};
  Pull pull(there, options());
  Push push(here, options());
  std::uint64_t count = 0;
  std::uint64_t wrong = 0;
  pull.on_message([&](const MessageView& message) {
    if (!is_payload(message.bytes(), count)) ++wrong;
    ++count;
  });
  push.connect(bind(pull));
  for (std::uint64_t i = 0; i < 12; ++i) {
    const std::vector<std::byte> message = payload(i, 3 * mebi);
    Status status = Status::again;
    ASSERT_SOON(pump,
                (status = push.send(message)) != Status::again && status != Status::not_connected);
    ASSERT_EQ(status, Status::ok);
  }
  ASSERT_SOON(pump, count == 12);
  EXPECT_EQ(wrong, 0U);
}

// Who waits for a large buffer holds a block with its first part; who has one needs blocks for the
// rest. Neither may wait for the other.
TEST_P(Large, many_at_once_through_few_blocks_all_arrive) {
  ContextOptions tight = small_context(GetParam().page_bytes);
  const std::size_t pages = std::max<std::size_t>(16, 12 * GetParam().pages_per_connection);
  tight.receive_pool_bytes = pages * tight.page_bytes;  // four blocks, or what is needed
  tight.large_bytes_max = 2 * mebi;
  Context there(tight);
  Pump pump{&here_, &there};
  Pull pull(there, options());
  std::uint64_t count = 0;
  std::uint64_t wrong = 0;
  pull.on_message([&](const MessageView& message) {
    if (message.size() != mebi || !is_payload(message.bytes(), message.tag())) ++wrong;
    ++count;
  });
  const std::string address = bind(pull);
  std::vector<std::unique_ptr<Push>> pushes;
  for (int i = 0; i < 12; ++i) {
    pushes.push_back(std::make_unique<Push>(here_, options()));
    pushes.back()->connect(address);
  }
  constexpr std::uint64_t each = 3;
  std::vector<std::uint64_t> sent(pushes.size(), 0);
  std::vector<std::vector<std::byte>> next(pushes.size());  // made once, however often it is tried
  ASSERT_SOON(pump, [&] {
    for (std::size_t i = 0; i < pushes.size(); ++i) {
      const std::uint64_t number = each * i + sent[i];
      if (sent[i] == each) continue;
      if (next[i].empty()) next[i] = payload(number, mebi);
      if (pushes[i]->send(next[i], number) != Status::ok) continue;
      ++sent[i];
      next[i].clear();
    }
    return count == each * pushes.size();
  }());
  EXPECT_EQ(wrong, 0U);
}

// A message that the receiver's context could never hold is refused before it is sent. What is read
// in place takes the sender's memory only.
TEST_P(Large, a_message_beyond_the_receivers_memory_is_too_big) {
  ContextOptions tight = small_context(GetParam().page_bytes);
  tight.large_bytes_max = 4 * mebi;
  Context there(tight);
  pump_.add(there);
  {
    Pull pull(there, options());
    Push push(here_, options());
    Inbox inbox(pull);
    Seen at_push(push);
    join(pull, push);
    const std::size_t most = push.peers()[0].message_bytes_max;
    const bool in_place = GetParam().read_in_place;
    EXPECT_EQ(most > 4 * mebi, in_place) << most;
    EXPECT_GT(most, 3 * mebi);
    std::size_t sent = 0;
    const std::size_t largest = in_place ? 4 * mebi : most;
    for (const std::size_t bytes :
         {largest, largest - 1, largest - 200, largest - 300, largest - 400, most + 1, 16 * mebi}) {
      const bool taken = bytes <= most;
      if (bytes > options().message_bytes_max) continue;
      ASSERT_SOON(pump_, push.send(payload(sent, bytes)) == (taken ? Status::ok : Status::too_big));
      if (taken) ++sent;
      ASSERT_SOON(pump_, inbox.size() == sent);
    }
    for (std::size_t i = 0; i < sent; ++i) EXPECT_TRUE(is_payload(inbox[i].bytes, i));
    EXPECT_TRUE(at_push.downs.empty()) << at_push.why();
  }
  pump_.remove(there);
}

ON_EVERY_TRANSPORT_AND_MODE(Large);

}  // namespace
}  // namespace netio::test
