// Changes of a subscription as fast as they can be sent, and as large: bounded in time and memory,
// and others are served meanwhile.
#include <array>
#include <atomic>
#include <chrono>
#include <ctime>
#include <functional>
#include <iostream>
#include <malloc.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include "conformance/evil_subscriber.hpp"
#include "support/sanitized.hpp"

namespace netio::test {
namespace {

namespace flag = detail::subscribe_flag;
using Clock = std::chrono::steady_clock;

// Sends what `next` makes, on a thread of its own, until the connection ends.
class Flood {
 public:
  Flood(RawTcp raw, bool reads, std::function<Bytes(std::uint64_t)> next)
      : raw_(std::move(raw)), thread_([this, reads, next = std::move(next)] {
          for (std::uint64_t i = 0; !stop_.load() && send(next(i), reads); ++i) pages_.store(i + 1);
        }) {}
  ~Flood() {
    stop_.store(true);
    thread_.join();
  }
  [[nodiscard]] std::uint64_t pages() const { return pages_.load(); }

 private:
  bool send(const Bytes& bytes, bool reads) {
    for (std::size_t done = 0; done < bytes.size();) {
      done += raw_.send(std::span(bytes).subspan(done));
      // Read and forgotten, in pieces.
      std::array<std::byte, 65536> answers;
      if (reads) (void)::recv(raw_.fd(), answers.data(), answers.size(), MSG_DONTWAIT);
      pollfd wait{raw_.fd(), POLLOUT, 0};
      (void)::poll(&wait, 1, 10);
      if ((wait.revents & (POLLERR | POLLHUP)) != 0 || stop_.load()) return false;
    }
    return true;
  }

  RawTcp raw_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> pages_{0};
  std::thread thread_;
};

std::size_t heap_used() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

std::int64_t thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

class SubscriptionFlood : public EvilSubscriber {
 protected:
  SubscriptionFlood() : EvilSubscriber(PublishOptions{.ranges_max = ranges_max}) {}
  static constexpr std::size_t ranges_max = 100'000;

  // The good one's messages until `done`, for `most` at the longest.
  std::uint64_t messages_until(const std::function<bool()>& done, Clock::duration most) {
    const std::uint64_t before = good_received_;
    const std::int64_t cpu_before_ns = thread_cpu_ns();
    const auto begin = Clock::now();
    while (!done() && Clock::now() - begin < most) {
      for (int i = 0; i < 64 && publish_good(100) == Status::ok; ++i) continue;
      pump_.turn();
      heap_most_ = std::max(heap_most_, heap_used());
    }
    cpu_ns_ = static_cast<double>(thread_cpu_ns() - cpu_before_ns);
    const std::chrono::duration<double, std::nano> passed = Clock::now() - begin;
    cpu_share_ = cpu_ns_ / passed.count();
    return good_received_ - before;
  }
  // Messages for each nanosecond that this thread runs, however busy the machine is.
  double messages_rate() {
    const auto messages =
        static_cast<double>(messages_until([] { return false; }, sanitized ? 1000ms : 300ms));
    return messages / cpu_ns_;
  }
  // It is ended, with a reason that says what it did, in bounded memory.
  void expect_ended(bool reads, const std::function<Bytes(std::uint64_t)>& next) {
    RawTcp raw = greeted(100);
    const std::size_t heap = heap_most_ = heap_used();
    const Flood flood(std::move(raw), reads, next);
    EXPECT_GT(messages_until([&] { return !at_publish_.downs.empty(); }, 20s), 0U);
    const Seen::Gone& gone = next_down();
    EXPECT_EQ(gone.down.reason, DownReason::protocol_error) << gone.down.detail;
    EXPECT_NE(gone.down.detail.find("subscription"), std::string::npos) << gone.down.detail;
    EXPECT_LT(heap_most_ - std::min(heap, heap_most_), 64 * mebi);
    good_messages();
  }
  // It is kept, and no more of its pages are taken than its host is allowed; each of them costs at
  // least `cost`. Another connection after it is not allowed more, and a subscriber of the same
  // host has its turn too.
  void expect_slowed_down(double cost, const std::function<Bytes(std::uint64_t)>& next) {
    constexpr double at_once = 1U << 21U;
    constexpr double a_second = 1U << 18U;
    const double in_buffers = 16.0 * mebi / static_cast<double>(next(1).size());
    const double rate = messages_rate();
    const std::size_t heap = heap_most_ = heap_used();
    const auto begin = Clock::now();
    double pages = 0;
    for (std::uint8_t session = 100; session < 102; ++session) {
      const Flood flood(greeted(session), true, next);
      const double wanted = at_once / cost;
      EXPECT_GT(messages_until([&] { return static_cast<double>(flood.pages()) > wanted; }, 2s),
                0U);
      double rate_now = messages_rate();
      if (session == 101) {
        // Once what its host had in advance is used up, most of the time is the good one's.
        // With a sanitizer what the host may go on to ask for takes as much.
        const double enough = sanitized ? 0 : rate / 4;
        for (int i = 0; i < 20 && rate_now <= enough; ++i) rate_now = messages_rate();
        // A host is allowed so much a second of the clock: on a machine that gives this thread a
        // small part of each second, that may be all of it.
        if (cpu_share_ > 0.5) {
          EXPECT_GT(rate_now, enough);
        }
        Subscribe late(there_, {}, wary_options());
        int answers = 0;
        late.on_subscribed([&answers](const PeerInfo&, const Subscribed&) { ++answers; });
        late.subscribe(good_tag + 1);
        late.connect(address());
        EXPECT_GT(messages_until([&] { return answers == 1; }, sanitized ? 60s : 20s), 0U);
        EXPECT_EQ(answers, 1);
      }
      pages += static_cast<double>(flood.pages());
    }
    const std::chrono::duration<double> taken = Clock::now() - begin;
    EXPECT_LT(pages, (at_once + a_second * taken.count()) / cost + 2 * in_buffers + 10);
    EXPECT_LT(heap_most_ - std::min(heap, heap_most_), 64 * mebi);
    // On a busy machine its thread may be late to read the answers, which is another matter.
    for (const Seen::Gone& gone : at_publish_.downs) {
      EXPECT_TRUE(gone.down.reason != DownReason::protocol_error ||
                  gone.down.detail.find("does not read the answers") != std::string::npos)
          << gone.down.detail;
    }
    good_messages();
  }

