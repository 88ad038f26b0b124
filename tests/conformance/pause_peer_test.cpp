// One peer is held back, the others go on, and nothing of it comes until it is resumed.
#include <map>
#include <memory>
#include <vector>

#include "conformance/publishing.hpp"
#include "support/relay.hpp"

namespace netio::test {
namespace {

class PausePeer : public Publishing {
 protected:
  // Of each sender the next number, each message in order and whole; none while it is held.
  struct Checked {
    explicit Checked(Receiving& of) : socket(of) {
      socket.on_message([this](const MessageView& message) { take(message); });
    }
    void take(const MessageView& message) {
      const std::uint64_t id = socket.sender_id();
      if (held[id] || !is_payload(message.bytes(), next[id]++)) ++wrong;
      if (after) after(id);
    }
    void pause(std::uint64_t id) {
      EXPECT_EQ(socket.pause_peer(id), Status::ok);
      held[id] = true;
    }
    void resume(std::uint64_t id) {
      held[id] = false;
      EXPECT_EQ(socket.resume_peer(id), Status::ok);
    }
    Receiving& socket;
    std::function<void(std::uint64_t id)> after;
    std::map<std::uint64_t, std::uint64_t> next;
    std::map<std::uint64_t, bool> held;
    std::uint64_t wrong = 0;
  };
  // Two senders of one receiver; their ids there are 1 and 2.
  void SetUp() override {
    Publishing::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    pull_.emplace(there_, options());
    checked_.emplace(*pull_);
    for (std::uint64_t id = 1; id <= 2; ++id) {
      pushes_.push_back(std::make_unique<Push>(here_, options()));
      join(*pull_, *pushes_.back());
    }
    ASSERT_EQ(pull_->peers().back().id, 2U);
  }
  void send_small(std::uint64_t id, std::uint64_t first, std::uint64_t last) {
    send_numbered(*pushes_[id - 1], first, last, [](std::uint64_t) { return std::size_t{20}; });
  }

