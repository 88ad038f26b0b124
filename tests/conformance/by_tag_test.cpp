// Distribute::by_tag: the same tag goes to the same peer, and a peer without room holds only its
// own tags back.
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "conformance/push_to_many.hpp"
#include "support/relay.hpp"

namespace netio::test {
namespace {

using Where = std::map<std::uint64_t, std::size_t>;  // the index of the pull that has a tag

class ByTag : public PushToMany {
 protected:
  static SocketOptions by_tag(SocketOptions options) {
    options.distribute = Distribute::by_tag;
    return options;
  }

  // Sends one message of each tag and sees where they arrive.
  Where look(Push& push) {
    for (const auto& puller : pullers_) puller->inbox.messages.clear();
    for (std::uint64_t tag = 0; tag < tags; ++tag) {
      EXPECT_EQ(send(push, payload(tag, 20), tag), Status::ok);
    }
    settle(push);
    Where where;
    for (std::size_t i = 0; i < pullers_.size(); ++i) {
      for (const Inbox::Arrived& message : pullers_[i]->inbox.messages) {
        EXPECT_TRUE(where.emplace(message.tag, i).second);
      }
    }
    EXPECT_EQ(where.size(), tags);
    return where;
  }
  Where look() { return look(*push_); }
  // A tag of this one.
  static std::uint64_t tag_of(std::size_t index, const Where& where) {
    for (const auto& [tag, its] : where) {
      if (its == index) return tag;
    }
    ADD_FAILURE() << "no tag of " << index;
    return 0;
  }
  [[nodiscard]] SocketOptions push_options() const override { return by_tag(options()); }
  std::uint64_t fill_up_by(std::uint64_t tag, std::size_t size) {
    return count_until_again(
        [&](std::uint64_t number) { return push_->send(payload(number, size), tag); });
  }