 private:
  std::size_t heap_most_ = 0;
  double cpu_ns_ = 0;     // of this thread, in messages_until()
  double cpu_share_ = 0;  // of the time that passed there
};

// Every second tag below `count`.
std::vector<TagRange> every_second(std::uint64_t count) {
  std::vector<TagRange> tags;
  for (std::uint64_t tag = 0; tag < 2 * count; tag += 2) tags.push_back({tag, tag});
  return tags;
}

TEST_F(SubscriptionFlood, of_tiny_changes_whose_answers_are_not_read_is_ended) {
  expect_ended(false, [](std::uint64_t number) {
    return page_of(Change{
        .revision = number + 1,
        .flags = static_cast<std::uint16_t>(
            number == 0 ? whole_and_last : (number % 2 == 0 ? 0U : flag::remove) | flag::last),
        .ranges = {{number % 64 / 2, number % 64 / 2}}});
  });
}

// Each of them walks over a set of 4000 ranges some ten times.
TEST_F(SubscriptionFlood, of_tiny_changes_of_a_large_set_is_slowed_down) {
  expect_slowed_down(1000, [](std::uint64_t number) {
    if (number == 0) return page_of(Change{.ranges = every_second(4000)});
    return page_of(Change{
        .revision = number + 1,
        .flags = static_cast<std::uint16_t>((number % 2 == 0 ? 0U : flag::remove) | flag::last),
        .ranges = {{8, 8}}});
  });
}

TEST_F(SubscriptionFlood, of_whole_sets_is_slowed_down) {
  expect_slowed_down(4000, [tags = every_second(4000)](std::uint64_t number) mutable {
    tags.back().last = tags.back().first + number % 2;
    return page_of(Change{.revision = number + 1, .ranges = tags});
  });
}

TEST_F(SubscriptionFlood, of_pages_that_add_and_remove_the_same_is_slowed_down) {
  expect_slowed_down(9000, [](std::uint64_t number) {
    Bytes frames;
    for (std::uint64_t i = 0; i < 1000; ++i) {
      const auto flags = static_cast<std::uint16_t>(
          (i % 2 == 0 ? 0U : flag::remove) | (number + i == 0 ? flag::whole : 0U) | flag::last);
      append(frames, frame_of(Change{.revision = 1000 * number + i + 1,
                                     .flags = flags,
                                     .ranges = {{0, ~std::uint64_t{0}}}}));
    }
    return control_page(frames);
  });
}

// A change names one range. What takes the time is that the publisher knows many tags in it.
TEST_F(SubscriptionFlood, of_changes_of_many_published_tags_is_slowed_down) {
  constexpr std::uint64_t tags = 20'000;
  constexpr std::uint64_t first = 1'000'000;
  for (std::uint64_t i = 0; i < tags; ++i) (void)publish_.tag(first + i);
  double changes = 0;
  publish_.on_subscribe([&](const PeerInfo&, std::span<const TagRange>) { ++changes; });
  publish_.on_unsubscribe([&](const PeerInfo&, std::span<const TagRange>) { ++changes; });
  // As many as were allowed in advance, and the same again.
  constexpr double at_once = (1U << 21U) / (tags / 4.0);
  constexpr double a_second = (1U << 18U) / (tags / 4.0);
  const auto begin = Clock::now();
  const Flood flood(greeted(100), true, [](std::uint64_t number) {
    Bytes frames;
    for (std::uint64_t i = 0; i < 100; ++i) {
      const std::uint64_t revision = 100 * number + i + 1;
      const auto flags = static_cast<std::uint16_t>(
          (i % 2 == 0 ? 0U : flag::remove) | (revision == 1 ? flag::whole : 0U) | flag::last);
      append(frames, frame_of(Change{
                         .revision = revision, .flags = flags, .ranges = {{first, first + tags}}}));
    }
    return control_page(frames);
  });
  EXPECT_GT(messages_until([&] { return changes > 2 * at_once; }, 3s), 0U);
  const std::chrono::duration<double> taken = Clock::now() - begin;
  EXPECT_GT(changes, 0);
  EXPECT_LT(changes, at_once + a_second * taken.count() + 10);
  publish_.on_subscribe({});
  publish_.on_unsubscribe({});
}

// One change that never ends.
TEST_F(SubscriptionFlood, of_one_change_without_end_is_ended) {
  expect_ended(true, [](std::uint64_t number) {
    std::vector<TagRange> tags;
    for (std::uint64_t i = 0; i < 4000; ++i) {
      const std::uint64_t tag = 2 * (4000 * number + i);
      tags.push_back({tag, tag});
    }
    return page_of(Change{.flags = number == 0 ? flag::whole : std::uint16_t{0}, .ranges = tags});
  });
}

// --- Large sets that are meant. A sanitizer makes a million take longer than anybody is given.

constexpr std::uint64_t many_tags = sanitized ? 100'000 : 1'000'000;

std::vector<TagRange> tags_apart(std::uint64_t count) {
  std::vector<TagRange> tags;
  tags.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) tags.push_back({3 * i + 1'000'000, 3 * i + 1'000'000});
  return tags;
}

class LargeSet : public EvilSubscriber {
 protected:
  using EvilSubscriber::EvilSubscriber;
  // The answers to one who subscribes these, all at once.
  void expect_taken(Subscribe& subscribe, std::size_t answers) {
    const auto begin = Clock::now();
    ASSERT_SOON(pump_, answers_.size() == answers || !at_publish_.downs.empty());
    const std::chrono::duration<double> taken = Clock::now() - begin;
    std::cout << subscribe.subscribed().size() << " ranges answered after " << taken.count()
              << " s\n";
    ASSERT_TRUE(at_publish_.downs.empty()) << at_publish_.why();
    ASSERT_EQ(answers_.size(), answers);
  }
  void listen_to(Subscribe& subscribe) {
    subscribe.on_subscribed(
        [this](const PeerInfo&, const Subscribed& answer) { answers_.push_back(answer); });
    subscribe.on_message([this](const MessageView& message) { tags_.push_back(message.tag()); });
  }
  std::vector<Subscribed> answers_;
  std::vector<std::uint64_t> tags_;
};

TEST_F(LargeSet, of_very_many_tags_is_taken) {
  Subscribe subscribe(there_, {}, wary_options());
  listen_to(subscribe);
  subscribe.subscribe(tags_apart(many_tags));
  subscribe.connect(address());
  expect_taken(subscribe, 1);
  EXPECT_FALSE(answers_[0].refused) << answers_[0].detail;
  constexpr std::uint64_t first = 1'000'000;
  constexpr std::uint64_t middle = first + 3 * (many_tags / 2);
  constexpr std::uint64_t last = first + 3 * (many_tags - 1);
  for (const std::uint64_t tag : {first, first + 1, middle, last, last + 3}) {
    ASSERT_EQ(publish_.send("x", tag), Status::ok);
  }
  ASSERT_SOON(pump_, tags_.size() == 3);
  EXPECT_EQ(tags_, (std::vector<std::uint64_t>{first, middle, last}));
  good_messages(200);
}

// Sixteen times as many frames.
TEST_F(LargeSet, of_very_many_tags_is_taken_in_small_pages) {
  ContextOptions small = wary_context();
  small.page_bytes = 4096;
  Context here(small);
  pump_.add(here);
  {
    Publish publish(here, {}, wary_options());
    Seen at_publish(publish);
    Subscribe subscribe(there_, {}, wary_options());
    listen_to(subscribe);
    subscribe.subscribe(tags_apart(many_tags));
    subscribe.connect(publish.bind("tcp://127.0.0.1:0"));
    const auto begin = Clock::now();
    ASSERT_SOON(pump_, answers_.size() == 1 || !at_publish.downs.empty());
    const std::chrono::duration<double> taken = Clock::now() - begin;
    std::cout << "answered after " << taken.count() << " s\n";
    EXPECT_TRUE(at_publish.downs.empty()) << at_publish.why();
    good_messages();
  }
  pump_.remove(here);
}

// Whoever comes back with a large set is not a flood.
TEST_F(LargeSet, of_one_that_reconnects_is_taken_each_time) {
  const std::vector<TagRange> tags = tags_apart(100'000);
  for (std::size_t times = 1; times <= 22; ++times) {
    Subscribe subscribe(there_, {}, wary_options());
    listen_to(subscribe);
    subscribe.subscribe(tags);
    subscribe.connect(address());
    ASSERT_SOON(pump_, answers_.size() == times);
    ASSERT_FALSE(answers_.back().refused);
  }
  for (const Seen::Gone& gone : at_publish_.downs) {
    EXPECT_NE(gone.down.reason, DownReason::protocol_error) << gone.down.detail;
  }
}

class LargeSetRefused : public LargeSet {
 protected:
  LargeSetRefused() : LargeSet(PublishOptions{.ranges_max = many_tags - 1}) {}
};

TEST_F(LargeSetRefused, leaves_the_old_one_in_force_and_the_next_one_works) {
  constexpr std::uint64_t old_tag = 7;
  constexpr std::uint64_t new_tag = 9;
  Subscribe subscribe(there_, {}, wary_options());
  listen_to(subscribe);
  subscribe.subscribe(old_tag);
  subscribe.connect(address());
  ASSERT_SOON(pump_, answers_.size() == 1);
  subscribe.subscribe(tags_apart(many_tags));
  expect_taken(subscribe, 2);
  EXPECT_TRUE(answers_[1].refused);
  EXPECT_NE(answers_[1].detail.find(std::to_string(many_tags - 1)), std::string::npos)
      << answers_[1].detail;
  EXPECT_NE(answers_[1].detail.find("ranges_max"), std::string::npos) << answers_[1].detail;
  ASSERT_EQ(publish_.send("old", old_tag), Status::ok);
  ASSERT_EQ(publish_.send("refused", 1'000'000), Status::ok);
  ASSERT_SOON(pump_, tags_.size() == 1);
  subscribe.unsubscribe(TagRange{1'000'000, 100'000'000});
  subscribe.subscribe(new_tag);
  ASSERT_SOON(pump_, answers_.size() == 3);
  EXPECT_FALSE(answers_[2].refused) << answers_[2].detail;
  EXPECT_EQ(answers_[2].from, 1U);
  ASSERT_EQ(publish_.send("new", new_tag), Status::ok);
  ASSERT_SOON(pump_, tags_.size() == 2);
  EXPECT_EQ(tags_, (std::vector<std::uint64_t>{old_tag, new_tag}));
}

}  // namespace
}  // namespace netio::test
