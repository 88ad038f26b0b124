// Writing a message in place: reserve() and commit(), and every wrong use of them.
#include <cstring>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class Reserve : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (IsSkipped()) return;
    join(pull_, push_);
  }

  Pull pull_{there_};
  Push push_{here_};
  Inbox inbox_{pull_};
};

TEST_P(Reserve, reserved_room_is_sent_in_place) {
  constexpr std::uint64_t count = 3000;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t size = i * 37 % 5000;
    Status status = Status::again;
    std::span<std::byte> room;
    ASSERT_SOON(pump_, [&] {
      room = push_.reserve(size, status);
      return status != Status::again;
    }());
    ASSERT_EQ(status, Status::ok);
    ASSERT_GE(room.size(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(room.data()) % 8, 0U);
    fill_payload(room.first(size), i);
    ASSERT_EQ(push_.commit(size, i % 4), Status::ok);
  }
  ASSERT_SOON(pump_, inbox_.size() == count);
  for (std::uint64_t i = 0; i < count; ++i) {
    ASSERT_EQ(inbox_[i].bytes.size(), i * 37 % 5000);
    ASSERT_TRUE(is_payload(inbox_[i].bytes, i)) << i;
    ASSERT_EQ(inbox_[i].tag, i % 4);
  }
  settle(push_);
  EXPECT_EQ(push_.books().sent, count);
}

TEST_P(Reserve, less_than_reserved_may_be_sent) {
  Status status = Status::again;
  for (const std::size_t used : {0U, 1U, 8U, 999U, 1000U}) {
    const std::span<std::byte> room = push_.reserve(1000, status);
    ASSERT_EQ(status, Status::ok);
    fill_payload(room.first(used), used);
    ASSERT_EQ(push_.commit(used, used), Status::ok);
  }
  ASSERT_EQ(push_.send("after"), Status::ok);
  ASSERT_SOON(pump_, inbox_.size() == 6);
  const std::vector<std::size_t> sizes = {0, 1, 8, 999, 1000};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_EQ(inbox_[i].bytes.size(), sizes[i]);
    EXPECT_TRUE(is_payload(inbox_[i].bytes, sizes[i]));
    EXPECT_EQ(inbox_[i].tag, sizes[i]);
  }
  EXPECT_EQ(push_.books().sent, 6U);
}

TEST_P(Reserve, a_commit_without_a_reserve_is_invalid) {
  EXPECT_EQ(push_.commit(8), Status::invalid);
  Status status = Status::again;
  (void)push_.reserve(8, status);
  ASSERT_EQ(status, Status::ok);
  ASSERT_EQ(push_.commit(8), Status::ok);
  EXPECT_EQ(push_.commit(8), Status::invalid) << "the second of one reserve";
  EXPECT_EQ(push_.books().sent, 1U);
}

TEST_P(Reserve, a_commit_of_more_than_reserved_is_too_big_and_sends_nothing) {
  Status status = Status::again;
  (void)push_.reserve(16, status);
  ASSERT_EQ(status, Status::ok);
  EXPECT_EQ(push_.commit(17), Status::too_big);
  EXPECT_EQ(push_.books().sent, 0U);
  ASSERT_EQ(push_.send("after"), Status::ok);
  ASSERT_SOON(pump_, inbox_.size() == 1);
  EXPECT_EQ(inbox_[0].bytes.size(), 5U);
}

TEST_P(Reserve, another_call_takes_the_reserved_room_back) {
  Status status = Status::again;
  (void)push_.reserve(100, status);
  ASSERT_EQ(status, Status::ok);
  ASSERT_EQ(push_.send("between"), Status::ok);
  EXPECT_EQ(push_.commit(100), Status::invalid);

  // A second reserve replaces the first.
  const std::span<std::byte> first = push_.reserve(100, status);
  ASSERT_EQ(status, Status::ok);
  std::memset(first.data(), 0x11, first.size());
  const std::span<std::byte> second = push_.reserve(20, status);
  ASSERT_EQ(status, Status::ok);
  fill_payload(second.first(20), 4);
  ASSERT_EQ(push_.commit(20), Status::ok);
  ASSERT_SOON(pump_, inbox_.size() == 2);
  EXPECT_TRUE(is_payload(inbox_[1].bytes, 4));
  EXPECT_EQ(inbox_[1].bytes.size(), 20U);
}

TEST_P(Reserve, the_end_of_the_turn_takes_the_reserved_room_back) {
  Status status = Status::again;
  (void)push_.reserve(100, status);
  ASSERT_EQ(status, Status::ok);
  pump_.turns(2);
  EXPECT_EQ(push_.commit(100), Status::invalid);
  ASSERT_EQ(push_.send("after"), Status::ok);
  ASSERT_SOON(pump_, inbox_.size() == 1);
  EXPECT_EQ(push_.books().sent, 1U);
}

TEST_P(Reserve, what_is_never_committed_is_never_sent) {
  Status status = Status::again;
  ASSERT_EQ(push_.send("before"), Status::ok);
  (void)push_.reserve(100, status);
  ASSERT_EQ(status, Status::ok);
  push_.flush();
  pump_.run_for(20ms);
  ASSERT_EQ(push_.send("after"), Status::ok);
  ASSERT_SOON(pump_, inbox_.size() == 2);
  settle(push_);
  EXPECT_EQ(push_.books().sent, 2U);
}