  std::optional<Pull> pull_;
  std::optional<Checked> checked_;
  std::vector<std::unique_ptr<Push>> pushes_;
};

TEST_P(PausePeer, alone_is_held_back_and_the_others_go_on) {
  checked_->pause(1);
  EXPECT_TRUE(pull_->peers()[0].paused);
  EXPECT_FALSE(pull_->peers()[1].paused || pull_->paused());
  const std::uint64_t taken = send_until_again(*pushes_[0], 3000);
  ASSERT_GT(taken, 0U);
  for (std::uint64_t number = 0; number < 3000; ++number) {
    ASSERT_EQ(Conformance::send(*pushes_[1], payload(number, 3000)), Status::ok);
  }
  settle(*pushes_[1]);
  EXPECT_EQ(checked_->next[2], 3000U);
  EXPECT_EQ(checked_->next[1], 0U);
  EXPECT_EQ(pushes_[0]->books().acknowledged, 0U);
  checked_->resume(1);
  EXPECT_EQ(checked_->next[1], 0U) << "delivered from inside resume_peer()";
  ASSERT_SOON(pump_, checked_->next[1] == taken);
  settle(*pushes_[0]);
  EXPECT_EQ(checked_->wrong, 0U);
}

// Also in the middle of a page, which has many messages behind this one.
TEST_P(PausePeer, inside_its_own_message_takes_effect_behind_it) {
  checked_->after = [this](std::uint64_t id) {
    if (id == 1 && checked_->next[1] % 7 == 0) checked_->pause(1);
  };
  for (std::uint64_t id = 1; id <= 2; ++id) send_small(id, 0, 100);
  ASSERT_SOON(pump_, checked_->next[2] == 100);
  for (std::uint64_t stop = 7; stop < 100; stop += 7) {
    ASSERT_SOON(pump_, checked_->next[1] == stop);
    pump_.turns(20);
    ASSERT_EQ(checked_->next[1], stop) << "delivered while paused";
    send_small(2, checked_->next[2], checked_->next[2] + 10);
    settle(*pushes_[1]);
    ASSERT_EQ(checked_->next[1], stop);
    checked_->resume(1);
  }
  ASSERT_SOON(pump_, checked_->next[1] == 100);
  EXPECT_EQ(checked_->wrong, 0U);
}

TEST_P(PausePeer, inside_a_message_of_another_takes_effect_at_once) {
  checked_->after = [this](std::uint64_t id) {
    if (!checked_->held[3 - id] && checked_->next[id] % 5 == 0) checked_->pause(3 - id);
  };
  for (std::uint64_t id = 1; id <= 2; ++id) send_small(id, 0, 200);
  ASSERT_SOON(pump_, [&] {
    for (std::uint64_t id = 1; id <= 2; ++id) {
      if (checked_->held[id] && checked_->next[3 - id] % 5 == 0) checked_->resume(id);
    }
    return checked_->next[1] == 200 && checked_->next[2] == 200;
  }());
  EXPECT_EQ(checked_->wrong, 0U);
}

TEST_P(PausePeer, and_resumed_inside_one_message_changes_nothing) {
  checked_->after = [this](std::uint64_t id) {
    for (std::uint64_t other = 1; other <= 2; ++other) {
      checked_->pause(other);
      if (checked_->next[id] % 3 == 0) {
        pull_->pause();
        pull_->resume();
      }
      checked_->resume(other);
    }
  };
  for (std::uint64_t id = 1; id <= 2; ++id) {
    send_numbered(*pushes_[id - 1], 0, 500,
                  [](std::uint64_t i) { return i % 100 ? 30U : 90'000U; });
  }
  ASSERT_SOON(pump_, checked_->next[1] == 500 && checked_->next[2] == 500);
  EXPECT_EQ(checked_->wrong, 0U);
}

TEST_P(PausePeer, and_the_whole_socket_are_paused_independently) {
  checked_->pause(1);
  pull_->pause();
  for (std::uint64_t id = 1; id <= 2; ++id) send_small(id, 0, 10);
  pump_.turns(50);
  EXPECT_EQ(checked_->next[1] + checked_->next[2], 0U);
  pull_->resume();
  ASSERT_SOON(pump_, checked_->next[2] == 10);
  pump_.turns(50);
  EXPECT_EQ(checked_->next[1], 0U) << "the socket's resume is not the peer's";
  pull_->pause();
  checked_->resume(1);
  pump_.turns(50);
  EXPECT_EQ(checked_->next[1], 0U) << "the peer's resume is not the socket's";
  pull_->resume();
  ASSERT_SOON(pump_, checked_->next[1] == 10);
  // The same in the middle of a page: the socket goes on, the peer at hand does not.
  checked_->after = [this](std::uint64_t id) {
    if (id != 1 || checked_->next[1] != 13) return;
    checked_->pause(1);
    pull_->pause();
    pull_->resume();
  };
  for (std::uint64_t id = 1; id <= 2; ++id) send_small(id, 10, 20);
  ASSERT_SOON(pump_, checked_->next[2] == 20 && checked_->next[1] == 13);
  pump_.turns(50);
  EXPECT_EQ(checked_->next[1], 13U);
  checked_->resume(1);
  ASSERT_SOON(pump_, checked_->next[1] == 20);
  EXPECT_EQ(checked_->wrong, 0U);
}

TEST_P(PausePeer, that_is_not_there_is_said) {
  EXPECT_EQ(pull_->pause_peer(0), Status::not_connected);
  EXPECT_EQ(pull_->pause_peer(3), Status::not_connected);
  EXPECT_EQ(pull_->resume_peer(1), Status::ok) << "it was not paused";
  checked_->pause(2);
  checked_->pause(2);
  pushes_[1].reset();
  // The end of a peer that is paused is seen on some wires only once it is resumed.
  ASSERT_SOON(pump_, [&] {
    (void)pull_->resume_peer(2);
    return pull_->peers_connected() == 1;
  }());
  ASSERT_SOON(pump_, pull_->pause_peer(2) == Status::not_connected);
}

TEST_P(PausePeer, that_closes_is_read_to_its_end_once_it_is_resumed) {
  Seen at_push(*pushes_[0]);
  checked_->pause(1);
  send_small(1, 0, 50);
  pushes_[0]->close(20s);
  pump_.run_for(50ms);
  EXPECT_TRUE(at_push.closings.empty()) << "nothing was acknowledged so far";
  checked_->resume(1);
  ASSERT_SOON(pump_, at_push.closings.size() == 1);
  EXPECT_EQ(at_push.closings[0].acknowledged, 50U);
  EXPECT_EQ(checked_->wrong, 0U);
}

TEST_P(PausePeer, does_not_keep_its_socket_from_closing) {
  Seen at_pull(*pull_);
  checked_->pause(1);
  send_small(1, 0, 50);
  pump_.turns(20);
  const auto start = std::chrono::steady_clock::now();
  pull_->close(20s);
  ASSERT_SOON(pump_, at_pull.closings.size() == 1);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s) << "waited for its linger";
  EXPECT_EQ(checked_->next[1], 0U);
}

TEST_P(PausePeer, any_number_of_times_loses_nothing) {
  Random random(12);
  checked_->after = [&](std::uint64_t id) {
    if (random.one_in(60)) checked_->pause(random.one_in(3) ? 3 - id : id);
  };
  constexpr std::uint64_t total = 4000;
  std::uint64_t sent[2] = {0, 0};
  std::vector<std::byte> message;
  ASSERT_SOON(pump_, [&] {
    for (std::uint64_t id = 1; id <= 2; ++id) {
      std::uint64_t& number = sent[id - 1];
      for (int i = 0; i < 300 && number < total; ++i, ++number) {
        message.resize(number % 777 == 0 ? 90'000 : 10 + number % 300);
        fill_payload(message, number);
        if (pushes_[id - 1]->send(message) != Status::ok) break;
      }
      if (checked_->held[id] && random.one_in(3)) checked_->resume(id);
    }
    return checked_->next[1] == total && checked_->next[2] == total;
  }());
  EXPECT_EQ(checked_->wrong, 0U);
  for (const auto& push : pushes_) settle(*push);
}

TEST_P(PausePeer, by_batches_takes_effect_behind_the_batch) {
  std::uint64_t of_1 = 0;
  std::uint64_t of_2 = 0;
  bool held = false;
  std::uint64_t wrong = 0;
  pull_->on_batch([&](const Batch& batch) {
    (pull_->sender_id() == 1 ? of_1 : of_2) += batch.size();
    if (pull_->sender_id() != 1) return;
    if (held) ++wrong;
    held = true;
    EXPECT_EQ(pull_->pause_peer(1), Status::ok);
  });
  for (std::uint64_t id = 1; id <= 2; ++id) send_small(id, 0, 300);
  ASSERT_SOON(pump_, of_2 == 300);
  ASSERT_SOON(pump_, [&] {
    if (std::exchange(held, false)) {
      EXPECT_EQ(pull_->resume_peer(1), Status::ok);
    }
    return of_1 == 300;
  }());
  EXPECT_EQ(wrong, 0U);
}

TEST_P(PausePeer, of_a_subscriber_is_one_publisher) {
  std::vector<std::unique_ptr<Publish>> publishers;
  Subscribe subscribe(there_, {.policy = Policy::block}, options());
  Seen seen(subscribe);
  std::map<std::uint64_t, std::uint64_t> count;
  int told = 0;
  subscribe.on_message([&](const MessageView&) { ++count[subscribe.sender_id()]; });
  subscribe.on_subscribed([&](const PeerInfo&, const Subscribed&) { ++told; });
  subscribe.subscribe_all();
  for (int i = 0; i < 2; ++i) {
    publishers.push_back(std::make_unique<Publish>(here_, PublishOptions{}, options()));
    subscribe.connect(bind(*publishers.back()));
  }
  ASSERT_SOON(pump_, told == 2);
  ASSERT_EQ(subscribe.pause_peer(1), Status::ok);
  for (std::uint64_t number = 0; number < 100; ++number) {
    for (auto& publish : publishers) ASSERT_EQ(send(*publish, number, 7), Status::ok);
  }
  ASSERT_SOON(pump_, count[2] == 100);
  pump_.turns(20);
  EXPECT_EQ(count[1], 0U);
  ASSERT_EQ(subscribe.resume_peer(1), Status::ok);
  ASSERT_SOON(pump_, count[1] == 100);
}

ON_EVERY_TRANSPORT_AND_MODE(PausePeer);

class PausePeerCut : public Conformance {};

TEST_P(PausePeerCut, is_remembered_of_a_dialed_peer_and_forgotten_of_an_accepted_one) {
  for (const bool pull_dials : {true, false}) {
    SCOPED_TRACE(pull_dials ? "the pull dials" : "the push dials");
    Pull pull(there_, eager());
    Push push(here_, eager());
    Inbox inbox(pull);
    Seen at_pull(pull);
    Relay relay(pull_dials ? bind(push) : bind(pull));
    pull_dials ? pull.connect(relay.address()) : push.connect(relay.address());
    ASSERT_SOON(pump_, at_pull.ups.size() == 1 && push.peers_connected() == 1);
    // The one that is paused may not see the end of its connection: it is paused while it has none.
    pull.on_down([&](const PeerInfo& peer, const Down&) {
      EXPECT_EQ(pull.pause_peer(peer.id), pull_dials ? Status::ok : Status::not_connected);
    });
    relay.cut();
    ASSERT_SOON(pump_, at_pull.ups.size() == 2 && push.peers_connected() == 1);
    ASSERT_EQ(send(push, payload(0, 40)), Status::ok);
    EXPECT_EQ(pull.peers().front().paused, pull_dials);
    if (pull_dials) {
      pump_.run_for(30ms);
      EXPECT_EQ(inbox.size(), 0U);
      ASSERT_EQ(pull.resume_peer(1), Status::ok);
    }
    ASSERT_SOON(pump_, inbox.size() == 1);
  }
}

ON_TCP_IN_EVERY_MODE(PausePeerCut);

class PausePeerMemory : public Publishing {};

// Each of them is paused while its message is looked at, and more of them than there are blocks to
// read into.
TEST_P(PausePeerMemory, is_there_for_others) {
  constexpr std::size_t blocks = 4;
  SocketOptions few = options();
  few.receive_bytes_max = blocks * 4 * GetParam().page_bytes;
  Pull pull(there_, few);
  std::uint64_t received = 0;
  pull.on_message([&](const MessageView&) {
    ++received;
    EXPECT_EQ(pull.pause_peer(pull.sender_id()), Status::ok);
  });
  const std::string address = bind(pull);
  std::vector<std::unique_ptr<Push>> pushes;
  for (std::uint64_t i = 1; i <= 3 * blocks; ++i) {
    pushes.push_back(std::make_unique<Push>(here_, options()));
    pushes.back()->connect(address);
    ASSERT_SOON(pump_, pull.peers_connected() == i);
    ASSERT_EQ(Conformance::send(*pushes.back(), payload(0, 40)), Status::ok);
    ASSERT_SOON(pump_, received == i);
  }
  EXPECT_EQ(pull.counters().starved, 0U);
}

ON_TCP_IN_EVERY_MODE(PausePeerMemory);

}  // namespace
}  // namespace netio::test
