// Subscribers that fall behind and catch up are told of, from the loop and at a bounded rate.
#include <memory>
#include <vector>

#include "conformance/publishing.hpp"

namespace netio::test {
namespace {

class PublishBehind : public Publishing {
 protected:
  struct Told {
    bool behind;
    PeerSnapshot peer;
    std::chrono::nanoseconds at;  // the time of the turn
  };
  void SetUp() override {
    Publishing::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    publish_ = std::make_unique<Publish>(here_, PublishOptions{}, options());
    publish_->on_behind([this](const PeerSnapshot& peer) { tell(true, peer); });
    publish_->on_caught_up([this](const PeerSnapshot& peer) { tell(false, peer); });
    address_ = bind(*publish_);
  }
  void tell(bool behind, const PeerSnapshot& peer) {
    EXPECT_FALSE(in_call_) << "told from inside send()";
    if (peer.id == passed_over_) return;
    told_.push_back({behind, peer, here_.loop().now()});
  }
  std::unique_ptr<Reader> reader(const SubscribeOptions& subscription) {
    auto made = std::make_unique<Reader>(*this, address_, subscription);
    made->socket.subscribe_all();
    EXPECT_SOON(pump_, made->told());
    return made;
  }
  // Until `enough`, turning the loops.
  template <typename Enough>
  void publish_until(Enough&& enough) {
    const std::vector<std::byte> message(1000);
    ASSERT_SOON(pump_, [&] {
      for (int i = 0; i < 64 && !enough(); ++i) {
        in_call_ = true;
        const Status status = publish_->send(message, 7);
        in_call_ = false;
        if (status != Status::ok) break;
      }
      return enough();
    }());
  }

  std::unique_ptr<Publish> publish_;
  std::string address_;
  std::vector<Told> told_;
  bool in_call_ = false;
  std::uint64_t passed_over_ = 0;  // PeerInfo::id of who is slow when the machine is, or 0
};

TEST_P(PublishBehind, begins_and_ends_once_and_names_the_one_that_is) {
  auto good = reader({.policy = Policy::block});
  passed_over_ = publish_->peers().front().id;
  auto slow = reader({.policy = Policy::drop_new, .behind_bytes_max = 200'000});
  slow->socket.pause();
  publish_until([&] { return !told_.empty() && publish_->books().dropped() != 0; });
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_TRUE(told_[0].behind);
  EXPECT_TRUE(told_[0].peer.behind && told_[0].peer.up);
  EXPECT_EQ(told_[0].peer.policy, Policy::drop_new);
  EXPECT_GT(told_[0].peer.waiting_bytes, 0U);
  // It stays behind, and is told of no more, however much is published.
  const std::uint64_t dropped = publish_->books().dropped();
  publish_until([&] { return publish_->books().dropped() > dropped + 1000; });
  pump_.run_for(150ms);
  ASSERT_EQ(told_.size(), 1U);
  slow->socket.resume();
  ASSERT_SOON(pump_, told_.size() == 2);
  EXPECT_FALSE(told_[1].behind || told_[1].peer.behind);
  EXPECT_EQ(told_[1].peer.id, told_[0].peer.id);
  EXPECT_GT(told_[1].peer.books.dropped(), 0U);
  ASSERT_SOON(pump_, publish_->books().unsettled() == 0);
  EXPECT_EQ(told_.size(), 2U);
  // And once more.
  slow->socket.pause();
  publish_until([&] { return told_.size() == 3; });
  EXPECT_TRUE(told_[2].behind);
}

TEST_P(PublishBehind, comes_for_every_policy_with_whoever_blocks_first) {
  for (const Policy policy : {Policy::block, Policy::drop_old, Policy::sample}) {
    SCOPED_TRACE(to_string(policy));
    told_.clear();
    auto slow = reader({.policy = policy, .behind_bytes_max = 200'000});
    slow->socket.pause();
    publish_until([&] { return !told_.empty(); });
    EXPECT_EQ(told_.front().peer.policy, policy);
    slow->socket.resume();
    ASSERT_SOON(pump_, told_.size() == 2);
    slow->socket.close();
    ASSERT_SOON(pump_, publish_->peers_connected() == 0);
  }
}

TEST_P(PublishBehind, is_told_at_most_every_tenth_of_a_second) {
  auto slow = reader({.policy = Policy::drop_old, .behind_bytes_max = 100'000});
  const std::vector<std::byte> message(1000);
  // Behind and not behind, as often as it can be.
  for (bool behind = false; told_.size() < 5;) {
    behind = !behind;
    behind ? slow->socket.pause() : slow->socket.resume();
    ASSERT_SOON(pump_, [&] {
      for (int i = 0; i < 64 && behind; ++i) (void)publish_->send(message, 7);
      return publish_->peers().front().behind == behind || told_.size() >= 5;
    }());
  }
  for (std::size_t i = 1; i < told_.size(); ++i) {
    EXPECT_NE(told_[i].behind, told_[i - 1].behind);
    EXPECT_GE(told_[i].at - told_[i - 1].at, 100ms);
  }
}

TEST_P(PublishBehind, may_be_where_the_publisher_is_closed_or_destroyed) {
  for (const bool destroy : {false, true}) {
    SetUp();
    if (IsSkipped()) return;
    auto slow = reader({.policy = Policy::drop_old, .behind_bytes_max = 200'000});
    auto other = reader({.policy = Policy::drop_old, .behind_bytes_max = 200'000});
    slow->socket.pause();
    other->socket.pause();
    int calls = 0;
    publish_->on_behind([&](const PeerSnapshot&) {
      ++calls;
      destroy ? publish_.reset() : publish_->close(0s);
    });
    publish_until([&] { return publish_ == nullptr || calls != 0; });
    pump_.run_for(30ms);
    EXPECT_EQ(calls, 1);
    slow->socket.resume();
    other->socket.resume();
    ASSERT_SOON(pump_, slow->socket.peers_connected() == 0);
  }
}

TEST_P(PublishBehind, of_one_that_goes_ends_with_on_down) {
  auto slow = reader({.policy = Policy::drop_old, .behind_bytes_max = 200'000});
  Seen seen(*publish_);
  slow->socket.pause();
  publish_until([&] { return !told_.empty(); });
  slow.reset();
  ASSERT_SOON(pump_, !seen.downs.empty());
  pump_.run_for(120ms);
  EXPECT_EQ(told_.size(), 1U);
}

ON_EVERY_TRANSPORT_AND_MODE(PublishBehind);

}  // namespace
}  // namespace netio::test
