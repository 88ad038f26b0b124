// Who waits for memory that others hold is told when it is there, whatever wire they came by and
// however they went.
#include <memory>
#include <vector>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

constexpr std::size_t kibi = 1024;

class ShmWaits : public testing::Test {
 protected:
  // Fills the quota of `pull` with kept messages from `push`.
  void fill(Pull& pull, Push& push) {
    for (int refused = 0; refused < 20;) {
      if (push.send(payload(0, 20 * kibi)) == Status::ok) {
        refused = 0;
      } else {
        ++refused;
        pump_.turn();
      }
    }
    ASSERT_GT(pull.counters().starved, 0U);
  }
  void keep(Pull& pull) {
    pull.on_message([this](const MessageView& message) {
      ++received_;
      if (message.size() > 100 && message.tag() == 0) kept_.push_back(message.keep());
      if (message.tag() != 0) ++tagged_;
    });
  }
  static SocketOptions tight() {
    SocketOptions options;
    options.receive_bytes_max = 512 * kibi;
    return options;
  }
  static SocketOptions unbuffered() {
    SocketOptions options;
    options.mode = Mode::unbuffered;
    return options;
  }

  Context first_{small_context()};
  Context second_{small_context()};
  Context there_{small_context()};
  Pump pump_{&first_, &second_, &there_};
  std::vector<Message> kept_;
  std::size_t received_ = 0;
  std::size_t tagged_ = 0;
};

TEST_F(ShmWaits, quota_of_a_peer_that_went_is_for_the_others) {
  Pull pull(there_, tight());
  keep(pull);
  const std::string address = pull.bind("shm://*");
  auto greedy = std::make_unique<Push>(first_, unbuffered());
  Push other(second_, unbuffered());
  greedy->connect(address);
  other.connect(address);
  ASSERT_SOON(pump_, pull.peers_connected() == 2);
  for (std::size_t sent = 0; sent < 512 / 20; ++sent) {
    ASSERT_SOON(pump_, greedy->send(payload(0, 20 * kibi)) == Status::ok);
  }
  ASSERT_SOON(pump_, received_ == 512 / 20);  // all read, and no room for another
  ASSERT_SOON(pump_, other.send(payload(1, 20 * kibi), 7) == Status::ok);
  pump_.run_for(50ms);
  EXPECT_EQ(tagged_, 0U);
  greedy.reset();
  ASSERT_TRUE(pump_.until([&] { return tagged_ == 1; }, "told", 3s));
}

TEST_F(ShmWaits, quota_spent_over_one_wire_and_free_again_is_for_the_others) {
  for (const char* other_place : {"tcp://127.0.0.1:0", "inproc://other"}) {
    SCOPED_TRACE(other_place);
    received_ = tagged_ = 0;
    Pull pull(there_, tight());
    keep(pull);
    const std::string address = pull.bind("shm://*");
    const std::string other_address = pull.bind(other_place);
    Push greedy(first_, unbuffered());
    Push other(second_, unbuffered());
    greedy.connect(address);
    other.connect(other_address);
    ASSERT_SOON(pump_, pull.peers_connected() == 2);
    fill(pull, greedy);
    ASSERT_SOON(pump_, other.send(payload(1, 20 * kibi), 7) == Status::ok);
    pump_.run_for(50ms);
    EXPECT_EQ(tagged_, 0U);
    pull.on_message([this](const MessageView& message) {
      if (message.tag() != 0) ++tagged_;
    });
    kept_.clear();
    EXPECT_TRUE(pump_.until([&] { return tagged_ == 1; }, "told", 3s));
  }
}

// What a link gives up as it begins to wait must not wake it.
TEST_F(ShmWaits, a_link_that_waits_for_quota_does_not_turn_the_loop) {
  for (const char* place : {"shm://*", "tcp://127.0.0.1:0"}) {
    for (const std::size_t bytes : {20 * kibi, 300 * kibi}) {
      SCOPED_TRACE(place);
      Pull pull(there_, tight());
      Push push(first_, unbuffered());
      keep(pull);
      push.connect(pull.bind(place));
      ASSERT_SOON(pump_, push.peers_connected() == 1);
      (void)push.send(payload(0, bytes));
      fill(pull, push);
      pump_.run_for(50ms);
      int worked = 0;
      for (int turn = 0; turn < 500; ++turn) worked += there_.loop().run_once(0ns) ? 1 : 0;
      EXPECT_LT(worked, 20);
      kept_.clear();
    }
  }
}

TEST_F(ShmWaits, the_low_watermark_comes_whoever_sent_what_is_released) {
  Pull pull(there_, tight());
  keep(pull);
  int high = 0;
  int low = 0;
  pull.on_high_watermark([&] { ++high; });
  pull.on_low_watermark([&] { ++low; });
  const std::string address = pull.bind("shm://*");
  Push first(first_, unbuffered());
  Push second(second_, unbuffered());
  first.connect(address);
  ASSERT_SOON(pump_, pull.peers_connected() == 1);
  second.connect(address);
  ASSERT_SOON(pump_, pull.peers_connected() == 2);
  fill(pull, second);
  ASSERT_EQ(high, 1);
  pull.pause();
  pump_.run_for(20ms);
  kept_.clear();
  EXPECT_TRUE(pump_.until([&] { return low == 1; }, "told", 3s));
}

