// Subscribers in processes of their own, killed while much is published: on every transport the
// others miss nothing, and the publisher's memory comes home.
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include "conformance/conformance.hpp"
#include "conformance/evil.hpp"
#include "support/child.hpp"
#ifdef NETIO_WITH_FABRIC
#include "support/raw_tcp.hpp"
#include "support/region_leaks.hpp"
#endif

namespace netio::test {
namespace {

#ifdef NETIO_WITH_FABRIC
using Leaks = NoRegionLeaks;
#else
class Leaks {};
#endif

// Where two processes can meet. What a process that has used verbs forks cannot use it any more:
// there tests/rdma/run kills a subscriber that is a program of its own.
std::vector<Row> between_processes() {
  std::vector<Row> rows = every_transport();
  std::erase_if(rows, [](const Row& row) { return row.one_mode || row.name == "verbs"; });
  return rows;
}

SocketOptions large_options() {
  SocketOptions options = wary_options();
  options.message_bytes_max = 64 * mebi;
  options.stall_after = 30s;
  // A greeting that a busy machine gives up would be one more peer that went.
  options.handshake_within = soon_max;
  return options;
}

// Takes everything until it is killed; pauses for ever behind the first `reads` messages.
std::unique_ptr<Child> subscriber(Policy policy, std::uint64_t reads) {
  return std::make_unique<Child>([policy, reads](const std::string& address, int report_to) {
    Context context(wary_context());
    Subscribe subscribe(context, {.policy = policy}, large_options());
    Pump pump{&context};
    std::uint64_t count = 0;
    subscribe.on_message([&](const MessageView&) {
      if (++count == reads) subscribe.pause();
      if (count == std::min<std::uint64_t>(reads, 200)) report(report_to);
    });
    subscribe.subscribe_all();
    subscribe.connect(address);
    for (;;) pump.turn(100ms);
  });
}

class KilledSubscriber : private Leaks, public testing::TestWithParam<Row> {
 protected:
  void SetUp() override {
    if (const std::string why = GetParam().why_absent(); !why.empty()) GTEST_SKIP() << why;
  }
};

// A publisher, and a good subscriber of it.
struct Broadcast {
  explicit Broadcast(const std::string& place) {
    good.on_message([this](const MessageView& message) {
      EXPECT_TRUE(is_payload(message.bytes(), received));
      ++received;
    });
    good.subscribe_all();
    address = publish.bind(place);
    good.connect(address);
    probe.connect(probed.bind(place));
    bool subscribed = false;
    good.on_subscribed([&](const PeerInfo&, const Subscribed&) { subscribed = true; });
    EXPECT_SOON(pump, subscribed && probe.peers_connected() == 1);
    good.on_subscribed(nullptr);
    pump.after_each_turn(BooksCheck(publish));
  }
  ~Broadcast() { pump.forget_checks(); }
  // Publishes until the condition holds: mostly small ones, sometimes one in many pages.
  template <class Condition>
  void publish_until(Condition&& condition) {
    EXPECT_SOON(pump,
                [&] {
                  for (int i = 0; i < 32; ++i) {
                    const std::size_t bytes = sent % 100 == 99 ? 300'000 : 8 + sent % 2000;
                    if (publish.send(payload(sent, bytes), sent % 7) != Status::ok) break;
                    ++sent;
                  }
                  return condition();
                }())
        << received << " of " << sent << " received, " << publish.peers_connected() << " there, "
        << testing::PrintToString(publish.books()) << "\n"
        << at_publish.why();
  }
  void settle() {
    // Of those that were killed it is not known what they still got.
    std::uint64_t in_doubt = 0;
    for (const Seen::Gone& gone : at_publish.downs) in_doubt += gone.peer.books.in_doubt;
    ASSERT_SOON(pump, received == sent && publish.books().unsettled() == in_doubt)
        << received << " of " << sent << " received";
    EXPECT_EQ(good.books().missed, 0U);
    EXPECT_TRUE(at_good.downs.empty()) << at_good.why();
  }
  // One that still lives has acknowledged something: the good one has not more than it received.
  [[nodiscard]] bool acknowledged_by_another() const {
    std::uint64_t by_those_known = received;
    for (const Seen::Gone& gone : at_publish.downs) by_those_known += gone.peer.books.acknowledged;
    return publish.books().acknowledged > by_those_known;
  }
  // How many pages of the pool that this transport sends from can be had now. What others gave
  // back, and these, are there again after a turn.
  std::size_t pages_free() {
    std::vector<Message> pages;
    for (Status status = Status::ok; status == Status::ok;) {
      pages.push_back(probe.allocate(100, status));
    }
    return pages.size();
  }

