// Acknowledge::released: what the user has kept is not acknowledged, nor what came behind it.
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <netio/blocking.hpp>

#include "conformance/conformance.hpp"
#include "support/relay.hpp"

namespace netio::test {
namespace {

class Released : public Conformance {
 protected:
  [[nodiscard]] static SocketOptions until_released(SocketOptions options) {
    options.acknowledge = Acknowledge::released;
    return options;
  }
  [[nodiscard]] SocketOptions until_released() const { return until_released(options()); }
  // Turns for longer than acknowledgements take.
  void wait() { pump_.run_for(20ms); }
  // A Pull that acknowledges so, and a Push that sends to it.
  void join_both(SocketOptions receiving) {
    pull_ = std::make_unique<Pull>(there_, std::move(receiving));
    push_ = std::make_unique<Push>(here_, options());
    join(*pull_, *push_);
  }
  void join_both() { join_both(until_released()); }
  // And keeps the ten messages that it is sent.
  void keep_ten() {
    join_both();
    pull_->on_message([this](const MessageView& message) { kept_.push_back(message.keep()); });
    send_numbered(*push_, 0, 10, size_of);
    push_->flush();
    ASSERT_SOON(pump_, kept_.size() == 10);
  }

  std::unique_ptr<Pull> pull_;
  std::unique_ptr<Push> push_;
  std::vector<Message> kept_;
};

TEST_P(Released, what_is_kept_holds_acknowledgements_back) {
  join_both();
  std::uint64_t sent = 0;
  bool keeps = true;
  pull_->on_message([&](const MessageView& message) {
    if (keeps && message.tag() % 3 == 1) kept_.push_back(message.keep());
  });
  for (const std::size_t bytes : {0U, 8U, 3'000U, 40'000U, 300'000U}) {
    const std::uint64_t before = sent;
    for (; sent < before + 3; ++sent) {
      ASSERT_EQ(send(*push_, payload(sent, bytes), sent), Status::ok);
    }
    push_->flush();
    ASSERT_SOON(pump_, pull_->books().delivered == sent);
    ASSERT_EQ(kept_.size(), 1U);
    wait();
    // It may have come in one page with the one before it.
    EXPECT_LE(push_->books().acknowledged, before + 1) << bytes;
    EXPECT_GE(push_->books().acknowledged, before) << bytes;
    kept_.clear();
    ASSERT_SOON(pump_, push_->books().acknowledged == sent);
  }
  keeps = false;
  send_numbered(*push_, sent, sent + 100, size_of);
  settle(*push_);
}

TEST_P(Released, a_batch_that_is_kept_is_acknowledged_when_another_thread_releases_it) {
  join_both();
  std::vector<KeptBatch> kept;
  pull_->on_batch([&](const Batch& batch) { kept.push_back(batch.keep()); });
  send_numbered(*push_, 0, 100, size_of);
  push_->flush();
  ASSERT_SOON(pump_, pull_->books().delivered == 100);
  wait();
  EXPECT_EQ(push_->books().acknowledged, 0U);
  std::thread([&kept] { kept.clear(); }).join();
  ASSERT_SOON(pump_, push_->books().acknowledged == 100);
}

TEST_P(Released, an_answer_from_inside_the_call_back_acknowledges_nothing) {
  Pair replier(there_, until_released());
  Pair requester(here_, options());
  join(replier, requester);
  std::vector<Message> kept;
  std::uint64_t answers = 0;
  replier.on_message([&](const MessageView& message) {
    kept.push_back(message.keep());
    EXPECT_EQ(replier.send(message.bytes()), Status::ok);
    replier.flush();
  });
  requester.on_message([&](const MessageView&) { ++answers; });
  ASSERT_EQ(send(requester, payload(0, 100)), Status::ok);
  requester.flush();
  ASSERT_SOON(pump_, answers == 1);
  EXPECT_EQ(requester.books().acknowledged, 0U);
  kept.clear();
  ASSERT_SOON(pump_, requester.books().acknowledged == 1);
}

TEST_P(Released, a_sender_that_closes_hears_what_is_released_after_that) {
  join_both();
  pull_->on_message([&](const MessageView& message) { kept_.push_back(message.keep()); });
  Books last;
  bool closed = false;
  push_->on_closed([&](const Books& books) {
    last = books;
    closed = true;
  });
  send_numbered(*push_, 0, 10, size_of);
  push_->close(soon_max);
  ASSERT_SOON(pump_, kept_.size() == 10);
  wait();
  EXPECT_FALSE(closed);
  kept_.clear();
  ASSERT_SOON(pump_, closed);
  EXPECT_EQ(last.acknowledged, 10U);
}

// Nobody else will have it.
TEST_P(Released, a_receiver_that_closes_acknowledges_what_it_keeps) {
  keep_ten();
  wait();
  EXPECT_EQ(push_->books().acknowledged, 0U);
  pull_->close();
  ASSERT_SOON(pump_, push_->peers_connected() == 0);
  EXPECT_EQ(push_->books().acknowledged, 10U);
}

TEST_P(Released, a_receiver_that_closes_inside_the_call_back_has_that_message) {
  join_both();
  std::uint64_t received = 0;
  pull_->on_message([&](const MessageView& message) {
    kept_.push_back(message.keep());
    if (++received == 5) pull_->close();
  });
  send_numbered(*push_, 0, 10, size_of);
  push_->flush();
  ASSERT_SOON(pump_, received == 5 && push_->peers_connected() == 0);
  EXPECT_EQ(push_->books().acknowledged, 5U);
}

// The memory of those behind it comes home.
TEST_P(Released, one_that_is_kept_for_long_holds_nobody_up) {
  SocketOptions little = until_released();
  little.receive_bytes_max = 4U << 20U;
  join_both(little);
  Message first;
  std::uint64_t received = 0;
  pull_->on_message([&](const MessageView& message) {
    Message kept = message.keep();
    if (received++ == 0) first = std::move(kept);
  });
  send_numbered(*push_, 0, 300, [](std::uint64_t) { return 40'000; });
  push_->flush();
  ASSERT_SOON(pump_, received == 300);
  EXPECT_EQ(push_->books().acknowledged, 0U);
  first = {};
  ASSERT_SOON(pump_, push_->books().acknowledged == 300);
}

TEST_P(Released, a_message_may_be_kept_many_times) {
  join_both();
  pull_->on_message([&](const MessageView& message) {
    for (int i = 0; i < 400; ++i) kept_.push_back(message.keep());
  });
  const std::vector<std::byte> message = payload(0, 3'500);
  ASSERT_EQ(send(*push_, message), Status::ok);
  push_->flush();
  ASSERT_SOON(pump_, kept_.size() == 400);
  wait();
  EXPECT_EQ(push_->books().acknowledged, 0U);
  for (const Message& each : kept_) ASSERT_TRUE(is_payload(each.bytes(), 0));
  kept_.clear();
  ASSERT_SOON(pump_, push_->books().acknowledged == 1);
}

// A reader in another thread may have it before the call-back has returned.
TEST_P(Released, what_is_taken_inside_the_call_back_is_not_released) {
  join_both();
  std::vector<KeptBatch> kept;
  pull_->acknowledge_when_taken([] { return false; });
  pull_->on_batch([&](const Batch& batch) {
    kept.push_back(batch.keep());
    pull_->taken(pull_->place());
  });
  send_numbered(*push_, 0, 10, size_of);
  push_->flush();
  ASSERT_SOON(pump_, pull_->books().delivered == 10);
  wait();
  EXPECT_EQ(push_->books().acknowledged, 0U);
  kept.clear();
  ASSERT_SOON(pump_, push_->books().acknowledged == 10);
}

// Small messages are kept behind each other: there is always one in the memory that the others are
// in.
TEST_P(Released, who_always_keeps_the_latest_acknowledges_those_before_it) {
  join_both();
  Message latest;
  pull_->on_message([&](const MessageView& message) { latest = message.keep(); });
  std::uint64_t sent = 0;
  const auto send_one = [&] {
    EXPECT_EQ(send(*push_, payload(sent, 100), sent), Status::ok);
    push_->flush();
    ++sent;
    pump_.run_for(5ms);
  };
  for (int i = 0; i < 10; ++i) send_one();
  ASSERT_SOON(pump_, (send_one(), push_->books().acknowledged >= 10));
  EXPECT_LT(push_->books().acknowledged, sent);
  EXPECT_LT(sent, 1'000U) << "not when the memory is full";
}

TEST_P(Released, each_of_several_senders_hears_of_its_own) {
  Pull pull(there_, until_released());
  Push kept_back(here_, options());
  Push goes_on(here_, options());
  join(pull, kept_back);
  std::vector<Message> kept;
  pull.on_message([&](const MessageView& message) { kept.push_back(message.keep()); });
  ASSERT_EQ(send(kept_back, payload(0, 40'000)), Status::ok);
  kept_back.flush();
  ASSERT_SOON(pump_, kept.size() == 1);
  pull.on_message([](const MessageView&) {});
  join(pull, goes_on);
  send_numbered(goes_on, 0, 100, size_of);
  settle(goes_on);
  EXPECT_EQ(kept_back.books().acknowledged, 0U);
  kept.clear();
  settle(kept_back);
}

TEST_P(Released, what_a_subscriber_keeps_waits_at_its_publisher) {
  Publish publish(here_, {}, options());
  Subscribe subscribe(there_, {}, until_released());
  std::vector<Message> kept;
  subscribe.on_message([&](const MessageView& message) { kept.push_back(message.keep()); });
  subscribe.subscribe(every_tag);
  subscribe.connect(bind(publish));
  ASSERT_SOON(pump_, !publish.peers().empty() && publish.peers().front().policy);
  ASSERT_EQ(publish.send(payload(7, 100), 7), Status::ok);
  publish.flush();
  ASSERT_SOON(pump_, kept.size() == 1);
  wait();
  EXPECT_EQ(publish.books().acknowledged, 0U);
  kept.clear();
  ASSERT_SOON(pump_, publish.books().acknowledged == 1);
}

TEST_P(Released, a_blocking_receiver_acknowledges_at_its_next_receive) {
  blocking::QueuedPull pull(
      blocking::QueueOptions{small_context(GetParam()), until_released(), 1000});
  Push push(here_, options());
  Pump pump{&here_};
  push.connect(pull.bind(GetParam().address));
  ASSERT_SOON(pump, push.peers_connected() == 1);
  ASSERT_EQ(push.send(payload(0, 40'000)), Status::ok);
  push.flush();
  blocking::Received received;
  ASSERT_SOON(pump, (received = pull.receive(0ns)).status == Status::ok);
  pump.run_for(20ms);
  EXPECT_EQ(push.books().acknowledged, 0U);
  Message kept = received.message.keep();
  EXPECT_EQ(pull.receive(0ns).status, Status::again);
  pump.run_for(20ms);
  EXPECT_EQ(push.books().acknowledged, 0U);
  kept = {};
  ASSERT_SOON(pump, push.books().acknowledged == 1);
}

TEST_P(Released, a_queue_that_is_destroyed_has_acknowledged_what_was_received) {
  auto pull = std::make_unique<blocking::QueuedPull>(
      blocking::QueueOptions{small_context(GetParam()), until_released(), 1000});
  Push push(here_, options());
  Pump pump{&here_};
  push.connect(pull->bind(GetParam().address));
  ASSERT_SOON(pump, push.peers_connected() == 1);
  for (std::uint64_t number = 0; number < 10; ++number) {
    ASSERT_EQ(push.send(payload(number, 100)), Status::ok);
    push.flush();
    ASSERT_SOON(pump, pull->receive(0ns).status == Status::ok);
  }
  std::thread destroyer([&pull] { pull.reset(); });
  EXPECT_SOON(pump, push.peers_connected() == 0);
  destroyer.join();
  EXPECT_EQ(push.books().acknowledged, 10U);
}

ON_EVERY_TRANSPORT_AND_MODE(Released);

class ReleasedOverARelay : public Released {
 protected:
  // The same two, with little large memory at the receiver, and with messages of up to so many
  // bytes.
  void join_with_little_memory(std::size_t large_bytes_max, std::size_t message_bytes_max) {
    ContextOptions little = small_context();
    little.large_bytes_max = large_bytes_max;
    little_.emplace(little);
    pump_.add(*little_);
    SocketOptions receiving = until_released();
    receiving.message_bytes_max = message_bytes_max;
    SocketOptions sending = options();
    sending.message_bytes_max = message_bytes_max;
    pull_ = std::make_unique<Pull>(*little_, receiving);
    push_ = std::make_unique<Push>(here_, sending);
    join(*pull_, *push_);
  }
  void TearDown() override {
    pull_.reset();
    if (little_) pump_.remove(*little_);
    Released::TearDown();
  }

  std::optional<Context> little_;
};

TEST_P(ReleasedOverARelay, what_came_before_a_cut_is_not_sent_again) {
  Pull pull(there_, until_released(keeping()));
  Push push(here_, keeping());
  Relay relay(bind(pull));
  push.connect(relay.address());
  std::vector<Message> kept;
  pull.on_message([&](const MessageView& message) {
    EXPECT_TRUE(is_payload(message.bytes(), kept.size()));
    kept.push_back(message.keep());
  });
  ASSERT_SOON(pump_, push.peers_connected() == 1);
  send_numbered(push, 0, 10, [](std::uint64_t) { return 1'000; });
  push.flush();
  ASSERT_SOON(pump_, kept.size() == 10);
  relay.cut();
  ASSERT_SOON(pump_, push.counters().disconnects == 1 && push.peers_connected() == 1);
  ASSERT_SOON(pump_, push.books().acknowledged == 10);
  ASSERT_EQ(send(push, payload(10, 1'000)), Status::ok);
  push.flush();
  ASSERT_SOON(pump_, kept.size() == 11);
  wait();
  EXPECT_EQ(push.books().acknowledged, 10U);
  kept.clear();
  ASSERT_SOON(pump_, push.books().acknowledged == 11);
  EXPECT_EQ(push.counters().resent, 0U);
}

// A stage between two others: what it passes on is acknowledged once the next one has it.
TEST_P(ReleasedOverARelay, what_is_sent_on_in_place_waits_for_the_next_stage) {
  Push source(here_, options());
  Pull in(there_, until_released());
  Push out(there_, keeping());
  Pull sink(here_, options());
  join(in, source);
  join(sink, out);
  in.on_message([&](const MessageView& message) {
    EXPECT_EQ(out.send(message.keep()), Status::ok);
    out.flush();
  });
  ASSERT_EQ(send(source, payload(0, 300'000)), Status::ok);
  source.flush();
  ASSERT_SOON(pump_, out.books().sent == 1);
  wait();
  EXPECT_EQ(source.books().acknowledged, 0U) << "the last stage takes nothing yet";
  sink.on_message([](const MessageView&) {});
  ASSERT_SOON(pump_, source.books().acknowledged == 1);
}

// A message in parts needs the memory of the one before it.
TEST_P(ReleasedOverARelay, what_was_released_makes_room_for_the_next_large_message) {
  join_with_little_memory(1U << 20U, 700'000);
  pull_->on_message([this](const MessageView& message) { kept_.push_back(message.keep()); });
  for (std::uint64_t number = 0; number < 3; ++number) {
    ASSERT_EQ(send(*push_, payload(number, 600'000)), Status::ok);
    push_->flush();
    ASSERT_SOON(pump_, kept_.size() == 1);
    kept_.clear();
  }
}

// The first of them lies in a block that the connection reads on in, and waits there for memory
// that the second one has.
TEST_P(ReleasedOverARelay, what_was_released_comes_home_in_any_order) {
  join_with_little_memory(256U << 10U, 100'000);
  std::uint64_t received = 0;
  pull_->on_message([&](const MessageView& message) {
    ++received;
    kept_.push_back(message.keep());
  });
  ASSERT_EQ(send(*push_, payload(0, 20'000)), Status::ok);
  for (std::uint64_t number = 1; number < 4; ++number) {
    ASSERT_EQ(send(*push_, payload(number, 70'000)), Status::ok);
  }
  push_->flush();
  wait();
  ASSERT_SOON(pump_, (kept_.clear(), received == 4));
}

// Each has one message in a block of its own time. The memory is that of a few blocks.
TEST_P(ReleasedOverARelay, many_who_keep_one_small_message_each_share_blocks) {
  constexpr std::size_t peers = 8;
  const std::size_t block_bytes = 4 * GetParam().page_bytes;
  SocketOptions little = until_released();
  little.receive_bytes_max = 4 * block_bytes;
  Pull pull(there_, little);
  const std::string address = bind(pull);
  pull.on_message([this](const MessageView& message) { kept_.push_back(message.keep()); });
  std::vector<std::unique_ptr<Push>> pushes;
  for (std::size_t i = 0; i < peers; ++i) {
    Push& push = *pushes.emplace_back(std::make_unique<Push>(here_, options()));
    push.connect(address);
    ASSERT_SOON(pump_, push.peers_connected() == 1);
    ASSERT_EQ(send(push, payload(i, 50)), Status::ok);
    push.flush();
    ASSERT_SOON(pump_, kept_.size() == i + 1);
    pump_.run_for(160ms);
    ASSERT_LE(pull.kept_bytes(), 3 * block_bytes);
  }
  kept_.clear();
  for (const auto& push : pushes) settle(*push);
}

ON_TCP_IN_EVERY_MODE(ReleasedOverARelay);

}  // namespace
}  // namespace netio::test