  static constexpr std::uint64_t tags = 300;
};

TEST_P(ByTag, the_same_tag_goes_to_the_same_peer_in_order) {
  for (int i = 0; i < 3; ++i) add();
  constexpr std::uint64_t count = 6000;
  for (std::uint64_t i = 0; i < count; ++i) {
    ASSERT_EQ(send(*push_, payload(i, 10 + i % 700), i * 31 % 200), Status::ok);
  }
  settle(*push_);
  std::set<std::uint64_t> seen;
  std::uint64_t received = 0;
  for (const auto& puller : pullers_) {
    std::map<std::uint64_t, std::uint64_t> last;
    for (const Inbox::Arrived& message : puller->inbox.messages) {
      const std::uint64_t number = number_of(message.bytes);
      ASSERT_TRUE(is_payload(message.bytes, number));
      ASSERT_EQ(message.tag, number * 31 % 200);
      const auto [at, first] = last.emplace(message.tag, number);
      if (!first) {
        ASSERT_GT(number, at->second) << "tag " << message.tag;
        at->second = number;
      }
      ++received;
    }
    EXPECT_GT(last.size(), 30U) << "each has about a third of the tags";
    for (const auto& [tag, number] : last) EXPECT_TRUE(seen.insert(tag).second) << tag;
  }
  EXPECT_EQ(received, count);
  EXPECT_EQ(seen.size(), 200U);
}

TEST_P(ByTag, a_fourth_peer_takes_over_some_tags_and_gives_them_back) {
  for (int i = 0; i < 3; ++i) add();
  const Where before = look();
  EXPECT_EQ(look(), before);
  add();
  const Where with = look();
  std::uint64_t moved = 0;
  for (const auto& [tag, index] : with) {
    if (index == before.at(tag)) continue;
    EXPECT_EQ(index, 3U) << "tag " << tag;
    ++moved;
  }
  EXPECT_GT(moved, tags / 4 / 3);
  EXPECT_LT(moved, tags / 4 * 2);
  pullers_[3]->pull.close();
  ASSERT_SOON(pump_, push_->peers_connected() == 3);
  EXPECT_EQ(look(), before);
}

TEST_P(ByTag, all_sockets_with_the_same_peers_agree) {
  for (int i = 0; i < 3; ++i) add();
  const Where before = look();
  // It is connected to by the same ones, in another order.
  Push other(here_, by_tag(options()));
  const std::string address = bind(other);
  for (std::size_t i = 3; i-- > 0;) {
    pullers_[i]->pull.connect(address);
    ASSERT_SOON(pump_, other.peers_connected() == 3 - i);
  }
  EXPECT_EQ(look(other), before);
  EXPECT_TRUE(add_up(other.books()));
}

TEST_P(ByTag, a_slow_peer_holds_only_its_own_tags_back) {
  add();
  add();
  const Where where = look();
  Puller& slow = *pullers_[0];
  Puller& fast = *pullers_[1];
  const std::uint64_t held = tag_of(0, where);
  const std::uint64_t free = tag_of(1, where);
  slow.pull.pause();
  slow.inbox.messages.clear();
  fast.inbox.messages.clear();
  const std::uint64_t taken = fill_up_by(held, 5000);
  ASSERT_GT(taken, 0U);
  EXPECT_DOUBLE_EQ(push_->fill(), 1.0);
  writable_ = 0;
  for (std::uint64_t i = 0; i < 300; ++i) {
    ASSERT_EQ(push_->send(payload(i, 3000), free), Status::ok);
    if (i % 10 == 9) {
      ASSERT_SOON(pump_, fast.inbox.size() == i + 1);
    }
    if (i % 100 == 50) {
      EXPECT_EQ(push_->send(payload(i, 3000), held), Status::again);
    }
  }
  EXPECT_EQ(writable_, 0);
  EXPECT_EQ(fast.inbox.size(), 300U);
  slow.pull.resume();
  ASSERT_SOON(pump_, slow.inbox.size() == taken);
  ASSERT_SOON(pump_, writable_ > 0);
  pump_.run_for(30ms);
  EXPECT_EQ(writable_, 1);
  EXPECT_EQ(push_->send(payload(taken, 5000), held), Status::ok);
  settle(*push_);
  EXPECT_DOUBLE_EQ(push_->fill(), 0.0);
  for (std::uint64_t i = 0; i <= taken; ++i) ASSERT_TRUE(is_payload(slow.inbox[i].bytes, i)) << i;
}

TEST_P(ByTag, nobody_is_not_connected_and_the_first_peer_is_told) {
  EXPECT_DOUBLE_EQ(push_->fill(), 1.0);
  EXPECT_EQ(push_->send("early", 1), Status::not_connected);
  EXPECT_EQ(push_->send("early", 2), Status::not_connected);
  EXPECT_EQ(push_->counters().agains, 2U);
  pump_.run_for(20ms);
  EXPECT_EQ(writable_, 0);
  add();
  ASSERT_SOON(pump_, writable_ > 0);
  EXPECT_EQ(push_->send("now", 1), Status::ok);
  add();
  pump_.run_for(20ms);
  EXPECT_EQ(writable_, 1);
  settle(*push_);
}

TEST_P(ByTag, a_refused_tag_is_told_when_its_peer_goes_or_another_takes_it_over) {
  add();
  add();
  const Where where = look();
  pullers_[0]->pull.pause();
  (void)fill_up_by(tag_of(0, where), 5000);
  writable_ = 0;
  Puller& heir = add();
  ASSERT_SOON(pump_, writable_ > 0);
  std::uint64_t held = tags;
  for (const auto& [tag, index] : where) {
    if (index == 0 && push_->send(payload(0, 100), tag) == Status::ok) held = tag;
  }
  ASSERT_NE(held, tags) << "the third one has some of the tags of the first one";
  ASSERT_SOON(pump_, heir.inbox.size() > 0);
  // It is full too, and goes.
  heir.pull.pause();
  (void)fill_up_by(held, 5000);
  EXPECT_EQ(push_->send("refused", held), Status::again);
  writable_ = 0;
  pullers_.pop_back();
  ASSERT_SOON(pump_, writable_ > 0);
  EXPECT_EQ(push_->send("refused", held), Status::again) << "it is the first one's again";
  pullers_[0]->pull.resume();
  ASSERT_SOON(pump_, push_->send("taken", held) == Status::ok);
  ASSERT_SOON(pump_, pullers_[0]->inbox.messages.back().bytes.size() == 5);
}

TEST_P(ByTag, every_way_of_sending_goes_by_the_tag) {
  for (int i = 0; i < 3; ++i) add();
  const Where where = look();
  std::vector<std::uint64_t> released;
  push_->on_released([&](std::uint64_t token) { released.push_back(token); });
  const std::vector<std::byte> lent = payload(2, 50'000);
  for (std::size_t index = 0; index < 3; ++index) {
    const std::uint64_t tag = tag_of(index, where);
    Inbox& inbox = pullers_[index]->inbox;
    inbox.messages.clear();
    Status status = Status::ok;
    EXPECT_TRUE(push_->reserve(10, status).empty());
    EXPECT_EQ(status, Status::invalid);
    EXPECT_EQ(push_->commit(10, tag), Status::invalid);
    for (const std::size_t bytes : {40U, 30'000U}) {
      ASSERT_EQ(push_->send(Message::copy_of(payload(0, bytes), tag)), Status::ok);
    }
    Message message = push_->allocate(30'000, status, tag);
    ASSERT_EQ(status, Status::ok);
    fill_payload(message.writable_bytes(), 1);
    ASSERT_EQ(push_->send(std::move(message)), Status::ok);
    ASSERT_EQ(push_->lend(lent, index, tag), Status::ok);
    ASSERT_EQ(push_->send(payload(3, 200'000), tag), Status::ok);
    settle(*push_);
    ASSERT_EQ(inbox.size(), 5U);
    const std::uint64_t numbers[] = {0, 0, 1, 2, 3};
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_TRUE(is_payload(inbox[i].bytes, numbers[i]));
      EXPECT_EQ(inbox[i].tag, tag);
    }
  }
  ASSERT_SOON(pump_, released.size() == 3);
}

TEST_P(ByTag, a_peer_may_be_named_whatever_the_tag) {
  add();
  add();
  const std::uint64_t tag = tag_of(0, look());
  for (const auto& puller : pullers_) puller->inbox.messages.clear();
  EXPECT_EQ(push_->send_to(1, "to the first", tag), Status::ok);
  EXPECT_EQ(push_->send_to(2, "to the second", tag), Status::ok);
  EXPECT_EQ(push_->send_to(3, "to nobody", tag), Status::not_connected);
  settle(*push_);
  for (const auto& puller : pullers_) EXPECT_EQ(puller->inbox.size(), 1U);
}

TEST_P(ByTag, too_big_is_said_of_the_peer_of_the_tag) {
  SocketOptions small = options();
  small.message_bytes_max = 1000;
  add(small);
  add();
  const Where where = look();
  for (std::uint64_t tag = 0; tag < 50; ++tag) {
    const Status expected = where.at(tag) == 0 ? Status::too_big : Status::ok;
    EXPECT_EQ(send(*push_, payload(0, 1001), tag), expected) << tag;
  }
  settle(*push_);
}

TEST_P(ByTag, a_closing_socket_delivers_what_it_took) {
  for (int i = 0; i < 3; ++i) add();
  Seen seen(*push_);
  for (std::uint64_t i = 0; i < 300; ++i) {
    ASSERT_EQ(send(*push_, payload(i, size_of(i)), i), Status::ok);
  }
  push_->close();
  EXPECT_EQ(push_->send("late", 1), Status::closed);
  ASSERT_SOON(pump_, seen.closings.size() == 1);
  EXPECT_EQ(seen.closings[0].acknowledged, 300U);
  std::size_t received = 0;
  for (const auto& puller : pullers_) received += puller->inbox.size();
  EXPECT_EQ(received, 300U);
}

TEST_P(ByTag, has_no_meaning_for_a_pair) {
  Pair here(here_, by_tag(options()));
  Pair there(there_, by_tag(options()));
  Inbox inbox(there);
  join(there, here);
  ASSERT_EQ(here.send("hello", 5), Status::ok);
  ASSERT_SOON(pump_, inbox.size() == 1);
  if (GetParam().mode == Mode::buffered) {
    Status status = Status::invalid;
    EXPECT_FALSE(here.reserve(10, status).empty());
    EXPECT_EQ(status, Status::ok);
  }
  settle(here);
}

ON_EVERY_TRANSPORT_AND_MODE(ByTag);

class ByTagCut : public ByTag {};

// A message that was taken stays with its peer, and the next ones of its tag go to another one.
TEST_P(ByTagCut, a_lost_peer_has_its_tags_again_when_it_is_back) {
  SocketOptions patient = by_tag(eager());
  patient.flush_when_idle = false;
  patient.flush_after = 50ms;
  make_push(here_, patient);
  pullers_.push_back(std::make_unique<Puller>(there_, eager()));
  Relay relay(bind(pullers_[0]->pull));
  push_->connect(relay.address());
  ASSERT_SOON(pump_, push_->peers_connected() == 1);
  add();
  const Where before = look();
  const std::uint64_t tag = tag_of(0, before);
  relay.forbid(true);
  relay.cut();
  ASSERT_SOON(pump_, push_->peers_connected() == 1);
  const Where meanwhile = look();
  for (const auto& [each, index] : meanwhile) EXPECT_EQ(index, 1U) << each;
  relay.forbid(false);
  ASSERT_SOON(pump_, push_->peers_connected() == 2);
  EXPECT_EQ(look(), before);
  if (GetParam().mode != Mode::buffered) return;
  for (const auto& puller : pullers_) puller->inbox.messages.clear();
  ASSERT_EQ(push_->send("in the open page", tag), Status::ok);
  relay.forbid(true);
  relay.cut();
  ASSERT_SOON(pump_, push_->peers_connected() == 1);
  ASSERT_EQ(send(*push_, payload(0, 20), tag), Status::ok);
  ASSERT_SOON(pump_, pullers_[1]->inbox.size() == 1);
  relay.forbid(false);
  ASSERT_SOON(pump_, push_->peers_connected() == 2);
  settle(*push_);
  EXPECT_EQ(pullers_[0]->inbox.size(), 1U) << "it stayed with its peer";
  EXPECT_EQ(pullers_[1]->inbox.size(), 1U);
}

ON_TCP_IN_EVERY_MODE(ByTagCut);

}  // namespace
}  // namespace netio::test
