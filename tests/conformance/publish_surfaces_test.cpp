// Publish and Subscribe awaited by coroutines, and with calls that block: the tags arrive, who is
// slow is waited for, and who waits is told of the end.
#include <memory>
#include <optional>
#include <thread>

#include <netio/blocking.hpp>
#include <netio/coroutine.hpp>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class PublishSurfaces : public Conformance {
 protected:
  static constexpr SubscribeOptions lossless{.policy = Policy::block};

  // What a subscriber of one tag has read, and the answer that was no message.
  struct Reading {
    std::uint64_t count = 0;
    std::uint64_t wrong = 0;
    std::optional<Status> end;
  };
  // Numbers from 0 on, each sent with its own tag of two: those of `tag`.
  static Task<> read(co::Subscribe& subscribe, std::uint64_t tag, Reading& reading) {
    for (;;) {
      const co::Received received = co_await subscribe.receive();
      if (!received) {
        reading.end = received.status;
        co_return;
      }
      const std::uint64_t number = 2 * reading.count++ + tag;
      if (received->tag() != tag || !is_payload(received->bytes(), number)) ++reading.wrong;
    }
  }
  // Even numbers by tag 0, odd ones by tag 1, which was looked up.
  Task<> publish(co::Publish& publish, const std::uint64_t& count) {
    const PublishTag odd = publish.tag(1);
    for (; sent_ < count; ++sent_) {
      const std::vector<std::byte> message = payload(sent_, size_of(sent_));
      if (sent_ % 2 == 0) {
        answer_ = co_await publish.send(message, 0);
      } else {
        answer_ = co_await publish.send(message, odd);
      }
      if (answer_ != Status::ok) co_return;
    }
    books_ = co_await publish.close();
  }
  static std::size_t size_of(std::uint64_t number) { return number % 500 < 2 ? 100'000 : 200; }

  std::uint64_t sent_ = 0;
  std::optional<Status> answer_;
  std::optional<Books> books_;
};

TEST_P(PublishSurfaces, coroutines_read_the_tags_they_asked_for) {
  constexpr std::uint64_t count = 4000;
  co::Publish publisher(here_, {}, options());
  co::Subscribe even(there_, lossless, options());
  co::Subscribe odd(there_, lossless, options());
  even.subscribe(0);
  odd.subscribe(1);
  int subscriptions = 0;
  publisher.on_subscribe([&](const PeerInfo&, std::span<const TagRange>) { ++subscriptions; });
  const std::string address = bind(publisher);
  even.connect(address);
  odd.connect(address);
  Reading of_even;
  Reading of_odd;
  spawn(there_, read(even, 0, of_even));
  spawn(there_, read(odd, 1, of_odd));
  ASSERT_SOON(pump_, subscriptions == 2);
  spawn(here_, publish(publisher, count));
  ASSERT_SOON(pump_, books_ && of_even.end && of_odd.end);
  EXPECT_EQ(answer_, Status::ok);
  EXPECT_EQ(books_->acknowledged, count);
  EXPECT_EQ(of_even.count, count / 2);
  EXPECT_EQ(of_odd.count, count / 2);
  EXPECT_EQ(of_even.wrong + of_odd.wrong, 0U);
  EXPECT_EQ(of_even.end, Status::not_connected);
  EXPECT_EQ(of_odd.end, Status::not_connected);
}

TEST_P(PublishSurfaces, a_coroutine_that_publishes_waits_for_a_slow_subscriber) {
  co::Publish publisher(here_, {}, options());
  auto slow = std::make_unique<co::Subscribe>(there_, lossless, options());
  slow->subscribe_all();
  bool subscribed = false;
  publisher.on_subscribe([&](const PeerInfo&, std::span<const TagRange>) { subscribed = true; });
  slow->connect(bind(publisher));
  ASSERT_SOON(pump_, subscribed);
  std::uint64_t count = 1'000'000;
  spawn(here_, publish(publisher, count));
  std::uint64_t before = 0;
  do {
    before = sent_;
    pump_.run_for(20ms);
  } while (sent_ != before);
  EXPECT_GT(sent_, 0U);
  EXPECT_LT(sent_, count);
  count = sent_ + 10;
  slow.reset();
  ASSERT_SOON(pump_, answer_ == Status::not_connected || books_);
}

TEST_P(PublishSurfaces, calls_that_block_publish_and_subscribe) {
  constexpr std::uint64_t count = 2000;
  blocking::Subscribe subscribe(there_, lossless, options());
  subscribe.subscribe(1);
  const std::string address = bind(subscribe);
  Books books;
  std::thread sender([&] {
    Context context(small_context(GetParam()));
    blocking::Publish publish(context, {}, options());
    bool subscribed = false;
    publish.on_subscribe([&](const PeerInfo&, std::span<const TagRange>) { subscribed = true; });
    publish.connect(address);
    Pump pump{&context};
    ASSERT_SOON(pump, subscribed);
    for (std::uint64_t number = 0; number < count; ++number) {
      const std::vector<std::byte> message = payload(number, size_of(number));
      ASSERT_EQ(publish.send(message, soon_max, number % 2), Status::ok) << number;
    }
    books = publish.close(soon_max);
  });
  std::uint64_t wrong = 0;
  for (std::uint64_t number = 1; number < count; number += 2) {
    const blocking::Received received = subscribe.receive(soon_max);
    if (received.status != Status::ok || !is_payload(received.message.bytes(), number)) ++wrong;
  }
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(subscribe.receive(soon_max).status, Status::not_connected);
  sender.join();
  EXPECT_EQ(books.acknowledged, count / 2);
}

ON_EVERY_TRANSPORT_AND_MODE(PublishSurfaces);

}  // namespace
}  // namespace netio::test