  Context here{wary_context()};
  Context there{wary_context()};
  Pump pump{&here, &there};
  Publish publish{here, {}, large_options()};
  Seen at_publish{publish};
  Subscribe good{there, {.policy = Policy::block}, large_options()};
  Seen at_good{good};
  Push probe{here, large_options()};
  Pull probed{there, large_options()};
  std::string address;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

TEST_P(KilledSubscriber, under_load_is_lost_and_the_others_miss_nothing) {
  std::array<std::unique_ptr<Child>, 4> children;
  const std::array policies{Policy::block, Policy::drop_new, Policy::drop_old, Policy::sample};
  for (std::size_t i = 0; i < children.size(); ++i) children[i] = subscriber(policies[i], ~0ULL);
  Broadcast cast(GetParam().address);
  const std::size_t pages = cast.pages_free();
  Random random(42);
  for (std::size_t i = 0; i < children.size(); ++i) {
    SCOPED_TRACE(to_string(policies[i]));
    children[i]->begin(cast.address);
    cast.publish_until([&] { return children[i]->reported(); });
    cast.publish_until([&] { return cast.acknowledged_by_another(); });
    const std::uint64_t more = cast.sent + random.below(500);
    cast.publish_until([&] { return cast.sent >= more; });
    children[i]->kill();
    cast.publish_until([&] { return cast.at_publish.downs.size() == i + 1; });
    const Seen::Gone& gone = cast.at_publish.downs.back();
    EXPECT_EQ(gone.down.reason, DownReason::lost) << gone.down.detail;
    EXPECT_TRUE(is_readable(gone.down));
    EXPECT_TRUE(add_up(gone.peer.books));
    EXPECT_GT(gone.peer.books.acknowledged, 0U);
    cast.settle();
  }
  EXPECT_TRUE(add_up(cast.publish.books()));
  EXPECT_SOON(cast.pump, cast.pages_free() == pages);
}

TEST_P(KilledSubscriber, in_the_middle_of_a_large_message_gives_its_memory_back) {
  std::array<std::unique_ptr<Child>, 2> children{subscriber(Policy::block, 1),
                                                 subscriber(Policy::drop_new, 1)};
  Broadcast cast(GetParam().address);
  const std::size_t pages = cast.pages_free();
  std::uint64_t released = 0;
  cast.publish.on_released([&](std::uint64_t) { ++released; });
  for (std::size_t i = 0; i < children.size(); ++i) {
    children[i]->begin(cast.address);
    cast.publish_until([&] { return children[i]->reported(); });
    const Bytes huge = payload(cast.sent, 16 * mebi);
    ASSERT_SOON(cast.pump, cast.publish.lend(huge, i, 5) == Status::ok);
    ++cast.sent;
    cast.pump.run_for(20ms);
    children[i]->kill();
    ASSERT_SOON(cast.pump, cast.at_publish.downs.size() == i + 1 && released == i + 1);
    EXPECT_EQ(cast.at_publish.downs.back().down.reason, DownReason::lost) << cast.at_publish.why();
    cast.settle();
  }
  EXPECT_SOON(cast.pump, cast.pages_free() == pages);
}

INSTANTIATE_TEST_SUITE_P(on, KilledSubscriber, testing::ValuesIn(between_processes()), row_name);

// --- Publishers.

// Publishes as fast as it can at a fixed address until it is killed.
std::unique_ptr<Child> publisher() {
  return std::make_unique<Child>([](const std::string& address, int) {
    Context context(wary_context());
    Publish publish(context, {}, large_options());
    Pump pump{&context};
    (void)publish.bind(address);
    for (std::uint64_t sent = 0;; pump.turn()) {
      for (int i = 0; i < 32; ++i) {
        if (publish.send(payload(sent, 8 + sent % 2000), sent % 7) == Status::ok) ++sent;
      }
    }
  });
}

std::string fixed(const std::string& place) {
  if (place.ends_with("*")) {
    return place.substr(0, place.size() - 1) + "restarted-" + std::to_string(::getpid());
  }
  return place.substr(0, place.rfind(':') + 1) + std::to_string(free_port());
}

// What one session of a publisher may say: numbers without holes, but where a gap tells.
class SessionCheck {
 public:
  explicit SessionCheck(Subscribe& subscribe) {
    subscribe.on_subscribed([this](const PeerInfo&, const Subscribed& answer) {
      EXPECT_FALSE(answer.refused);
      EXPECT_EQ(answer.from, 0U) << "another publisher counts anew";
      ++answers;
      next_ = received = gaps = 0;
    });
    subscribe.on_gap([this](const PeerInfo&, const Gap& gap) {
      EXPECT_EQ(gap.reason, DropReason::dropped_new);
      EXPECT_EQ(gap.first, next_);
      next_ += gap.count;
      missed += gap.count;
      ++gaps;
    });
    subscribe.on_message([this](const MessageView& message) {
      const std::uint64_t number = number_of(message.bytes());
      EXPECT_TRUE(is_payload(message.bytes(), number));
      if (received == 0) offset_ = number - next_;
      EXPECT_EQ(number, offset_ + next_);
      ++next_;
      ++received;
      ++all;
    });
  }

