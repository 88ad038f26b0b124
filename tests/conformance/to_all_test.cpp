// send_to_all(): a message goes to every peer that is up, in order with its data, or to nobody; and
// the caller is told who was away.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <netio/blocking.hpp>

#include "conformance/push_to_many.hpp"
#include "support/relay.hpp"

namespace netio::test {
namespace {

constexpr std::uint64_t to_all_tag = 99;

class ToAllTest : public PushToMany {
 protected:
  ToAll to_all(std::uint64_t number, std::size_t size) {
    ToAll answer;
    EXPECT_SOON(pump_, (answer = push_->send_to_all(payload(number, size), to_all_tag)).status !=
                           Status::again);
    return answer;
  }
  // The messages to all that this one got, by their numbers.
  static std::vector<std::uint64_t> got(const Puller& puller) {
    std::vector<std::uint64_t> numbers;
    for (const Inbox::Arrived& message : puller.inbox.messages) {
      if (message.tag != to_all_tag) continue;
      const std::uint64_t number = number_of(message.bytes);
      EXPECT_TRUE(is_payload(message.bytes, number));
      numbers.push_back(number);
    }
    return numbers;
  }
  using Numbers = std::vector<std::uint64_t>;
};

// Of sizes that fit a page, fill one, and are larger than one.
TEST_P(ToAllTest, reaches_every_peer_once_and_in_order_with_its_data) {
  for (int i = 0; i < 2; ++i) add();
  add_accepted();
  struct Sent {
    std::uint64_t number, tag;
    std::size_t bytes;
  };
  std::vector<Sent> sent[3];
  std::uint64_t expected = 0;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const std::size_t bytes = i % 40 == 0 ? 150'000 + i : size_of(i);
    if (i % 4 == 0) {
      const ToAll answer = to_all(i, bytes);
      ASSERT_EQ(answer.status, Status::ok);
      ASSERT_EQ(answer.peers, 3U);
      ASSERT_TRUE(answer.to_everyone());
      for (auto& peer : sent) peer.push_back({i, to_all_tag, bytes});
      expected += 3;
    } else {
      Status status = Status::again;
      ASSERT_SOON(pump_,
                  (status = push_->send_to(1 + i % 3, payload(i, bytes), i % 5)) != Status::again);
      ASSERT_EQ(status, Status::ok);
      sent[i % 3].push_back({i, i % 5, bytes});
      ++expected;
    }
  }
  settle(*push_);
  for (std::size_t peer = 0; peer < 3; ++peer) {
    const Inbox& inbox = pullers_[peer]->inbox;
    ASSERT_EQ(inbox.size(), sent[peer].size());
    for (std::size_t i = 0; i < inbox.size(); ++i) {
      ASSERT_TRUE(is_payload(inbox[i].bytes, sent[peer][i].number)) << i;
      ASSERT_EQ(inbox[i].bytes.size(), sent[peer][i].bytes) << i;
      ASSERT_EQ(inbox[i].tag, sent[peer][i].tag) << i;
    }
  }
  EXPECT_EQ(push_->books().acknowledged, expected);
}

TEST_P(ToAllTest, nobody_gets_it_while_one_peer_is_full) {
  for (int i = 0; i < 3; ++i) add();
  Puller& slow = *pullers_[1];
  for (const std::size_t bytes : {std::size_t{60}, std::size_t{5000}, std::size_t{150'000}}) {
    SCOPED_TRACE(bytes);
    slow.pull.pause();
    Numbers wanted{bytes};
    Books before;
    std::uint64_t agains = 0;
    for (int refused = 0, tries = 0; refused < 5;) {
      ASSERT_LT(++tries, 200);
      if (refused == 0) {
        (void)fill_up(2, 5000);
        before = push_->books();
        agains = push_->counters().agains;
        writable_ = 0;
      }
      const ToAll answer = push_->send_to_all(payload(bytes, bytes), to_all_tag);
      if (answer.status == Status::ok) {  // the system took a little more of what is on its way
        ASSERT_TRUE(answer.to_everyone());
        wanted.push_back(bytes);
        refused = 0;
        continue;
      }
      ASSERT_EQ(answer.status, Status::again);
      ASSERT_EQ(answer.peers, 0U);
      ASSERT_EQ(answer.away, 0U);
      ASSERT_FALSE(answer.to_everyone());
      pump_.turns(8);
      refused = writable_ == 0 ? refused + 1 : 0;
    }
    EXPECT_EQ(push_->books().sent, before.sent);
    EXPECT_EQ(push_->counters().agains, agains + 5);
    for (std::uint64_t i = 0; i < 20; ++i) {
      ASSERT_EQ(push_->send_to(1, payload(i, 20)), Status::ok);
      ASSERT_EQ(push_->send_to(3, payload(i, 20)), Status::ok);
    }
    ASSERT_SOON(pump_, pullers_[0]->inbox.size() >= 20 && pullers_[2]->inbox.size() >= 20);
    EXPECT_EQ(writable_, 0) << "the other peers say nothing of the slow one";
    slow.pull.resume();
    ASSERT_SOON(pump_, writable_ > 0);
    const ToAll answer = to_all(bytes, bytes);
    ASSERT_EQ(answer.status, Status::ok);
    ASSERT_EQ(answer.peers, 3U);
    settle(*push_);
    for (const auto& puller : pullers_) {
      EXPECT_EQ(got(*puller), wanted);
      puller->inbox.messages.clear();
    }
  }
}

TEST_P(ToAllTest, nobody_gets_what_is_too_big_for_one_peer) {
  SocketOptions small = options();
  small.message_bytes_max = 1000;
  add();
  add(small);
  Puller& slow = add();
  slow.pull.pause();
  (void)fill_up(3, 5000);
  const Books before = push_->books();
  EXPECT_EQ(push_->send_to_all(payload(0, 1001), to_all_tag).status, Status::too_big)
      << "whatever the others say: waiting does not help";
  EXPECT_EQ(push_->send_to_all(payload(0, 1001), to_all_tag).peers, 0U);
  EXPECT_EQ(push_->send_to_all(std::span(payload(0, 1).data(), SIZE_MAX)).status, Status::too_big);
  EXPECT_EQ(push_->books().sent, before.sent);
  slow.pull.resume();
  EXPECT_EQ(to_all(7, 1000).status, Status::ok);
  settle(*push_);
  for (const auto& puller : pullers_) EXPECT_EQ(got(*puller), Numbers{7});
}

TEST_P(ToAllTest, without_a_peer_it_is_not_connected_until_one_comes) {
  ToAll answer = push_->send_to_all("early", to_all_tag);
  EXPECT_EQ(answer.status, Status::not_connected);
  EXPECT_EQ(answer.peers, 0U);
  EXPECT_EQ(answer.away, 0U);
  EXPECT_FALSE(answer.to_everyone());
  pump_.turns(20);
  EXPECT_EQ(writable_, 0);
  add();
  ASSERT_SOON(pump_, writable_ == 1);
  EXPECT_EQ(to_all(1, 20).peers, 1U);
  settle(*push_);
  EXPECT_EQ(got(*pullers_[0]), Numbers{1});
}

TEST_P(ToAllTest, says_how_many_are_away) {
  std::string nobody;
  {
    Pull gone(there_, options());
    nobody = bind(gone);
  }
  push_->connect(nobody);
  ToAll answer = push_->send_to_all(payload(1, 20), to_all_tag);
  EXPECT_EQ(answer.status, Status::not_connected);
  EXPECT_EQ(answer.away, 1U);
  add();
  add_accepted();
  answer = to_all(2, 20);
  EXPECT_EQ(answer.status, Status::ok);
  EXPECT_EQ(answer.peers, 2U);
  EXPECT_EQ(answer.away, 1U);
  EXPECT_FALSE(answer.to_everyone());
  settle(*push_);
  for (const auto& puller : pullers_) EXPECT_EQ(got(*puller), Numbers{2});
  // The one that connected is not known any more once it has left; the other is dialed on.
  pullers_.clear();
  ASSERT_SOON(pump_, push_->peers_connected() == 0);
  answer = push_->send_to_all(payload(3, 20), to_all_tag);
  EXPECT_EQ(answer.status, Status::not_connected);
  EXPECT_EQ(answer.away, 2U);
}

// Also one that is full, and for which the message had to wait.
TEST_P(ToAllTest, the_others_get_it_when_the_one_that_is_full_dies) {
  for (const bool dialed : {true, false}) {
    SCOPED_TRACE(dialed ? "the push dials" : "the pull dials");
    pullers_.clear();
    bound_.clear();
    make_push(here_, options());
    dialed ? add() : add_accepted();
    add();
    add();
    pullers_[0]->pull.pause();
    (void)fill_up(1, 5000);
    ASSERT_EQ(push_->send_to_all(payload(1, 5000), to_all_tag).status, Status::again);
    writable_ = 0;
    pullers_.erase(pullers_.begin());
    ASSERT_SOON(pump_, writable_ > 0);
    const ToAll answer = to_all(2, 5000);
    EXPECT_EQ(answer.status, Status::ok);
    EXPECT_EQ(answer.peers, 2U);
    EXPECT_EQ(answer.away, dialed ? 1U : 0U);
    ASSERT_SOON(pump_, !got(*pullers_[0]).empty() && !got(*pullers_[1]).empty());
    for (const auto& puller : pullers_) EXPECT_EQ(got(*puller), Numbers{2});
    EXPECT_TRUE(add_up(push_->books()));
  }
}

TEST_P(ToAllTest, closing_at_once_delivers_it_to_all) {
  for (int i = 0; i < 3; ++i) add();
  Seen seen(*push_);
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_EQ(push_->send_to(1 + i, payload(i, 100)), Status::ok);
  }
  ASSERT_EQ(to_all(1, 20).status, Status::ok);
  ASSERT_EQ(to_all(2, 150'000).status, Status::ok);
  ASSERT_EQ(to_all(3, 20).status, Status::ok);
  push_->close();
  EXPECT_EQ(push_->send_to_all("late").status, Status::closed);
  EXPECT_EQ(push_->send_to_all("late").peers, 0U);
  ASSERT_SOON(pump_, seen.closings.size() == 1);
  EXPECT_EQ(seen.closings[0].sent, 12U);
  EXPECT_EQ(seen.closings[0].acknowledged, 12U);
  for (const auto& puller : pullers_) {
    EXPECT_EQ(puller->inbox.size(), 4U);
    EXPECT_EQ(got(*puller), (Numbers{1, 2, 3}));
  }
}

TEST_P(ToAllTest, works_by_tag) {
  SocketOptions by_tag = options();
  by_tag.distribute = Distribute::by_tag;
  make_push(here_, by_tag);
  EXPECT_EQ(push_->send_to_all("early", to_all_tag).status, Status::not_connected);
  for (int i = 0; i < 3; ++i) add();
  ASSERT_SOON(pump_, writable_ > 0);
  for (std::uint64_t i = 0; i < 200; ++i) {
    ASSERT_EQ(send(*push_, payload(i, 50), i % 16), Status::ok);
    if (i % 50 != 49) continue;
    ASSERT_EQ(to_all(i, 50).peers, 3U);
  }
  settle(*push_);
  std::uint64_t all = 0;
  for (const auto& puller : pullers_) {
    EXPECT_EQ(got(*puller), (Numbers{49, 99, 149, 199}));
    all += puller->inbox.size();
    std::uint64_t last = 0;  // in order with the data
    for (const Inbox::Arrived& message : puller->inbox.messages) {
      EXPECT_GE(number_of(message.bytes), last);
      last = number_of(message.bytes);
    }
  }
  EXPECT_EQ(all, 200U + 4 * 3);
  pullers_[0]->pull.pause();
  (void)fill_up(1, 5000);
  EXPECT_EQ(push_->send_to_all(payload(1, 5000), to_all_tag).status, Status::again);
  writable_ = 0;
  pullers_[0]->pull.resume();
  ASSERT_SOON(pump_, writable_ > 0);
  EXPECT_EQ(to_all(1, 5000).status, Status::ok);
  settle(*push_);
}

TEST_P(ToAllTest, may_be_called_in_call_backs) {
  std::vector<ToAll> answers;
  push_->on_up([&](const PeerInfo&) {
    answers.push_back(push_->send_to_all(payload(answers.size(), 30), to_all_tag));
  });
  bool again = false;
  push_->on_writable([&] {
    if (std::exchange(again, false)) {
      EXPECT_EQ(push_->send_to_all(payload(8, 30), to_all_tag).status, Status::ok);
    }
  });
  for (int i = 0; i < 3; ++i) add();
  ASSERT_SOON(pump_, answers.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(answers[i].status, Status::ok);
    EXPECT_EQ(answers[i].peers, i + 1);
  }
  pullers_[0]->pull.pause();
  (void)fill_up(1, 5000);
  ASSERT_EQ(push_->send_to_all(payload(8, 30), to_all_tag).status, Status::again);
  again = true;
  pullers_[0]->pull.resume();
  ASSERT_SOON(pump_, !again);
  push_->on_writable({});
  settle(*push_);
  EXPECT_EQ(got(*pullers_[0]), (Numbers{0, 1, 2, 8}));
  EXPECT_EQ(got(*pullers_[1]), (Numbers{1, 2, 8}));
  EXPECT_EQ(got(*pullers_[2]), (Numbers{2, 8}));
}

TEST_P(ToAllTest, the_socket_may_be_destroyed_in_the_on_writable_that_follows) {
  push_->on_writable([this] { push_.reset(); });
  EXPECT_EQ(push_->send_to_all("early").status, Status::not_connected);
  Pull pull(there_, options());
  push_->connect(bind(pull));
  ASSERT_SOON(pump_, !push_);
  pump_.turns(20);
}

TEST_P(ToAllTest, works_with_a_pair) {
  Pair here(here_, options());
  Pair there(there_, options());
  Inbox inbox(there);
  EXPECT_EQ(here.send_to_all("hello").status, Status::not_connected);
  join(there, here);
  const ToAll answer = here.send_to_all("hello");
  EXPECT_TRUE(answer.to_everyone());
  EXPECT_EQ(answer.peers, 1U);
  ASSERT_SOON(pump_, inbox.size() == 1);
  settle(here);
  EXPECT_TRUE(add_up(here.books()));
}

TEST_P(ToAllTest, a_reserved_room_is_given_up) {
  add();
  Status status = Status::ok;
  const std::span<std::byte> room = push_->reserve(100, status);
  if (status == Status::invalid) return;  // unbuffered
  ASSERT_EQ(room.size(), 100U);
  ASSERT_EQ(to_all(1, 5000).status, Status::ok);
  EXPECT_EQ(push_->commit(100), Status::invalid);
  settle(*push_);
  EXPECT_EQ(pullers_[0]->inbox.size(), 1U);
}

ON_EVERY_TRANSPORT_AND_MODE(ToAllTest);

// Memory for one copy is enough for all peers; else they would wait for each other for ever.
class ToAllShared : public ToAllTest {};

TEST_P(ToAllShared, one_copy_of_a_large_message_serves_all) {
  ContextOptions little = small_context(GetParam());
  little.large_bytes_max = mebi;
  Context sender(little);
  pump_.add(sender);
  SocketOptions few = options();
  few.message_bytes_max = 700'000;
  make_push(sender, few);
  for (int i = 0; i < 3; ++i) add(few);
  for (std::uint64_t i = 0; i < 5; ++i) {
    ASSERT_EQ(to_all(i, 600'000).peers, 3U);
    settle(*push_);
  }
  for (const auto& puller : pullers_) EXPECT_EQ(got(*puller), (Numbers{0, 1, 2, 3, 4}));
  push_.reset();
  pump_.remove(sender);
}

ON_EVERY_TRANSPORT_AND_MODE(ToAllShared);

class ToAllCut : public ToAllTest {
 protected:
  // The push dials those with a true.
  void begin(const SocketOptions& options, const std::vector<bool>& dialed) {
    make_push(here_, options);
    bound_ = bind(*push_);
    for (const bool one : dialed) {
      pullers_.push_back(std::make_unique<Puller>(there_, options));
      Pull& pull = pullers_.back()->pull;
      relays_.push_back(std::make_unique<Relay>(one ? bind(pull) : bound_));
      one ? push_->connect(relays_.back()->address()) : pull.connect(relays_.back()->address());
      ASSERT_SOON(pump_, push_->peers_connected() == pullers_.size());
    }
  }
  void TearDown() override {
    ToAllTest::TearDown();
    push_.reset();
  }
  std::vector<std::unique_ptr<Relay>> relays_;
};

TEST_P(ToAllCut, what_was_sent_to_all_is_sent_again_over_a_connection_that_was_cut) {
  begin(keeping(), {true, true, false});
  for (std::uint64_t i = 0; i < 30; ++i) {
    if (i % 10 == 5) {  // this one and the next are on their way when the connection breaks
      settle(*push_);
      relays_[i / 10]->hold(true);
    }
    ASSERT_EQ(to_all(i, i % 10 == 6 ? 100'000 : 300).peers, 3U);
    push_->flush();
    if (i % 10 != 6) continue;
    pump_.turns(3);
    relays_[i / 10]->cut();
    relays_[i / 10]->hold(false);
    ASSERT_SOON(pump_, push_->peers_connected() < 3);
    ASSERT_SOON(pump_, push_->peers_connected() == 3);
  }
  settle(*push_);
  Numbers all;
  for (std::uint64_t i = 0; i < 30; ++i) all.push_back(i);
  for (const auto& puller : pullers_) EXPECT_EQ(got(*puller), all);
  EXPECT_EQ(push_->books().acknowledged, 90U);
}

// One that is dialed is away until it is back. One that had connected is expected back only where
// messages are kept for it.
TEST_P(ToAllCut, a_peer_that_is_away_does_not_get_it) {
  for (const bool keeps : {false, true}) {
    SCOPED_TRACE(keeps ? "messages are kept" : "nothing is kept");
    pullers_.clear();
    relays_.clear();
    begin(keeps ? keeping() : eager(), {true, false, true});
    ASSERT_EQ(to_all(1, 50).peers, 3U);
    settle(*push_);
    for (const std::size_t one : {0U, 1U}) relays_[one]->hold(true);
    ASSERT_EQ(to_all(2, 50).peers, 3U);
    push_->flush();
    pump_.turns(3);
    std::optional<ToAll> in_call;
    push_->on_down([&](const PeerInfo& peer, const Down&) {
      if (peer.was_up && push_->peers_connected() == 1) {
        in_call = push_->send_to_all(payload(3, 50), to_all_tag);
      }
    });
    for (const std::size_t one : {0U, 1U}) {
      relays_[one]->forbid(true);  // which cuts what there is
      relays_[one]->hold(false);
    }
    ASSERT_SOON(pump_, in_call.has_value());
    const ToAll later = to_all(4, 50);
    for (const ToAll& answer : {*in_call, later}) {
      EXPECT_EQ(answer.status, Status::ok);
      EXPECT_EQ(answer.peers, 1U);
      EXPECT_EQ(answer.away, keeps ? 2U : 1U);
    }
    for (const std::size_t one : {0U, 1U}) relays_[one]->forbid(false);
    ASSERT_SOON(pump_, push_->peers_connected() == 3);
    const ToAll back = to_all(5, 50);
    EXPECT_TRUE(back.to_everyone());
    EXPECT_EQ(back.peers, 3U);
    ASSERT_SOON(pump_, push_->books().unacknowledged == 0);
    const Numbers missed_none = {1, 2, 3, 4, 5};
    const Numbers was_away = keeps ? Numbers{1, 2, 5} : Numbers{1, 5};
    EXPECT_EQ(got(*pullers_[0]), was_away);
    EXPECT_EQ(got(*pullers_[1]), was_away);
    EXPECT_EQ(got(*pullers_[2]), missed_none);
    EXPECT_TRUE(add_up(push_->books()));
    push_.reset();
  }
}

// There are more peers than pages.
TEST_P(ToAllCut, one_page_serves_all) {
  ContextOptions little = small_context(GetParam());
  little.send_pool_bytes = 4 * little.page_bytes;
  Context sender(little);
  pump_.add(sender);
  make_push(sender, options());
  for (int i = 0; i < 12; ++i) add();
  for (std::uint64_t i = 0; i < 5; ++i) {
    ASSERT_EQ(to_all(i, 1000).peers, 12U);
    settle(*push_);
  }
  for (const auto& puller : pullers_) EXPECT_EQ(got(*puller), (Numbers{0, 1, 2, 3, 4}));
  push_.reset();
  pump_.remove(sender);
}

ON_TCP_IN_EVERY_MODE(ToAllCut);

TEST(ToAllBlocking, waits_for_the_first_peer_and_for_room) {
  Context context;
  blocking::Push push(context);
  ToAll answer = push.send_to_all("nobody is there", std::chrono::nanoseconds(0));
  EXPECT_EQ(answer.status, Status::not_connected);
  Pull pulls[2] = {Pull(context), Pull(context)};
  std::vector<std::string> came[2];
  for (int i = 0; i < 2; ++i) {
    pulls[i].on_message(
        [&came, i](const MessageView& message) { came[i].emplace_back(message.text()); });
    push.connect(pulls[i].bind("tcp://127.0.0.1:0"));
  }
  answer = push.send_to_all("somebody", blocking::for_ever, 3);
  EXPECT_EQ(answer.status, Status::ok);
  EXPECT_EQ(answer.peers + answer.away, 2U);
  while (push.peers_connected() < 2) context.loop().run_once(blocking::for_ever);
  pulls[0].pause();
  while (push.send_to_all(std::string(10'000, 'x'), std::chrono::nanoseconds(0)).status ==
         Status::ok) {
  }
  const std::size_t before = came[1].size();
  EXPECT_EQ(push.send_to_all(std::string(10'000, 'x'), std::chrono::nanoseconds(0)).status,
            Status::again);
  pulls[0].resume();
  EXPECT_TRUE(push.send_to_all("everybody", blocking::for_ever).to_everyone());
  EXPECT_TRUE(add_up(push.close()));
  EXPECT_GE(came[1].size(), before);
  EXPECT_EQ(came[0].back(), "everybody");
  EXPECT_EQ(came[1].back(), "everybody");
}

}  // namespace
}  // namespace netio::test
