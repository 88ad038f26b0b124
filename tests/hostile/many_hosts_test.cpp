// Subscribers of several hosts: what those of one host cost the publisher is not charged to
// another, and each host has its turn, however many subscribers of other hosts wait.
#include <chrono>
#include <vector>

#include "conformance/evil_subscriber.hpp"
#include "support/sanitized.hpp"

namespace netio::test {
namespace {

using Clock = std::chrono::steady_clock;

class ManyHosts : public EvilSubscriber {
 protected:
  ManyHosts() {
    publish_.on_subscribe([this](const PeerInfo&, std::span<const TagRange>) { ++changes_; });
    publish_.on_unsubscribe([this](const PeerInfo&, std::span<const TagRange>) { ++changes_; });
  }
  // A subscriber that changes its set, as large as a page holds, whenever it has its answer.
  class Busy {
   public:
    Busy(ManyHosts& test, std::uint8_t session, std::uint8_t host)
        : raw_(test.greeted(alike_hello(session), host)) {
      for (std::uint64_t tag = 0; tag < 8000; tag += 2) ranges_.push_back({tag, tag});
    }
    void go_on() {
      const std::size_t answers = heard(raw_.received()).answers.size();
      if (answers == revision_) send();
    }

   private:
    void send() {
      ranges_.back().last = ranges_.back().first + ++revision_ % 2;
      raw_.send(page_of(Change{.revision = revision_, .ranges = ranges_}));
    }
    RawTcp raw_;
    std::vector<TagRange> ranges_;
    std::uint64_t revision_ = 0;
  };
  // So many of each of these hosts.
  void make_busy(std::uint8_t first_host, std::uint8_t last_host, int of_each) {
    for (std::uint8_t host = first_host; host <= last_host; ++host) {
      for (int i = 0; i < of_each; ++i) busy_.emplace_back(*this, ++session_, host);
    }
  }
  // All of them go on until a time passes in which no change is taken: all wait.
  bool all_wait(Clock::duration most) {
    const auto begin = Clock::now();
    std::uint64_t before = 0;
    int still = 0;
    while (still < 3) {
      if (Clock::now() - begin > most) return false;
      for (Busy& busy : busy_) busy.go_on();
      before = changes_;
      pump_.turns(2);
      still = changes_ == before ? still + 1 : 0;
    }
    return true;
  }
  // How many changes of others are taken until a newcomer's is.
  std::uint64_t changes_before_one_of(std::uint8_t host) {
    RawTcp raw = greeted(alike_hello(++session_), host);
    const std::uint64_t before = changes_;
    raw.send(page_of(Change{.ranges = {{7, 7}}}));
    EXPECT_SOON(pump_, [&] {
      for (Busy& busy : busy_) busy.go_on();
      return !heard(raw.received()).answers.empty();
    }());
    return changes_ - before;
  }

  std::vector<Busy> busy_;
  std::uint64_t changes_ = 0;
  std::uint8_t session_ = 100;
};

TEST_F(ManyHosts, are_charged_each_for_itself) {
  make_busy(2, 2, 20);
  if (!all_wait(20s)) GTEST_SKIP() << "this machine is too slow to take as much as a host may ask";
  // The host may ask for a change of this size 64 times a second.
  EXPECT_LE(changes_before_one_of(3), 5U);
}

TEST_F(ManyHosts, have_their_turn_each) {
  if (sanitized) GTEST_SKIP() << "takes more of the machine than there is with a sanitizer";
  make_busy(2, 6, 30);
  if (!all_wait(20s)) GTEST_SKIP() << "this machine is too slow to take as much as all may ask";
  // Five hosts before it, and what was taken while the change was on its way.
  EXPECT_LE(changes_before_one_of(7), 15U);
}

// Few ranges may wait here. A page of them may in any case.
class ManyChanges : public EvilSubscriber {
 protected:
  ManyChanges() : EvilSubscriber(PublishOptions{.ranges_all_max = 6000}) {}
  // As large as a page holds. It is refused, which costs as much.
  static Bytes change(std::uint64_t revision) {
    std::vector<TagRange> ranges;
    for (std::uint64_t tag = 0; tag < 8000; tag += 2) ranges.push_back({tag, tag});
    return page_of(Change{.revision = revision, .ranges = ranges});
  }
  // A host asks for as much as it may, and for more.
  bool make_wait(RawTcp& raw, Clock::duration most) {
    const auto begin = Clock::now();
    std::uint64_t revision = 0;
    for (int turns = 0; turns < 3;) {
      if (Clock::now() - begin > most) return false;
      raw.send(change(++revision));
      for (turns = 0; turns < 3 && heard(raw.received()).answers.size() < revision; ++turns) {
        pump_.turns(4);
      }
    }
    return true;
  }
};

TEST_F(ManyChanges, that_wait_are_bounded_by_host) {
  RawTcp spender = greeted(alike_hello(100), 2);
  if (!make_wait(spender, 20s)) GTEST_SKIP() << "this machine is too slow for that";
  std::vector<RawTcp> senders;
  for (std::uint8_t i = 0; i < 3; ++i) senders.push_back(greeted(alike_hello(101 + i), 2));
  // Of the pages of each, one may wait. What the host may ask comes back with time, so that on a
  // slow machine many are taken: each sends more at once than comes back in seconds.
  Bytes many;
  for (std::uint64_t revision = 1; revision <= 100; ++revision) append(many, change(revision));
  std::vector<std::size_t> done(senders.size());
  const auto send_more = [&] {
    for (std::size_t i = 0; i < senders.size(); ++i) {
      if (!senders[i].ended()) done[i] += senders[i].send(std::span(many).subspan(done[i]));
    }
  };
  for (std::size_t i = 0; i < senders.size(); ++i) {
    EXPECT_SOON(pump_, (send_more(), at_publish_.downs.size() > i));
    const Seen::Gone& gone = next_down();
    EXPECT_EQ(gone.down.reason, DownReason::protocol_error);
    EXPECT_NE(gone.down.detail.find("than can wait"), std::string::npos) << gone.down.detail;
  }
  RawTcp other = greeted(alike_hello(110), 3);
  other.send(page_of(Change{.ranges = {{7, 7}}}));
  EXPECT_EQ(answered(other).answers.size(), 1U);
}

}  // namespace
}  // namespace netio::test
