// Subscribers that do not read: each policy bounds what they cost the publisher, and nobody else
// loses anything by them.
#include <malloc.h>
#include <vector>

#include "conformance/evil_subscriber.hpp"

namespace netio::test {
namespace {

using detail::WireMode;
using detail::WirePolicy;

constexpr std::uint64_t evil_tag = 0xe711;
constexpr TagRange good_range{good_tag, good_tag};
constexpr TagRange evil_range{evil_tag, evil_tag};

class SlowSubscriber : public EvilSubscriber {
 protected:
  SlowSubscriber() {
    publish_.on_subscribe([this](const PeerInfo&, std::span<const TagRange>) { ++subscribed_; });
  }
  void SetUp() override {
    EvilSubscriber::SetUp();
    probe_.connect(probed_.bind("tcp://127.0.0.1:0"));
    ASSERT_SOON(pump_, probe_.peers_connected() == 1);
    pages_ = pages_free();
  }
  // All memory is home once nobody is behind.
  void TearDown() override {
    EvilSubscriber::TearDown();
    EXPECT_EQ(pages_free(), pages_);
  }

  // Subscribes, and reads nothing any more.
  RawTcp silent(const Change& change, const detail::Hello& hello) {
    RawTcp raw = greeted(hello);
    const int before = subscribed_;
    raw.send(page_of(change));
    EXPECT_SOON(pump_, subscribed_ == before + 1);
    return raw;
  }
  RawTcp silent(const Change& change) { return silent(change, alike_hello(++session_)); }
  // Publishes for it until its policy has to drop something.
  void fill(std::uint64_t tag) {
    const Bytes message(20'000);
    ASSERT_SOON(pump_, [&] {
      for (int i = 0; i < 16 && publish_.send(message, tag) == Status::ok; ++i) continue;
      return publish_.books().dropped() > 0;
    }());
  }
  // How many pages of the send pool can be had now.
  std::size_t pages_free() {
    std::vector<Message> pages;
    for (Status status = Status::ok; status == Status::ok;) {
      pages.push_back(probe_.allocate(100, status));
    }
    return pages.size() - 1;
  }

 private:
  int subscribed_ = 0;
  std::uint8_t session_ = 0;
  std::size_t pages_ = 0;
  Push probe_{here_};
  Pull probed_{there_};
};

// What `work` left on the heap, in bytes; 0 where the allocator does not tell.
template <class Work>
std::size_t left_on_heap(Work&& work) {
  const auto used = [] {
    const struct mallinfo2 info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  const std::size_t before = used();
  work();
  const std::size_t after = used();
  return after > before ? after - before : 0;
}

struct Silence {
  const char* name;
  WirePolicy policy;
  TagRange range;
  std::uint8_t session;
};

TEST_F(SlowSubscriber, that_may_lose_messages_costs_nobody_else_any) {
  constexpr TagRange every{0, ~std::uint64_t{0}};
  for (const Silence& one : {
           Silence{"drop new, in the group of the good one", WirePolicy::drop_new, good_range, 100},
           Silence{"drop new, in one of its own", WirePolicy::drop_new, every, 101},
           Silence{"drop old, in the group of the good one", WirePolicy::drop_old, good_range, 102},
           Silence{"drop old, in one of its own", WirePolicy::drop_old, every, 103},
           Silence{"sample, in the group of the good one", WirePolicy::sample, good_range, 104},
           Silence{"sample, in one of its own", WirePolicy::sample, every, 105},
       }) {
    SCOPED_TRACE(one.name);
    RawTcp raw = silent({.ranges = {one.range}, .policy = one.policy, .behind_bytes_max = mebi},
                        alike_hello(one.session));
    const std::uint64_t dropped = publish_.books().dropped();
    std::uint64_t number = 0;
    const std::size_t bytes = left_on_heap([&] {
      ASSERT_SOON(pump_, [&] {
        for (int i = 0; i < 16; ++i) {
          if (publish_good(20'000 + number++ % 100) != Status::ok) break;
        }
        return publish_.books().dropped() > dropped + 500;
      }());
      good_messages();
    });
    EXPECT_LT(bytes, 4 * mebi);
    EXPECT_EQ(at_publish_.downs.size(), one.session - 100U) << at_publish_.why();
    raw.reset();
    EXPECT_EQ(next_down().down.reason, DownReason::lost) << at_publish_.why();
    good_messages();
  }
}

TEST_F(SlowSubscriber, that_asked_to_be_disconnected_is) {
  // By what waits for it, and by how long.
  for (const std::uint64_t bound : {mebi, std::size_t{1} << 40U}) {
    const RawTcp raw = silent({.ranges = {good_range},
                               .policy = WirePolicy::disconnect,
                               .behind_bytes_max = bound,
                               .behind_for_ms = bound == mebi ? 0U : 50U});
    ASSERT_SOON(pump_, [&] {
      for (int i = 0; i < 16; ++i) (void)publish_good(20'000);
      return publish_.peers_connected() == 1;
    }());
    EXPECT_EQ(next_down().down.reason, DownReason::too_slow) << at_publish_.why();
    good_messages();
  }
}

// It is on its way already, in order.
TEST_F(SlowSubscriber, that_says_good_bye_is_not_disconnected_as_well) {
  RawTcp raw = silent({.ranges = {evil_range},
                       .policy = WirePolicy::disconnect,
                       .behind_bytes_max = std::uint64_t{1} << 40U,
                       .behind_for_ms = 100});
  const Bytes message(20'000);
  ASSERT_SOON(pump_, [&] {
    for (int i = 0; i < 16; ++i) (void)publish_.send(message, evil_tag);
    return publish_.peers().at(1).behind;
  }());
  raw.send(control_page(control_frame(detail::ControlKind::bye, {})));
  const Seen::Gone& gone = next_down();
  EXPECT_EQ(gone.down.reason, DownReason::closed_by_peer) << at_publish_.why();
  const Books books = gone.peer.books;
  EXPECT_EQ(books.dropped_by[static_cast<std::size_t>(DropReason::peer_closed)], books.dropped());
}

TEST_F(SlowSubscriber, that_blocks_holds_up_only_what_it_subscribed) {
  RawTcp raw = silent({.ranges = {evil_range}, .policy = WirePolicy::block});
  const Bytes message(20'000);
  std::uint64_t taken = 0;
  for (int refused = 0; refused < 50;) {
    const Status status = publish_.send(message, evil_tag);
    refused = status == Status::ok ? 0 : refused + 1;
    taken += status == Status::ok ? 1 : 0;
    if (status != Status::ok) pump_.turn();
  }
  good_messages(5000);
  EXPECT_EQ(publish_.send(message, evil_tag), Status::again);
  EXPECT_EQ(publish_.peers_connected(), 2U) << at_publish_.why();
  // It reads on, and has lost nothing.
  ASSERT_SOON(pump_, heard(raw.received()).messages == taken);
  ASSERT_SOON(pump_, publish_.send(message, evil_tag) == Status::ok);
  EXPECT_TRUE(heard(raw.received()).gaps.empty());
  raw.reset();
  EXPECT_EQ(next_down().down.reason, DownReason::lost);
}

TEST_F(SlowSubscriber, that_blocks_and_goes_lets_the_others_go_on) {
  RawTcp raw = silent({.ranges = {good_range}, .policy = WirePolicy::block});
  int writable = 0;
  publish_.on_writable([&] { ++writable; });
  for (int refused = 0; refused < 50;) {
    const Status status = publish_good(20'000);
    refused = status == Status::ok ? 0 : refused + 1;
    if (status != Status::ok) pump_.turn();
  }
  ASSERT_SOON(pump_, good_received_ == good_sent_);
  const int before = writable;
  ASSERT_EQ(publish_good(20'000), Status::again);
  pump_.run_for(20ms);
  EXPECT_EQ(writable, before) << "nothing has changed";
  raw.reset();
  EXPECT_EQ(next_down().down.reason, DownReason::lost);
  EXPECT_SOON(pump_, writable == before + 1);
  good_messages(100);
}

// A bound of no bytes: whatever the wire does not take at once is dropped, or waited for.
// However long its end takes: it reads nothing.
TEST_F(SlowSubscriber, that_blocks_fills_nobody_up_once_it_says_good_bye) {
  bool high = false;
  std::size_t connected_when_low = 0;
  publish_.on_high_watermark([&high] { high = true; });
  publish_.on_low_watermark([&] { connected_when_low = publish_.peers_connected(); });
  RawTcp raw = silent({.ranges = {evil_range}, .policy = WirePolicy::block});
  const Bytes message(20'000);
  ASSERT_SOON(pump_, publish_.send(message, evil_tag) == Status::again && high);
  pump_.turns(5);
  raw.send(control_page(control_frame(detail::ControlKind::bye, {})));
  EXPECT_SOON(pump_, connected_when_low == 2);
  publish_.on_high_watermark(nullptr);
  publish_.on_low_watermark(nullptr);
  EXPECT_EQ(next_down().down.reason, DownReason::closed_by_peer) << at_publish_.why();
}

TEST_F(SlowSubscriber, that_lets_nothing_wait_holds_nobody_up_while_it_reads) {
  for (const WirePolicy policy :
       {WirePolicy::block, WirePolicy::drop_new, WirePolicy::drop_old, WirePolicy::sample}) {
    SCOPED_TRACE(static_cast<int>(policy));
    RawTcp raw = silent({.ranges = {good_range}, .policy = policy, .behind_bytes_max = 0});
    good_messages(100);
    const std::uint64_t wanted = good_sent_ + 200;
    ASSERT_SOON(pump_, [&] {
      (void)raw.received();
      if (good_sent_ < wanted) (void)publish_good(5000);
      return good_received_ == wanted;
    }());
    EXPECT_GT(heard(raw.received()).messages, 0U);
    raw.reset();
    EXPECT_EQ(next_down().down.reason, DownReason::lost);
  }
}

TEST_F(SlowSubscriber, that_blocks_holds_up_nothing_it_has_unsubscribed) {
  RawTcp raw = silent({.ranges = {good_range}, .policy = WirePolicy::block});
  int writable = 0;
  publish_.on_writable([&] { ++writable; });
  for (int refused = 0; refused < 50;) {
    const Status status = publish_good(20'000);
    refused = status == Status::ok ? 0 : refused + 1;
    if (status != Status::ok) pump_.turn();
  }
  ASSERT_SOON(pump_, good_received_ == good_sent_);
  const int before = writable;
  ASSERT_EQ(publish_good(20'000), Status::again);
  raw.send(page_of({.revision = 2, .ranges = {evil_range}, .policy = WirePolicy::block}));
  EXPECT_SOON(pump_, writable == before + 1);
  good_messages(100);
  raw.reset();
  EXPECT_EQ(next_down().down.reason, DownReason::lost);
}

TEST_F(SlowSubscriber, that_comes_back_before_it_is_missed_is_told_of_all_that_waited) {
  constexpr std::uint8_t session = 70;
  const RawTcp raw = silent({.ranges = {evil_range}}, alike_hello(session));
  const Bytes message(20'000);
  std::uint64_t sent = 0;
  ASSERT_SOON(pump_, [&] {
    for (int i = 0; i < 16 && publish_.send(message, evil_tag) == Status::ok; ++i) ++sent;
    return publish_.books().dropped() > 0;
  }());
  detail::Hello later = alike_hello(session);
  later.epoch = 2;
  RawTcp again = greeted(later);
  ASSERT_SOON(pump_, heard(again.received()).confirm);
  const std::uint64_t posted = heard(again.received()).confirm->next;
  again.send(control_page(frame_of({.ranges = {evil_range}}), 0, posted));
  const Heard now = answered(again);
  EXPECT_EQ(now.answers[0].from, sent);
  ASSERT_FALSE(now.gaps.empty());
  EXPECT_EQ(posted + now.gaps.back().dropped, sent);
  EXPECT_EQ(next_down().down.reason, DownReason::lost);
  again.reset();
  EXPECT_EQ(next_down().down.reason, DownReason::lost);
}

// --- What waits is bounded, however small its pieces are.

constexpr std::uint64_t small_bound = 2048;

TEST_F(SlowSubscriber, that_samples_costs_no_more_for_each_message_dropped) {
  RawTcp raw = silent({.ranges = {evil_range, {evil_tag + 2, evil_tag + 2}},
                       .policy = WirePolicy::sample,
                       .behind_bytes_max = small_bound});
  fill(evil_tag);
  const Bytes fits(100);
  const Bytes too_large(3000);
  // Superseded and refused in turn: each is a gap of another reason.
  const std::size_t bytes = left_on_heap([&] {
    for (int i = 0; i < 50'000; ++i) {
      ASSERT_EQ(publish_.send(fits, evil_tag), Status::ok);
      ASSERT_EQ(publish_.send(too_large, evil_tag + 2), Status::ok);
    }
    publish_.flush();
  });
  EXPECT_LT(bytes, mebi);
  raw.reset();
  (void)next_down();
}

TEST_F(SlowSubscriber, that_drops_old_ones_costs_no_more_for_each_message_dropped) {
  RawTcp raw = silent(
      {.ranges = {evil_range}, .policy = WirePolicy::drop_old, .behind_bytes_max = small_bound});
  fill(evil_tag);
  const Bytes fits(100);
  const Bytes too_large(3000);
  const std::size_t bytes = left_on_heap([&] {
    for (int i = 0; i < 10'000; ++i) {
      for (const Bytes& message : {fits, too_large}) {
        ASSERT_EQ(publish_.send(message, evil_tag), Status::ok);
        publish_.flush();
      }
    }
  });
  EXPECT_LT(bytes, mebi);
  raw.reset();
  (void)next_down();
}

TEST_F(SlowSubscriber, that_takes_no_large_messages_costs_no_more_for_each_gap) {
  detail::Hello hello = alike_hello(66);
  hello.message_bytes_max = 1000;
  RawTcp raw = silent(
      {.ranges = {evil_range}, .policy = WirePolicy::drop_old, .behind_bytes_max = small_bound},
      hello);
  const auto dropped_old = [this] {
    return publish_.books().dropped_by[static_cast<std::size_t>(DropReason::dropped_old)];
  };
  const Bytes fits(1000);
  const Bytes too_large(1001);
  ASSERT_SOON(pump_, [&] {
    for (int i = 0; i < 1000; ++i) {
      (void)publish_.send(fits, evil_tag);
      publish_.flush();
    }
    return dropped_old() > 0;
  }());
  const std::size_t bytes = left_on_heap([&] {
    for (int i = 0; i < 20'000; ++i) {
      for (const Bytes& message : {fits, too_large}) {
        ASSERT_EQ(publish_.send(message, evil_tag), Status::ok);
        publish_.flush();
      }
    }
  });
  EXPECT_LT(bytes, mebi);
  raw.reset();
  (void)next_down();
}

TEST_F(SlowSubscriber, that_samples_and_changes_its_set_takes_no_more_pages_for_it) {
  constexpr std::uint64_t tags = 20;
  const TagRange all{evil_tag, evil_tag + tags};
  RawTcp raw = silent({.ranges = {all}, .policy = WirePolicy::sample, .behind_bytes_max = mebi});
  fill(evil_tag);
  const Bytes message(20'000);
  const PublishTag sometimes = publish_.tag(all.last + 1);
  for (std::uint64_t revision = 2; revision < 40; ++revision) {
    for (std::uint64_t tag = all.first; tag < all.last; ++tag) {
      ASSERT_EQ(publish_.send(message, tag), Status::ok) << revision;
    }
    const bool more = revision % 2 == 0;
    raw.send(page_of({.revision = revision,
                      .ranges = {{all.first, all.last + (more ? 1U : 0U)}},
                      .policy = WirePolicy::sample,
                      .behind_bytes_max = mebi}));
    ASSERT_SOON(pump_, sometimes.wanted() == more) << at_publish_.why();
  }
  EXPECT_GT(pages_free(), 24U);
  good_messages(100);
  raw.reset();
  (void)next_down();
}

TEST_F(SlowSubscriber, that_samples_very_many_tags_costs_what_it_asked_for) {
  constexpr std::uint64_t tags = 100'000;
  constexpr std::uint64_t first_tag = 1'000'000;
  const auto publish_each = [&] {
    for (std::uint64_t tag = first_tag; tag < first_tag + tags; ++tag) {
      ASSERT_EQ(publish_.send(tag % 2 == 0 ? "" : "x", tag), Status::ok);
    }
    publish_.flush();
  };
  publish_each();  // the publisher knows them from here on
  RawTcp raw = silent({.ranges = {evil_range, {first_tag, first_tag + tags}},
                       .policy = WirePolicy::sample,
                       .behind_bytes_max = 65'536});
  fill(evil_tag);
  EXPECT_LT(left_on_heap(publish_each), mebi);
  raw.reset();
  (void)next_down();
}

TEST_F(SlowSubscriber, of_very_many_messages_shared_costs_what_it_asked_for) {
  detail::Hello hello = alike_hello(66);
  hello.mode = WireMode::unbuffered;
  RawTcp raw = silent({.ranges = {evil_range}, .behind_bytes_max = 65'536}, hello);
  fill(evil_tag);
  const std::size_t bytes = left_on_heap([&] {
    for (int i = 0; i < 50'000; ++i) {
      ASSERT_EQ(publish_.send(Message::copy_of(Bytes(static_cast<std::size_t>(i % 2)), evil_tag)),
                Status::ok);
    }
  });
  EXPECT_LT(bytes, mebi);
  raw.reset();
  (void)next_down();
}

}  // namespace
}  // namespace netio::test