TEST_F(ShmWaits, many_links_that_are_idle_hold_no_memory) {
  ContextOptions few = small_context();
  few.send_pool_bytes = 4 * few.page_bytes;
  Context here(few);
  pump_.add(here);
  Push push(here, unbuffered());
  const std::string address = push.bind("shm://*");
  std::vector<std::unique_ptr<Pull>> pulls;
  std::vector<int> got(6);
  for (int& count : got) {
    pulls.push_back(std::make_unique<Pull>(there_));
    pulls.back()->on_message([&count](const MessageView&) { ++count; });
    pulls.back()->connect(address);
  }
  ASSERT_SOON(pump_, push.peers_connected() == 6);
  for (int i = 0; i < 600; ++i) ASSERT_SOON(pump_, push.send(payload(0, 200)) == Status::ok);
  pump_.run_for(50ms);
  for (const int count : got) EXPECT_GT(count, 0);
}

TEST_F(ShmWaits, a_peer_that_keeps_many_hears_the_good_bye) {
  Context here(ContextOptions{});
  Context there(ContextOptions{});
  pump_.add(here);
  pump_.add(there);
  Pull pull(there);
  Push push(here, unbuffered());
  Seen at_push(push);
  Seen at_pull(pull);
  keep(pull);
  push.connect(pull.bind("shm://*"));
  ASSERT_SOON(pump_, push.peers_connected() == 1);
  for (int refused = 0; refused < 50;) {
    if (push.send(payload(0, 10 * kibi)) == Status::ok) {
      refused = 0;
    } else {
      ++refused;
      pump_.turn();
    }
  }
  push.close(2s);
  ASSERT_SOON(pump_, at_push.closings.size() == 1 && at_pull.downs.size() == 1);
  EXPECT_EQ(at_pull.downs[0].down.reason, DownReason::closed_by_peer) << at_pull.why();
}

// Who is destroyed while its links are going counts them once.
TEST_F(ShmWaits, shares_are_right_after_a_socket_was_destroyed_with_links_that_ended) {
  const auto held = [&] {
    Pull pull(there_);
    Push push(first_);
    keep(pull);
    push.connect(pull.bind("shm://*"));
    EXPECT_SOON(pump_, push.peers_connected() == 1);
    std::size_t sent = 0;
    for (int refused = 0; refused < 50;) {
      if (push.send(payload(0, 60'000)) == Status::ok) {
        ++sent;
        refused = 0;
      } else {
        ++refused;
        pump_.turn();
      }
    }
    kept_.clear();
    return sent;
  };
  const std::size_t before = held();
  auto push = std::make_unique<Push>(first_);
  const std::string address = push->bind("shm://*");
  {
    std::vector<std::unique_ptr<Pull>> pulls;
    for (int i = 0; i < 3; ++i) {
      pulls.push_back(std::make_unique<Pull>(there_));
      pulls.back()->on_message([](const MessageView&) {});
      pulls.back()->connect(address);
    }
    ASSERT_SOON(pump_, push->peers_connected() == 3);
    push->on_down([&](const PeerInfo&, const Down&) { push.reset(); });
  }
  ASSERT_SOON(pump_, push == nullptr);
  EXPECT_EQ(held(), before);
}

// A link has what others that are gone leave.
TEST_F(ShmWaits, who_had_its_share_is_told_when_there_are_fewer) {
  Pull pull(there_);
  Push push(first_, unbuffered());
  keep(pull);
  push.connect(pull.bind("shm://*"));
  Pull idle(second_);
  idle.on_message([](const MessageView&) {});
  auto other = std::make_unique<Push>(first_);
  other->connect(idle.bind("shm://*"));
  ASSERT_SOON(pump_, push.peers_connected() == 1 && other->peers_connected() == 1);
  for (int refused = 0; refused < 50;) {
    if (push.send(payload(0, 60'000)) == Status::ok) {
      refused = 0;
    } else {
      ++refused;
      pump_.turn();
    }
  }
  bool writable = false;
  push.on_writable([&] { writable = true; });
  ASSERT_EQ(push.send(payload(0, 60'000)), Status::again);
  pump_.run_for(20ms);
  ASSERT_FALSE(writable);
  other.reset();
  EXPECT_TRUE(pump_.until([&] { return writable; }, "told", 3s));
}

TEST_F(ShmWaits, a_bound_that_nobody_reaches_is_no_trouble) {
  ContextOptions endless = small_context();
  endless.large_bytes_max = SIZE_MAX;
  Context here(endless);
  pump_.add(here);
  Pull pull(there_);
  Push push(here);
  keep(pull);
  push.connect(pull.bind("shm://*"));
  ASSERT_TRUE(pump_.until([&] { return push.peers_connected() == 1; }, "up", 3s));
  ASSERT_SOON(pump_, push.send(payload(0, 1'000'000), 7) == Status::ok);
  ASSERT_SOON(pump_, tagged_ == 1);
}

// Large ones lie in another part of the arena than pages.
TEST_F(ShmWaits, who_keeps_large_messages_holds_up_nobody_else) {
  ContextOptions little = small_context();
  little.large_bytes_max = 16 * kibi * kibi;
  Context here(little);
  pump_.add(here);
  Push push(here, unbuffered());
  const std::string address = push.bind("shm://*");
  Pull greedy(there_);
  keep(greedy);
  Pull good(second_);
  std::size_t got = 0;
  good.on_message([&](const MessageView&) { ++got; });
  greedy.connect(address);
  good.connect(address);
  ASSERT_SOON(pump_, push.peers_connected() == 2);
  ASSERT_SOON(pump_, [&] {
    (void)push.send(payload(0, 500'000));
    return got == 100;
  }());
  EXPECT_LT(kept_.size(), 20U);
}

}  // namespace
}  // namespace netio::test
