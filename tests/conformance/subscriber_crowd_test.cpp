// Many subscribers with sets of their own come, change and go at random while messages are
// published. A model of each, kept where the publisher says what changed, must agree with what it
// got: every message while its set had the tag, in order, and no other.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <vector>

#include "conformance/conformance.hpp"
#include "support/environment.hpp"

namespace netio::test {
namespace {

constexpr std::uint64_t crowd_tags = 300;
constexpr std::uint64_t marker = 1'000'000;  // and upwards: tells who it is, never published

struct Model {
  std::vector<bool> wants = std::vector<bool>(crowd_tags);
  std::vector<std::uint64_t> expected;
};

struct Member {
  std::uint64_t name = 0;
  std::unique_ptr<Subscribe> socket;
  std::vector<std::uint64_t> got;
};

class SubscriberCrowd : public Conformance {
 protected:
  void begin() {
    publish_.on_subscribe([this](const PeerInfo& peer, std::span<const TagRange> ranges) {
      for (const TagRange& range : ranges) {
        if (range.first >= marker) {
          names_[peer.id] = range.first - marker;
        } else {
          set(peer, range, true);
        }
      }
    });
    publish_.on_unsubscribe([this](const PeerInfo& peer, std::span<const TagRange> ranges) {
      for (const TagRange& range : ranges) {
        if (range.first < marker) set(peer, range, false);
      }
    });
    address_ = bind(publish_);
  }
  void set(const PeerInfo& peer, TagRange range, bool wanted) {
    for (std::uint64_t tag = range.first; tag <= range.last; ++tag) {
      models_[peer.id].wants[tag] = wanted;
    }
  }
  TagRange some_range() {
    const std::uint64_t first = random_.below(crowd_tags);
    return {first, std::min(crowd_tags - 1, first + random_.below(10))};
  }
  void join() {
    members_.push_back(std::make_unique<Member>());
    Member& member = *members_.back();
    member.name = names_given_++;
    member.socket =
        std::make_unique<Subscribe>(there_, SubscribeOptions{.policy = Policy::block}, options());
    member.socket->on_message([&member](const MessageView& message) {
      member.got.push_back(number_of(message.bytes()));
    });
    member.socket->subscribe(marker + member.name);
    for (std::uint64_t i = random_.below(20); i > 0; --i) member.socket->subscribe(some_range());
    member.socket->connect(address_);
  }
  void change(Member& member) {
    if (random_.one_in(2)) {
      member.socket->subscribe(some_range());
    } else {
      member.socket->unsubscribe(some_range());
    }
  }
  // What the publisher has for it; null before it came.
  Model* model_of(const Member& member) {
    for (const auto& [peer, name] : names_) {
      if (name == member.name) return &models_[peer];
    }
    return nullptr;
  }
  // It got a beginning of what it was to get, or all.
  void check(const Member& member, bool all) {
    const Model* const model = model_of(member);
    if (model == nullptr) {
      EXPECT_TRUE(member.got.empty());
      return;
    }
    const std::vector<std::uint64_t>& expected = model->expected;
    ASSERT_LE(member.got.size(), expected.size()) << "member " << member.name;
    ASSERT_TRUE(!all || member.got.size() == expected.size()) << "member " << member.name;
    ASSERT_TRUE(std::equal(member.got.begin(), member.got.end(), expected.begin()))
        << "member " << member.name;
    checked_ += member.got.size();
  }
  bool has_all(const Member& member) {
    const Model* const model = model_of(member);
    return model != nullptr && member.got.size() == model->expected.size();
  }
  void leave(std::size_t index) {
    Member& member = *members_[index];
    const bool settled = random_.one_in(4);
    ASSERT_SOON(pump_, !settled || has_all(member)) << "member " << member.name;
    check(member, settled);
    if (random_.one_in(2)) {
      // In order: what was posted to it until then is not delivered any more.
      member.socket->close();
      ASSERT_SOON(pump_, member.socket->closed());
    }
    check(member, false);
    members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(index));
  }
  void publish_some() {
    for (std::uint64_t i = random_.below(32); i > 0; --i) {
      const std::uint64_t tag = random_.below(crowd_tags);
      const std::size_t bytes = 8 + (random_.one_in(100) ? 5000 : random_.below(40));
      ASSERT_SOON(pump_, publish_.send(payload(number_, bytes), tag) == Status::ok);
      for (auto& [peer, model] : models_) {
        if (model.wants[tag]) model.expected.push_back(number_);
      }
      ++number_;
    }
  }

  const std::uint64_t seed_ = seed();
  Random random_{seed_};
  Publish publish_{here_, {}, options()};
  std::map<std::uint64_t, Model> models_;         // by the publisher's id of the peer
  std::map<std::uint64_t, std::uint64_t> names_;  // by the same
  std::vector<std::unique_ptr<Member>> members_;
  std::string address_;
  std::uint64_t names_given_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t checked_ = 0;
};

TEST_P(SubscriberCrowd, each_gets_exactly_what_it_subscribed_while_it_was_there) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  begin();
  const std::size_t most = GetParam().address.starts_with("tcp:") ? 200 : 24;
  for (std::size_t i = 0; i < most; ++i) join();
  for (int step = 0; step < 300; ++step) {
    publish_some();
    if (!members_.empty()) change(*members_[random_.below(members_.size())]);
    if (members_.size() < most && random_.one_in(2)) join();
    if (!members_.empty() && random_.one_in(3)) leave(random_.below(members_.size()));
    if (testing::Test::HasFatalFailure()) return;
    pump_.turns(1);
  }
  publish_.flush();
  for (const auto& member : members_) {
    ASSERT_SOON(pump_, has_all(*member)) << "member " << member->name;
    check(*member, true);
  }
  EXPECT_TRUE(add_up(publish_.books()));
  EXPECT_GT(checked_, number_) << "hardly anybody got anything";
  members_.clear();
  ASSERT_SOON(pump_, publish_.peers_connected() == 0);
}

ON_EVERY_TRANSPORT(SubscriberCrowd);

}  // namespace
}  // namespace netio::test
