// A ring of a fabric's address: addresses that make no sense, a peer without a ring, and users who
// keep what lies in it.
#ifdef NETIO_WITH_FABRIC

#include <string>
#include <thread>
#include <vector>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class Ring : public testing::Test {
 protected:
  void join(const std::string& bound, const std::string& dialed_options, std::size_t slots_kept) {
    const std::string at = pull_.bind("ofi+tcp://127.0.0.1:0" + bound);
    keeps_ = slots_kept;
    pull_.on_message([this](const MessageView& message) {
      wrong_ += is_payload(message.bytes(), received_) ? 0U : 1U;
      ++received_;
      if (kept_.size() < keeps_) kept_.push_back(message.keep());
    });
    push_.on_up([this](const PeerInfo& info) { up_ = info; });
    push_.connect(at + dialed_options);
    ASSERT_SOON(pump_, !up_.wire.empty());
  }
  Context here_;
  Context there_;
  Pump pump_{&here_, &there_};
  SocketOptions unbuffered_{.mode = Mode::unbuffered};
  Pull pull_{there_, unbuffered_};
  Push push_{here_, unbuffered_};
  PeerInfo up_;
  std::uint64_t received_ = 0;
  std::uint64_t wrong_ = 0;
  std::size_t keeps_ = 0;
  std::vector<Message> kept_;
};

TEST_F(Ring, addresses_that_make_no_sense_are_refused_with_advice) {
  for (const char* const options :
       {"?engine=fast", "?engine=ring&slots=0", "?engine=ring&slots=501", "?engine=ring&slots=-1",
        "?engine=ring&slot_bytes=1", "?engine=ring&slot_bytes=0", "?engine=ring&slot_bytes=2GiB",
        "?engine=ring&slot_bytes=64kB", "?slots=8", "?slot_bytes=64KiB", "?engine=ring&window=64",
        "?engine=messages&slots=8", "?ring=1"}) {
    SCOPED_TRACE(options);
    EXPECT_THROW((void)pull_.bind(std::string("ofi+tcp://127.0.0.1:0") + options), AddressError);
    EXPECT_THROW(push_.connect(std::string("ofi+tcp://127.0.0.1:1") + options), AddressError);
  }
}

TEST_F(Ring, is_what_the_connection_goes_over_where_both_sides_have_one) {
  join("?engine=ring", "?engine=ring&slots=3&slot_bytes=8KiB", 0);
  EXPECT_EQ(up_.wire, "ofi+tcp ring");
  EXPECT_EQ(up_.wire_reason, "");
}

TEST_F(Ring, is_not_used_with_a_peer_that_has_none_and_the_reason_is_told) {
  join("", "?engine=ring", 0);
  EXPECT_EQ(up_.wire, "ofi+tcp");
  EXPECT_NE(up_.wire_reason.find("the other side has no ring"), std::string::npos)
      << up_.wire_reason;
  ASSERT_EQ(push_.send(payload(0, 100)), Status::ok);
  ASSERT_SOON(pump_, received_ == 1);
}

