// Messages that are written where the wire sends them from, and passed.
#include <algorithm>
#include <vector>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class Loan : public Conformance {
 protected:
  static Message written(Push& push, std::uint64_t number, std::size_t size, Status& status,
                         std::uint64_t tag = 0) {
    Message message = push.allocate(size, status, tag);
    if (status == Status::ok) {
      const std::vector<std::byte> bytes = payload(number, size);
      std::copy(bytes.begin(), bytes.end(), message.writable_bytes().begin());
    }
    return message;
  }
};

TEST_P(Loan, messages_of_every_size_arrive_as_they_were_written) {
  Pull pull(there_, options());
  Push push(here_, options());
  Inbox inbox(pull);
  join(pull, push);
  const std::vector<std::size_t> sizes = {0,    1,      8,      64,     72,      100,  8191,
                                          8192, 65'000, 65'536, 65'537, 300'001, mebi, 5 * mebi};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (const std::uint64_t tag : {std::uint64_t{0}, std::uint64_t{900} + i}) {
      Status status = Status::again;
      Message message;
      ASSERT_SOON(pump_,
                  (message = written(push, i, sizes[i], status, tag)) || status != Status::again);
      ASSERT_EQ(status, Status::ok);
      ASSERT_SOON(pump_, (status = push.send(std::move(message))) != Status::again);
      ASSERT_EQ(status, Status::ok) << sizes[i];
      EXPECT_FALSE(message);
      EXPECT_TRUE(message.writable_bytes().empty());
    }
  }
  ASSERT_SOON(pump_, inbox.size() == 2 * sizes.size());
  for (std::size_t i = 0; i < inbox.size(); ++i) {
    EXPECT_TRUE(is_payload(inbox[i].bytes, i / 2)) << sizes[i / 2];
    EXPECT_EQ(inbox[i].bytes.size(), sizes[i / 2]);
    EXPECT_EQ(inbox[i].tag, i % 2 == 0 ? 0 : 900 + i / 2);
  }
  settle(push);
}

TEST_P(Loan, without_a_peer_there_is_none) {
  Push push(here_, options());
  Status status = Status::ok;
  EXPECT_FALSE(push.allocate(100, status));
  EXPECT_EQ(status, Status::not_connected);
}

TEST_P(Loan, more_than_there_can_be_is_too_big) {
  Pull pull(there_, options());
  Push push(here_, options());
  join(pull, push);
  Status status = Status::ok;
  EXPECT_FALSE(push.allocate(std::size_t{1} << 40U, status));
  EXPECT_EQ(status, Status::too_big);
}

// What is out is bounded; one that is given back is told of.
TEST_P(Loan, exhausted_answers_again_and_then_there_are_more) {
  ContextOptions tight = small_context(GetParam().page_bytes);
  tight.large_bytes_max = 4 * mebi;
  Context here(tight);
  Pump pump{&here, &there_};
  Pull pull(there_, options());
  Push push(here, options());
  Inbox inbox(pull);
  push.connect(bind(pull));
  ASSERT_SOON(pump, push.peers_connected() == 1);
  std::vector<Message> out;
  Status status = Status::ok;
  for (;;) {
    Message message = push.allocate(mebi / 2, status);
    if (status != Status::ok) break;
    out.push_back(std::move(message));
  }
  EXPECT_EQ(status, Status::again);
  EXPECT_GE(out.size(), 2U);
  EXPECT_LE(out.size(), 8U);
  // Others send as before.
  ASSERT_SOON(pump, push.send(payload(0, 1000)) == Status::ok);
  ASSERT_SOON(pump, inbox.size() == 1);
  bool writable = false;
  push.on_writable([&] { writable = true; });
  EXPECT_FALSE(push.allocate(mebi / 2, status));
  out.pop_back();
  ASSERT_SOON(pump, writable);
  EXPECT_TRUE(push.allocate(mebi / 2, status));
}

TEST_P(Loan, a_refused_send_leaves_it_writable) {
  Pull pull(there_, options());
  Push push(here_, options());
  Inbox inbox(pull);
  join(pull, push);
  pull.pause();
  Status status = Status::ok;
  std::uint64_t taken = 0;
  Message message;
  ASSERT_SOON(pump_, [&] {
    message = written(push, taken, 100'000, status);
    if (status != Status::ok) return true;
    status = push.send(std::move(message));
    if (status == Status::ok) ++taken;
    return status == Status::again;
  }());
  if (message) {
    ASSERT_EQ(message.writable_bytes().size(), 100'000U);
    message.writable_bytes()[0] = message.bytes()[0];
  }
  pull.resume();
  ASSERT_SOON(pump_, inbox.size() == taken);
  for (std::size_t i = 0; i < inbox.size(); ++i) EXPECT_TRUE(is_payload(inbox[i].bytes, i));
}

TEST_P(Loan, received_messages_are_not_writable) {
  Pull pull(there_, options());
  Push push(here_, options());
  Message kept;
  pull.on_message([&](const MessageView& message) { kept = message.keep(); });
  join(pull, push);
  Status status = Status::ok;
  ASSERT_SOON(pump_, push.send(written(push, 1, 50'000, status)) == Status::ok);
  ASSERT_SOON(pump_, static_cast<bool>(kept));
  EXPECT_TRUE(kept.writable_bytes().empty());
  EXPECT_TRUE(is_payload(kept.bytes(), 1));
}

ON_EVERY_TRANSPORT_AND_MODE(Loan);

}  // namespace
}  // namespace netio::test