TEST_P(Reserve, what_is_reserved_and_not_committed_does_not_hold_up_close) {
  for (const bool behind_another : {false, true}) {
    Push push(here_);
    Seen at_push(push);
    join(pull_, push);
    if (behind_another) {
      ASSERT_EQ(push.send("before"), Status::ok);
    }
    Status status = Status::again;
    (void)push.reserve(100, status);
    ASSERT_EQ(status, Status::ok);
    const auto start = std::chrono::steady_clock::now();
    push.close(20s);
    EXPECT_EQ(push.commit(100), Status::closed);
    ASSERT_SOON(pump_, at_push.closings.size() == 1);
    EXPECT_LT(std::chrono::steady_clock::now() - start, 10s) << "waited for its linger";
    EXPECT_EQ(at_push.closings[0].sent, behind_another ? 1U : 0U);
    EXPECT_EQ(at_push.closings[0].acknowledged, behind_another ? 1U : 0U);
  }
  EXPECT_EQ(inbox_.size(), 1U);
}

// The room goes with the peer it was in, one that dialed as well as one that was dialed.
TEST_P(Reserve, what_is_reserved_goes_with_its_peer) {
  for (const bool dialed : {false, true}) {
    Push push(here_, patient({}));
    Seen at_push(push);
    auto pull = std::make_unique<Pull>(there_);
    if (dialed) {
      join(*pull, push);
    } else {
      join(push, *pull);
    }
    ASSERT_EQ(push.send("before"), Status::ok);
    push.on_down(
        [&](const PeerInfo&, const Down&) { EXPECT_EQ(push.commit(100), Status::invalid); });
    Status status = Status::again;
    (void)push.reserve(100, status);
    ASSERT_EQ(status, Status::ok);
    pull.reset();
    ASSERT_SOON(pump_, push.peers_connected() == 0);
    EXPECT_EQ(push.commit(100), Status::invalid);
    EXPECT_EQ(push.send("after"), Status::not_connected);
    EXPECT_TRUE(push.reserve(100, status).empty());
    EXPECT_EQ(status, Status::not_connected);
    EXPECT_EQ(push.books().sent, 1U);
    EXPECT_TRUE(add_up(push.books()));
  }
}

TEST_P(Reserve, more_than_a_page_is_too_big_to_reserve) {
  Status status = Status::ok;
  const std::span<std::byte> room = push_.reserve(GetParam().page_bytes, status);
  EXPECT_EQ(status, Status::too_big);
  EXPECT_TRUE(room.empty());
  EXPECT_EQ(push_.commit(1), Status::invalid);
  // The same size sent whole is split.
  ASSERT_EQ(push_.send(payload(1, GetParam().page_bytes)), Status::ok);
  ASSERT_SOON(pump_, inbox_.size() == 1);
}

TEST_P(Reserve, more_than_message_bytes_max_is_too_big) {
  SocketOptions small;
  small.message_bytes_max = 100;
  Push push(here_, small);
  join(pull_, push);
  Status status = Status::ok;
  EXPECT_TRUE(push.reserve(101, status).empty());
  EXPECT_EQ(status, Status::too_big);
  EXPECT_FALSE(push.reserve(100, status).empty());
  EXPECT_EQ(status, Status::ok);
}

TEST_P(Reserve, without_a_peer_it_is_not_connected_and_after_close_closed) {
  Push lonely(here_);
  Status status = Status::ok;
  EXPECT_TRUE(lonely.reserve(8, status).empty());
  EXPECT_EQ(status, Status::not_connected);
  EXPECT_EQ(lonely.commit(8), Status::invalid);
  lonely.close();
  EXPECT_TRUE(lonely.reserve(8, status).empty());
  EXPECT_EQ(status, Status::closed);
}

TEST_P(Reserve, unbuffered_sockets_have_no_page_to_reserve_in) {
  SocketOptions options;
  options.mode = Mode::unbuffered;
  Push push(here_, options);
  join(pull_, push);
  Status status = Status::ok;
  EXPECT_TRUE(push.reserve(8, status).empty());
  EXPECT_EQ(status, Status::invalid);
  EXPECT_EQ(push.commit(8), Status::invalid);
}

TEST_P(Reserve, a_full_peer_answers_again_and_takes_nothing) {
  pull_.pause();
  Status status = Status::ok;
  std::uint64_t taken = 0;
  for (int refused = 0; refused < 20;) {
    const std::span<std::byte> room = push_.reserve(3000, status);
    if (status == Status::ok) {
      fill_payload(room.first(3000), taken);
      ASSERT_EQ(push_.commit(3000), Status::ok);
      ++taken;
      refused = 0;
    } else {
      ASSERT_EQ(status, Status::again);
      ASSERT_TRUE(room.empty());
      ++refused;
      pump_.turn();
    }
  }
  EXPECT_EQ(push_.books().sent, taken);
  pull_.resume();
  ASSERT_SOON(pump_, inbox_.size() == taken);
  for (std::uint64_t i = 0; i < taken; ++i) ASSERT_TRUE(is_payload(inbox_[i].bytes, i));
}

ON_EVERY_TRANSPORT(Reserve);

}  // namespace
}  // namespace netio::test