TEST_F(Ring, of_one_slot_carries_everything_in_order) {
  join("?engine=ring&slots=1&slot_bytes=4KiB", "?engine=ring&slots=1&slot_bytes=4KiB", 0);
  constexpr std::uint64_t count = 2000;
  std::uint64_t sent = 0;
  ASSERT_SOON(pump_, [&] {
    while (sent < count && push_.send(payload(sent, 8 + sent * 7 % 20'000)) == Status::ok) ++sent;
    return received_ == count;
  }());
  EXPECT_EQ(wrong_, 0U);
}

// A message that came otherwise would have ended the connection.
TEST_F(Ring, has_every_page_written_into_it) {
  join("?engine=ring&slots=4", "?engine=ring", 0);
  const std::uint64_t before = push_.counters().ring_writes;
  for (std::uint64_t sent = 0; sent < 100; ++sent) {
    ASSERT_SOON(pump_, push_.send(payload(sent, sent % 2 == 0 ? 100 : 60'000)) == Status::ok);
    ASSERT_SOON(pump_, received_ == sent + 1);
  }
  EXPECT_EQ(push_.counters().pages_sent, 100U);
  EXPECT_EQ(push_.counters().ring_writes - before, 100U);
  push_.close(5s);  // and afterwards
  ASSERT_SOON(pump_, push_.closed());
  EXPECT_EQ(push_.counters().ring_writes - before, 100U);
  EXPECT_EQ(wrong_, 0U);
}

// Half of the slots may stay with the user for as long as they like.
TEST_F(Ring, goes_on_while_half_of_it_is_kept_and_what_is_kept_stays_as_it_was) {
  join("?engine=ring&slots=8", "?engine=ring&slots=8", 4);
  constexpr std::uint64_t count = 3000;
  std::uint64_t sent = 0;
  ASSERT_SOON(pump_, [&] {
    while (sent < count && push_.send(payload(sent, 40'000)) == Status::ok) ++sent;
    return received_ == count;
  }());
  EXPECT_EQ(wrong_, 0U);
  EXPECT_EQ(kept_.size(), 4U);
  for (std::uint64_t i = 0; i < kept_.size(); ++i)
    EXPECT_TRUE(is_payload(kept_[i].bytes(), i)) << i;
}

// Who keeps everything holds the sender back; what is let go of, in any order, lets it go on.
TEST_F(Ring, that_is_kept_whole_holds_the_sender_back_until_some_is_let_go_of) {
  join("?engine=ring&slots=8", "?engine=ring&slots=8", 8);
  std::uint64_t sent = 0;
  const auto send_on = [&] {
    while (push_.send(payload(sent, 40'000)) == Status::ok) ++sent;
  };
  ASSERT_SOON(pump_, (send_on(), received_ == 8));
  for (int i = 0; i < 50; ++i) {
    send_on();
    pump_.turns(4);
  }
  EXPECT_EQ(received_, 8U);
  EXPECT_GT(sent, 8U);
  for (const std::size_t next : {5U, 0U, 3U}) {
    const std::uint64_t before = received_;
    kept_[next] = Message();
    ASSERT_SOON(pump_, (send_on(), received_ > before + 20));
  }
  keeps_ = 0;
  kept_.clear();
  const std::uint64_t all = sent;
  ASSERT_SOON(pump_, received_ >= all);
  EXPECT_EQ(wrong_, 0U);
}

// What is kept outlives the connection, and both sockets.
TEST_F(Ring, that_is_gone_leaves_what_was_kept) {
  {
    Context there;
    Pump pump{&here_, &there};
    Pull pull(there, unbuffered_);
    pull.on_message([this](const MessageView& message) { kept_.push_back(message.keep()); });
    push_.connect(pull.bind("ofi+tcp://127.0.0.1:0?engine=ring") + "?engine=ring");
    std::uint64_t sent = 0;
    ASSERT_SOON(pump, [&] {
      if (sent < 5 && push_.send(payload(sent, 40'000)) == Status::ok) ++sent;
      return kept_.size() == 5;
    }());
  }
  for (std::uint64_t i = 0; i < kept_.size(); ++i)
    EXPECT_TRUE(is_payload(kept_[i].bytes(), i)) << i;
}

// It says once that it stands still for want of memory, however long that takes.
TEST_F(Ring, that_is_kept_whole_counts_as_starved) {
  join("?engine=ring&slots=8", "?engine=ring&slots=8", 8);
  std::uint64_t sent = 0;
  ASSERT_SOON(pump_, [&] {
    if (push_.send(payload(sent, 40'000)) == Status::ok) ++sent;
    return pull_.counters().starved != 0;
  }());
  EXPECT_EQ(received_, 8U);
  kept_.clear();
  ASSERT_SOON(pump_, received_ == sent);
}

// What is released on another thread lets the rest come, and the end after it.
TEST_F(Ring, of_a_connection_that_has_ended_gives_all_of_it_as_the_user_releases) {
  Context there;
  Pump pump{&here_, &there};
  Pull pull(there, {.mode = Mode::unbuffered, .receive_bytes_max = std::size_t{1} << 20U});
  std::size_t downs = 0;
  pull.on_down([&](const PeerInfo&, const Down&) { ++downs; });
  pull.on_message([this](const MessageView& message) {
    ++received_;
    kept_.push_back(message.keep());
  });
  const std::string at = pull.bind("ofi+tcp://127.0.0.1:0?engine=ring&slots=32");
  {
    Push push(here_, unbuffered_);
    push.connect(at + "?engine=ring");
    std::uint64_t sent = 0;
    ASSERT_SOON(pump, [&] {
      if (sent < 30 && push.send(payload(sent, 40'000)) == Status::ok) ++sent;
      return pull.counters().bytes_arrived > 30 * 40'000;
    }());
  }
  EXPECT_LT(received_, 30U) << "the quota is spent before";
  ASSERT_SOON(pump, [&] {
    for (; !kept_.empty(); kept_.pop_back()) {
      std::thread([message = std::move(kept_.back())]() mutable { message = Message(); }).join();
    }
    return downs == 1;
  }());
  EXPECT_EQ(received_, 30U);
}

TEST_F(Ring, takes_copies_of_many_large_pages_in_one_write_or_several) {
  ContextOptions large;
  large.page_bytes = std::size_t{9} << 20U;  // more than the word of a write can say
  large.send_pool_bytes = std::size_t{72} << 20U;
  large.receive_pool_bytes = std::size_t{144} << 20U;
  Context here(large);
  Context there(large);
  Pump pump{&here, &there};
  SocketOptions options{.mode = Mode::unbuffered,
                        .send_bytes_max = std::size_t{64} << 20U,
                        .receive_bytes_max = std::size_t{256} << 20U};
  Pull pull(there, options);
  Push push(here, options);
  pull.on_message([this](const MessageView& message) {
    wrong_ += is_payload(message.bytes(), received_) ? 0U : 1U;
    ++received_;
  });
  push.on_up([this](const PeerInfo& info) { up_ = info; });
  const std::string at = pull.bind("ofi+tcp://127.0.0.1:0?engine=ring&slots=1&slot_bytes=12MiB");
  push.connect(at + "?engine=ring");
  ASSERT_SOON(pump, !up_.wire.empty());
  EXPECT_EQ(up_.wire, "ofi+tcp ring") << up_.wire_reason;
  std::uint64_t sent = 0;  // without a turn of the loop, so that they are gathered
  while (sent < 30 && push.send(payload(sent, 1'000'000)) == Status::ok) ++sent;
  ASSERT_GT(sent, 16U);
  ASSERT_SOON(pump, received_ == sent);
  EXPECT_EQ(wrong_, 0U);
}

// One message keeps the memory of a whole ring: it stays charged, and at last there are no new
// ones.
TEST_F(Ring, of_connections_that_have_gone_are_bounded) {
  ContextOptions small;
  small.receive_pool_bytes = std::size_t{8} << 20U;
  Context there(small);
  Pump pump{&here_, &there};
  Pull pull(there, unbuffered_);
  std::size_t downs = 0;
  std::vector<PeerInfo> ups;
  pull.on_up([&](const PeerInfo& info) { ups.push_back(info); });
  pull.on_down([&](const PeerInfo&, const Down&) { ++downs; });
  pull.on_message([this](const MessageView& message) {
    ++received_;
    kept_.push_back(message.keep());
  });
  const std::string at = pull.bind("ofi+tcp://127.0.0.1:0?engine=ring&slots=64&slot_bytes=64KiB");
  const auto come_and_go = [&] {
    Push push(here_, unbuffered_);
    push.connect(at + "?engine=ring");
    const std::uint64_t before = received_;
    ASSERT_SOON(pump, push.send(payload(before, 60'000)) == Status::ok);
    ASSERT_SOON(pump, received_ == before + 1);
    push.close(5s);
    ASSERT_SOON(pump, push.closed());
    ASSERT_SOON(pump, downs == ups.size());
  };
  for (int i = 0; i < 4; ++i) ASSERT_NO_FATAL_FAILURE(come_and_go());
  EXPECT_EQ(ups.front().wire, "ofi+tcp ring");
  EXPECT_EQ(ups.back().wire, "ofi+tcp");
  EXPECT_NE(ups.back().wire_reason.find("connections that have gone"), std::string::npos)
      << ups.back().wire_reason;
  EXPECT_GT(pull.fill(), 0.0);
  for (std::size_t i = 0; i < kept_.size(); ++i) EXPECT_TRUE(is_payload(kept_[i].bytes(), i)) << i;
  kept_.clear();
  pump.turns(4);
  ASSERT_NO_FATAL_FAILURE(come_and_go());
  EXPECT_EQ(ups.back().wire, "ofi+tcp ring") << ups.back().wire_reason;
}

}  // namespace
}  // namespace netio::test

#endif
