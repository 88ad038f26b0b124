// The call-backs of sockets: what each may do.
#include <csignal>
#include <cstdint>
#include <utility>
#include <vector>

#include "conformance/call_back_deeds.hpp"

namespace netio::test {
namespace {

class SocketCallBack : public CallBackDeeds {};

TEST_P(SocketCallBack, push_on_up) {
  each([](Scene& s) {
    s.make_push_and_pull();
    s.arm(s.push, SET(on_up));
    s.connect(*s.push, *s.pull);
  });
}

TEST_P(SocketCallBack, push_on_down) {
  each([](Scene& s) {
    s.make_push_and_pull();
    s.arm(s.push, SET(on_down));
    s.join_push_and_pull();
    s.pull.reset();
  });
}

TEST_P(SocketCallBack, push_on_closed) {
  each([](Scene& s) {
    s.make_push_and_pull();
    s.arm(s.push, SET(on_closed));
    s.join_push_and_pull();
    s.push->close(1h);
  });
}

TEST_P(SocketCallBack, push_on_writable) {
  each([](Scene& s) {
    s.make_push_and_pull();
    s.arm(s.push, SET(on_writable));
    ASSERT_EQ(s.push->send("early"), Status::not_connected);
    s.connect(*s.push, *s.pull);
  });
}

TEST_P(SocketCallBack, push_on_released) {
  each([](Scene& s) {
    s.make_push_and_pull();
    s.arm(s.push, SET(on_released));
    s.join_push_and_pull();
    for (std::uint64_t i = 0; i < 3; ++i) {
      ASSERT_EQ(s.push->lend(s.bytes, i), Status::ok);
    }
  });
}

TEST_P(SocketCallBack, push_on_high_watermark) {
  each([](Scene& s) {
    s.make_push_and_pull();
    s.arm(s.push, SET(on_high_watermark));
  });
}

TEST_P(SocketCallBack, push_on_low_watermark) {
  each([](Scene& s) {
    s.make_push_and_pull();
    s.push->on_high_watermark([] {});
    s.arm(s.push, SET(on_low_watermark));
    s.pump.turns(3);
    s.connect(*s.push, *s.pull);
  });
}

TEST_P(SocketCallBack, pull_on_up) {
  each([](Scene& s) {
    s.make_push_and_pull();
    s.arm(s.pull, SET(on_up));
    s.connect(*s.push, *s.pull);
  });
}

TEST_P(SocketCallBack, pull_on_down) {
  each([](Scene& s) {
    s.make_push_and_pull();
    s.arm(s.pull, SET(on_down));
    s.join_push_and_pull();
    s.push.reset();
  });
}

TEST_P(SocketCallBack, pull_on_closed) {
  each([](Scene& s) {
    s.make_push_and_pull();
    s.arm(s.pull, SET(on_closed));
    s.join_push_and_pull();
    s.pull->close(1h);
  });
}

TEST_P(SocketCallBack, pull_on_message) {
  each([](Scene& s) {
    s.make_push_and_pull();
    s.join_push_and_pull();
    s.arm(s.pull, SET(on_message));
    for (int i = 0; i < 3; ++i) ASSERT_EQ(s.push->send("m"), Status::ok);
  });
}

TEST_P(SocketCallBack, pull_on_batch) {
  each([](Scene& s) {
    s.make_push_and_pull();
    s.pull->on_message({});
    s.join_push_and_pull();
    s.arm(s.pull, SET(on_batch));
    for (int i = 0; i < 3; ++i) ASSERT_EQ(s.push->send("m"), Status::ok);
  });
}

TEST_P(SocketCallBack, pair_on_up) {
  each([](Scene& s) {
    s.pair.emplace(s.here);
    s.other_pair.emplace(s.there);
    s.arm(s.pair, SET(on_up));
    s.connect(*s.pair, *s.other_pair);
  });
}

TEST_P(SocketCallBack, pair_on_message) {
  each([](Scene& s) {
    s.pair.emplace(s.here);
    s.other_pair.emplace(s.there);
    s.arm(s.pair, SET(on_message));
    s.connect(*s.pair, *s.other_pair);
    ASSERT_SOON(s.pump, s.other_pair->send("m") == Status::ok);
  });
}

TEST_P(SocketCallBack, publish_on_up) {
  each([](Scene& s) {
    s.make_publish();
    s.arm(s.publish, SET(on_up));
    s.connect(*s.subscribe, *s.publish);
  });
}

TEST_P(SocketCallBack, publish_on_down) {
  each([](Scene& s) {
    s.make_publish();
    s.arm(s.publish, SET(on_down));
    s.join_publish();
    s.subscribe.reset();
  });
}

TEST_P(SocketCallBack, publish_on_closed) {
  each([](Scene& s) {
    s.make_publish();
    s.arm(s.publish, SET(on_closed));
    s.join_publish();
    s.publish->close(1h);
  });
}

TEST_P(SocketCallBack, publish_on_subscribe) {
  each([](Scene& s) {
    s.make_publish();
    s.arm(s.publish, SET(on_subscribe));
    s.connect(*s.subscribe, *s.publish);
  });
}

TEST_P(SocketCallBack, publish_on_unsubscribe) {
  each([](Scene& s) {
    s.make_publish();
    s.arm(s.publish, SET(on_unsubscribe));
    s.join_publish();
    s.subscribe->unsubscribe(7);
  });
}

TEST_P(SocketCallBack, publish_on_unsubscribe_of_who_goes) {
  each([](Scene& s) {
    s.make_publish();
    s.arm(s.publish, SET(on_unsubscribe));
    s.join_publish();
    s.subscribe.reset();
  });
}

TEST_P(SocketCallBack, publish_on_writable) {
  each([](Scene& s) {
    s.make_publish({}, {.policy = Policy::block});
    s.arm(s.publish, SET(on_writable));
    s.join_publish();
    s.subscribe->pause();
    const std::vector<std::byte> message(1000);
    while (s.publish->send(message, 7) == Status::ok) {
    }
    s.subscribe->resume();
  });
}

TEST_P(SocketCallBack, publish_on_released) {
  each([](Scene& s) {
    s.make_publish();
    s.arm(s.publish, SET(on_released));
    s.join_publish();
    for (std::uint64_t i = 0; i < 3; ++i) {
      ASSERT_EQ(s.publish->lend(s.bytes, i, 7), Status::ok);
    }
  });
}

TEST_P(SocketCallBack, publish_on_behind) {
  each([](Scene& s) {
    s.make_publish({}, {.policy = Policy::drop_new, .behind_bytes_max = 200'000});
    s.arm(s.publish, SET(on_behind));
    s.join_publish();
    s.subscribe->pause();
    s.publish_until([&s] { return s.called; });
  });
}

TEST_P(SocketCallBack, publish_on_caught_up) {
  each([](Scene& s) {
    s.make_publish({}, {.policy = Policy::drop_new, .behind_bytes_max = 200'000});
    bool behind = false;
    s.publish->on_behind([&](const PeerSnapshot&) { behind = true; });
    s.arm(s.publish, SET(on_caught_up));
    s.join_publish();
    s.subscribe->pause();
    s.publish_until([&] { return behind; });
    s.publish->on_behind({});
    s.subscribe->resume();
  });
}

TEST_P(SocketCallBack, subscribe_on_subscribed) {
  each([](Scene& s) {
    s.make_publish();
    s.arm(s.subscribe, SET(on_subscribed));
    s.connect(*s.subscribe, *s.publish);
  });
}

TEST_P(SocketCallBack, subscribe_on_message) {
  each([](Scene& s) {
    s.make_publish();
    s.join_publish();
    s.arm(s.subscribe, SET(on_message));
    for (int i = 0; i < 3; ++i) ASSERT_EQ(s.publish->send("m", 7), Status::ok);
  });
}

TEST_P(SocketCallBack, subscribe_on_gap) {
  each([](Scene& s) {
    s.make_publish({}, {.policy = Policy::drop_new, .behind_bytes_max = 200'000});
    s.arm(s.subscribe, SET(on_gap));
    s.join_publish();
    s.subscribe->pause();
    s.publish_until([&s] { return s.publish->books().dropped() != 0; });
    s.subscribe->resume();
  });
}

TEST_P(SocketCallBack, request_on_up) {
  each([](Scene& s) {
    s.make_request();
    s.arm(s.request, SET(on_up));
    s.connect(*s.request, *s.reply);
  });
}

TEST_P(SocketCallBack, request_on_down) {
  each([](Scene& s) {
    s.make_request();
    s.arm(s.request, SET(on_down));
    s.connect(*s.request, *s.reply);
    ASSERT_SOON(s.pump, s.request->peers_connected() == 1);
    s.reply.reset();
  });
}

TEST_P(SocketCallBack, request_on_closed) {
  each([](Scene& s) {
    s.make_request();
    s.arm(s.request, SET(on_closed));
    s.request->close(1h);
  });
}

TEST_P(SocketCallBack, request_on_reply) {
  each([](Scene& s) {
    s.make_request();
    s.arm(s.request, SET(on_reply));
    s.connect(*s.request, *s.reply);
    s.ask();
  });
}

TEST_P(SocketCallBack, request_on_failed_by_the_replier) {
  each([](Scene& s) {
    s.make_request();
    s.reply->on_request([](const MessageView&, ReplyTo) {});
    s.arm(s.request, SET(on_failed));
    s.connect(*s.request, *s.reply);
    s.ask();
  });
}

TEST_P(SocketCallBack, request_on_failed_by_the_time_limit) {
  each([](Scene& s) {
    s.make_request();
    ReplyTo kept;
    s.reply->on_request([&](const MessageView&, ReplyTo to) { kept = std::move(to); });
    s.arm(s.request, SET(on_failed));
    s.connect(*s.request, *s.reply);
    std::uint64_t id = 0;
    ASSERT_SOON(s.pump, s.request->send("what", id, {.within = 10ms}) == Status::ok);
    ASSERT_SOON(s.pump, s.called);
  });
}

TEST_P(SocketCallBack, request_on_writable) {
  each([](Scene& s) {
    s.make_request();
    s.arm(s.request, SET(on_writable));
    std::uint64_t id = 0;
    ASSERT_EQ(s.request->send("early", id), Status::not_connected);
    s.connect(*s.request, *s.reply);
  });
}

TEST_P(SocketCallBack, reply_on_up) {
  each([](Scene& s) {
    s.make_request();
    s.arm(s.reply, SET(on_up));
    s.connect(*s.request, *s.reply);
  });
}

TEST_P(SocketCallBack, reply_on_request) {
  each([](Scene& s) {
    s.make_request();
    s.arm(s.reply, SET(on_request));
    s.connect(*s.request, *s.reply);
    for (int i = 0; i < 3; ++i) s.ask();
  });
}

TEST_P(SocketCallBack, reply_on_writable) {
  each([](Scene& s) {
    s.make_request();
    std::vector<ReplyTo> open;
    s.reply->on_request([&](const MessageView&, ReplyTo to) { open.push_back(std::move(to)); });
    s.arm(s.reply, SET(on_writable));
    s.connect(*s.request, *s.reply);
    for (int i = 0; i < 1000; ++i) s.ask();
    ASSERT_SOON(s.pump, open.size() == 1000);
    const std::vector<std::byte> answer(100'000);
    bool again = false;
    for (ReplyTo& each : open) again = again || each.send(answer) == Status::again;
    ASSERT_TRUE(again);
    ASSERT_SOON(s.pump, s.called);
  });
}

INSTANTIATE_TEST_SUITE_P(on, SocketCallBack, testing::ValuesIn(two_wires()), row_name);

}  // namespace
}  // namespace netio::test
