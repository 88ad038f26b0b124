// When what was published leaves: at the page's deadline, however often, and not later because
// somebody else is slow.
#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class PublishFlush : public Conformance {
 protected:
  // Subscribes to tag 1, and is told so.
  void subscribe(Publish& publish, Subscribe& subscriber, const std::string& address) {
    bool told = false;
    subscriber.on_subscribed([&told](const PeerInfo&, const Subscribed&) { told = true; });
    subscriber.subscribe(1);
    subscriber.connect(address);
    ASSERT_SOON(pump_, told);
    subscriber.on_subscribed({});
    ASSERT_TRUE(publish.tag(1).wanted());
  }
};

TEST_P(PublishFlush, every_page_leaves_at_its_deadline) {
  SocketOptions options;
  options.flush_after = 5ms;
  options.flush_when_idle = false;
  Publish publish(here_, {}, options);
  Subscribe subscriber(there_);
  Inbox inbox(subscriber);
  subscribe(publish, subscriber, bind(publish));
  for (std::size_t i = 1; i <= 5; ++i) {
    ASSERT_EQ(publish.send("not enough for a page", 1), Status::ok);
    ASSERT_SOON(pump_, inbox.size() == i);
  }
}

TEST_P(PublishFlush, one_that_is_behind_does_not_delay_what_others_get) {
  Publish publish(here_);
  const std::string address = bind(publish);
  Subscribe stopped(there_, {.policy = Policy::drop_new, .behind_bytes_max = 64U << 10U});
  Subscribe subscriber(there_, {.policy = Policy::block});
  Inbox nowhere(stopped);
  std::size_t arrived = 0;
  subscriber.on_message([&arrived](const MessageView&) { ++arrived; });
  subscribe(publish, stopped, address);
  subscribe(publish, subscriber, address);
  stopped.pause();
  const std::vector<std::byte> message(4096);
  const auto dropped = [&publish] {
    return publish.books().dropped_by[static_cast<std::size_t>(DropReason::dropped_new)];
  };
  std::size_t sent = 0;
  ASSERT_SOON(pump_, [&] {
    while (publish.send(message, 1) == Status::ok && ++sent % 16 != 0) {
    }
    return dropped() > 0;
  }());
  ASSERT_SOON(pump_, arrived == sent);
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(publish.send("not enough for a page", 1), Status::ok);
    ++sent;
    ASSERT_SOON(pump_, arrived == sent);
  }
}

ON_EVERY_TRANSPORT(PublishFlush);

}  // namespace
}  // namespace netio::test
