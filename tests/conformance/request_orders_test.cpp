// Orders of events in which requests once ended wrongly, or never.
#include <optional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "conformance/requesting.hpp"

namespace netio::test {
namespace {

class RequestOrders : public Requesting {};

// The time of a request does not begin again when the call-back is set.
TEST_P(RequestOrders, requests_with_a_limit_may_come_before_there_is_a_call_back) {
  Reply reply(there_, {}, options());
  Request request(here_, {}, options());
  write_down(request);
  join(reply, request);
  (void)ask(request, {.within = 1h});
  pump_.run_for(20ms);
  reply.on_request([](const MessageView&, ReplyTo to) { EXPECT_EQ(to.send("!"), Status::ok); });
  ASSERT_SOON(pump_, answered_ == 1);
  EXPECT_EQ(reply.requests().expired, 0U);
}

TEST_P(RequestOrders, the_call_back_may_be_taken_away_inside_itself) {
  Reply reply(there_, {}, options());
  Request request(here_, {}, options());
  write_down(request);
  join(reply, request);
  reply.on_request([&](const MessageView&, ReplyTo to) {
    EXPECT_EQ(to.send("!"), Status::ok);
    reply.on_request({});
  });
  for (int i = 0; i < 3; ++i) (void)ask(request);
  ASSERT_SOON(pump_, answered_ == 1);
  pump_.run_for(10ms);
  EXPECT_EQ(reply.requests().requests, 1U);
  reply.on_request([](const MessageView&, ReplyTo to) { EXPECT_EQ(to.send("!"), Status::ok); });
  ASSERT_SOON(pump_, answered_ == 3);
}

// A repetition is no call of the user's that was refused.
TEST_P(RequestOrders, a_repeated_request_calls_nobody_to_try_again) {
  std::optional<Reply> reply(std::in_place, there_, ReplyOptions{}, eager());
  Request request(here_, {}, eager());
  write_down(request);
  int writable = 0;
  request.on_writable([&] { ++writable; });
  hold_all(*reply);
  const std::string address = bind(*reply);
  request.connect(address);
  ASSERT_SOON(pump_, request.peers_connected() == 1);
  std::uint64_t id = 0;
  ASSERT_EQ(request.send("?", id, {.idempotent = true}), Status::ok);
  ASSERT_SOON(pump_, open_.size() == 1);
  open_.clear();
  reply.reset();
  ASSERT_SOON(pump_, request.peers_connected() == 0);
  reply.emplace(there_, ReplyOptions{}, eager());
  reply->on_request([](const MessageView&, ReplyTo to) { EXPECT_EQ(to.send("!"), Status::ok); });
  reply->bind(address);
  ASSERT_SOON(pump_, answered_ + static_cast<int>(failed_.size()) == 1);
  EXPECT_EQ(writable, 0);
  EXPECT_EQ(request.counters().agains, 0U);
}

// The other replier need not wait for the one that was lost.
TEST_P(RequestOrders, an_idempotent_request_goes_to_another_peer_at_once) {
  std::optional<Reply> one(std::in_place, there_, ReplyOptions{}, eager());
  Reply other(there_, {}, eager());
  Request request(here_, {}, eager());
  write_down(request);
  hold_all(*one);
  other.on_request([](const MessageView&, ReplyTo to) { EXPECT_EQ(to.send("!"), Status::ok); });
  request.connect(bind(*one));
  ASSERT_SOON(pump_, request.peers_connected() == 1);
  (void)ask(request, {.within = 1h, .idempotent = true});
  ASSERT_SOON(pump_, open_.size() == 1);
  request.connect(bind(other));
  ASSERT_SOON(pump_, request.peers_connected() == 2);
  one.reset();
  ASSERT_SOON(pump_, answered_ == 1);
}

// It is asked by its id, which does not return.
TEST_P(RequestOrders, an_idempotent_request_to_one_that_is_gone_ends) {
  SocketOptions soon = eager();
  soon.resume_within = 50ms;
  Request request(here_, {}, soon);
  std::optional<Reply> reply(std::in_place, there_, ReplyOptions{}, eager());
  write_down(request);
  hold_all(*reply);
  const std::string address = bind(request);
  reply->connect(address);
  ASSERT_SOON(pump_, request.peers_connected() == 1);
  (void)ask(request, {.peer = request.peers()[0].id, .idempotent = true});
  ASSERT_SOON(pump_, open_.size() == 1);
  reply.reset();
  reply.emplace(there_, ReplyOptions{}, eager());
  hold_all(*reply);
  reply->connect(address);
  ASSERT_SOON(pump_, failed_.size() == 1);
  EXPECT_EQ(failed_[0], Outcome::in_doubt);
  EXPECT_EQ(request.requests().under_way, 0U);
}

// In a child of fork(), whichever thread forked, a ReplyTo is a copy that says nothing.
TEST_P(RequestOrders, a_child_of_another_thread_does_not_answer) {
  Reply reply(there_, {}, options());
  Request request(here_, {}, options());
  write_down(request);
  hold_all(reply);
  join(reply, request);
  (void)ask(request);
  ASSERT_SOON(pump_, open_.size() == 1);
  std::thread other([&] {
    const pid_t child = ::fork();
    if (child == 0) {
      open_.clear();
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
  });
  other.join();
  pump_.run_for(10ms);
  EXPECT_TRUE(failed_.empty());
  EXPECT_EQ(open_[0].send("!"), Status::ok);
  ASSERT_SOON(pump_, answered_ == 1);
  EXPECT_EQ(request.counters().disconnects, 0U);
}

ON_EVERY_TRANSPORT_AND_MODE(RequestOrders);

class RequestOrdersOverCuts : public RequestOrders {};

// What was repeated does not count twice for its peer.
TEST_P(RequestOrdersOverCuts, a_plain_request_ends_beside_one_that_was_repeated) {
  Reply reply(there_, {}, eager());
  SocketOptions soon = eager();
  soon.resume_within = 100ms;
  Request request(here_, {}, soon);
  write_down(request);
  hold_all(reply);
  Relay relay(bind(reply));
  request.connect(relay.address());
  ASSERT_SOON(pump_, request.peers_connected() == 1);
  (void)ask(request);
  ASSERT_SOON(pump_, open_.size() == 1);
  settle(request);
  relay.hold(true);
  (void)ask(request, {.idempotent = true});
  relay.cut();
  relay.hold(false);
  ASSERT_SOON(pump_, open_.size() == 2);
  ASSERT_EQ(open_[1].send("yes"), Status::ok);
  ASSERT_SOON(pump_, answered_ == 1);
  relay.forbid(true);
  relay.cut();
  ASSERT_SOON(pump_, failed_.size() == 1);
  EXPECT_EQ(failed_[0], Outcome::in_doubt);
  EXPECT_EQ(request.requests().under_way, 0U);
}

// The replier dials, so that its peer goes with the connection.
TEST_P(RequestOrdersOverCuts, what_was_cancelled_before_the_cut_is_not_delivered_behind_it) {
  Request request(here_, {}, keeping());
  Reply reply(there_, {}, keeping());
  write_down(request);
  hold_all(reply);
  Relay relay(bind(request));
  join_through(relay, reply, request);
  relay.hold(true);
  const std::uint64_t id = ask(request);
  pump_.turns(5);
  EXPECT_EQ(request.cancel(id), Status::ok);
  pump_.turns(5);
  relay.cut();
  relay.hold(false);
  ASSERT_SOON(pump_, reply.requests().withdrawn == 1);
  EXPECT_TRUE(open_.empty());
  EXPECT_EQ(request.requests().late, 0U);
}

TEST_P(RequestOrdersOverCuts, a_request_that_is_sent_again_has_the_time_that_is_left) {
  Reply reply(there_, {}, keeping());
  Request request(here_, {}, keeping());
  write_down(request);
  hold_all(reply);
  Relay relay(bind(reply));
  join_through(relay, request, reply);
  relay.hold(true);
  const auto began = std::chrono::steady_clock::now();
  (void)ask(request, {.within = 30s});
  relay.forbid(true);
  relay.cut();
  relay.hold(false);
  pump_.run_for(300ms);
  relay.forbid(false);
  ASSERT_SOON(pump_, open_.size() == 1);
  const auto gone = std::chrono::steady_clock::now() - began;
  ASSERT_TRUE(open_[0].time_left());
  EXPECT_LE(*open_[0].time_left(), 30s - 250ms);
  EXPECT_GE(*open_[0].time_left(), 30s - gone - 50ms);
}

// It counts until the replier has received it, which no answer tells.
TEST_P(RequestOrdersOverCuts, a_cancelled_request_makes_room_when_it_is_acknowledged) {
  Reply reply(there_, {}, keeping());
  Request request(here_, {.pending_max = 1}, keeping());
  hold_all(reply);
  request.connect(bind(reply));
  for (int i = 0; i < 3; ++i) {
    std::uint64_t id = 0;
    ASSERT_SOON(pump_, request.send(payload(0, 8), id) == Status::ok) << i;
    EXPECT_EQ(request.cancel(id), Status::ok);
  }
  ASSERT_SOON(pump_, reply.requests().unwanted + reply.requests().withdrawn == 3);
}

ON_TCP_IN_EVERY_MODE(RequestOrdersOverCuts);

}  // namespace
}  // namespace netio::test