  std::size_t answers = 0;
  std::uint64_t received = 0;  // in this session
  std::uint64_t gaps = 0;
  std::uint64_t missed = 0;  // in all
  std::uint64_t all = 0;

 private:
  std::uint64_t next_ = 0;
  std::uint64_t offset_ = 0;
};

class RestartedPublisher : public KilledSubscriber {};

TEST_P(RestartedPublisher, is_subscribed_again_and_tells_what_it_dropped) {
  std::array<std::unique_ptr<Child>, 3> children{publisher(), publisher(), publisher()};
  const std::string address = fixed(GetParam().address);
  Context context(wary_context());
  Pump pump{&context};
  Subscribe subscribe(context, {.behind_bytes_max = 65'536}, large_options());
  Seen at_subscribe(subscribe);
  SessionCheck check(subscribe);
  pump.after_each_turn(BooksCheck(subscribe));
  subscribe.subscribe_all();
  subscribe.connect(address);
  for (std::size_t i = 0; i < children.size(); ++i) {
    children[i]->begin(address);
    ASSERT_SOON(pump, check.answers == i + 1 && check.received >= 2000) << at_subscribe.why();
    // Slow now and then, and for longer each time, until something is dropped: on a busy machine
    // the publisher takes a while to fill what lies between.
    std::chrono::milliseconds slow_for = 10ms;
    ASSERT_SOON(pump, [&] {
      subscribe.pause();
      pump.run_for(slow_for);
      subscribe.resume();
      const bool told = pump.until([&] { return check.gaps > 0; }, "gap", slow_for);
      slow_for = std::min(2 * slow_for, std::chrono::milliseconds(2s));
      return told;
    }());
    const std::size_t downs = at_subscribe.downs.size();
    children[i]->kill();
    ASSERT_SOON(pump, at_subscribe.downs.size() > downs);
    EXPECT_EQ(at_subscribe.downs[downs].down.reason, DownReason::lost) << at_subscribe.why();
    EXPECT_TRUE(at_subscribe.downs[downs].peer.retrying);
  }
  EXPECT_EQ(subscribe.books().delivered, check.all);
  EXPECT_EQ(subscribe.books().missed, check.missed);
}

INSTANTIATE_TEST_SUITE_P(on, RestartedPublisher, testing::ValuesIn(between_processes()), row_name);

}  // namespace
}  // namespace netio::test
