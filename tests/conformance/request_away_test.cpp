// Requests whose peer is away, refuses something, or gives up while the other side does not: found
// by the simulation (tests/simulation).
#include <optional>

#include "conformance/requesting.hpp"

namespace netio::test {
namespace {

class RequestAway : public Requesting {
 protected:
  // Ends the connection, and lets no other one come.
  void part(Relay& relay, const Socket& one, const Socket& other) {
    relay.forbid(true);
    relay.cut();
    ASSERT_SOON(pump_, one.peers_connected() == 0 && other.peers_connected() == 0);
  }
};

// The replier waits for less long than the requester does.
TEST_P(RequestAway, a_replier_that_gave_a_request_up_is_not_waited_for) {
  for (const bool replier_dials : {false, true}) {
    SCOPED_TRACE(replier_dials);
    failed_.clear();
    SocketOptions soon = eager();
    soon.resume_within = 50ms;
    Reply reply(there_, {}, soon);
    Request request(here_, {}, eager());
    write_down(request);
    hold_all(reply);
    Relay relay(replier_dials ? bind(request) : bind(reply));
    if (replier_dials) {
      reply.connect(relay.address());
    } else {
      request.connect(relay.address());
    }
    (void)ask(request);
    ASSERT_SOON(pump_, open_.size() == 1);
    settle(request);
    part(relay, request, reply);
    ASSERT_SOON(pump_, reply.requests().unwanted == 1);
    EXPECT_EQ(request.requests().under_way, 1U);
    relay.forbid(false);
    ASSERT_SOON(pump_, request.peers_connected() == 1);
    ASSERT_SOON(pump_, failed_.size() == 1);
    EXPECT_EQ(failed_[0], Outcome::in_doubt);
    open_.clear();
  }
}

// What was taken and not posted when the connection broke is not delivered if it ended meanwhile;
// of what goes on, the time does.
TEST_P(RequestAway, what_was_not_posted_when_the_connection_broke_may_end) {
  SocketOptions slow = keeping();
  slow.flush_after = 1h;
  slow.flush_when_idle = false;
  Reply reply(there_, {}, keeping());
  Request request(here_, {}, slow);
  write_down(request);
  hold_all(reply);
  Relay relay(bind(reply));
  join_through(relay, request, reply);
  relay.hold(true);
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  ASSERT_EQ(request.send("first", first), Status::ok);
  ASSERT_EQ(request.send("second", second, {.within = 30s}), Status::ok);
  part(relay, request, reply);
  relay.hold(false);
  EXPECT_EQ(request.cancel(first), Status::ok);
  pump_.run_for(300ms);
  relay.forbid(false);
  ASSERT_SOON(pump_, open_.size() == 1);
  EXPECT_EQ(texts_[0], "second");
  ASSERT_TRUE(open_[0].time_left());
  EXPECT_LE(*open_[0].time_left(), 30s - 250ms);
  EXPECT_EQ(reply.requests().withdrawn, 1U);
}

// It is sent again as another request. The first one is kept for the peer, and not executed.
TEST_P(RequestAway, an_idempotent_request_that_is_kept_is_delivered_once) {
  Reply reply(there_, {}, keeping());
  Request request(here_, {}, keeping());
  write_down(request);
  hold_all(reply);
  Relay relay(bind(reply));
  join_through(relay, request, reply);
  relay.hold(true);
  (void)ask(request, {.idempotent = true});
  pump_.turns(5);
  relay.cut();
  relay.hold(false);
  ASSERT_SOON(pump_, open_.size() == 1);
  ASSERT_EQ(open_[0].send("!"), Status::ok);
  ASSERT_SOON(pump_, answered_ == 1);
  settle(request);
  EXPECT_EQ(open_.size(), 1U);
  EXPECT_EQ(reply.requests().withdrawn, 1U);
}

TEST_P(RequestAway, what_was_in_doubt_once_does_not_end_as_not_executed) {
  SocketOptions soon = eager();
  soon.resume_within = 100ms;
  std::optional<Reply> reply(std::in_place, there_, ReplyOptions{}, eager());
  Request request(here_, {}, soon);
  write_down(request);
  hold_all(*reply);
  const std::string address = bind(*reply);
  Relay relay(address);
  request.connect(relay.address());
  (void)ask(request, {.idempotent = true});
  ASSERT_SOON(pump_, open_.size() == 1);
  reply->on_request({});  // the next one stays unread
  relay.cut();
  ASSERT_SOON(pump_, request.requests().repeated == 1);
  reply->close();
  ASSERT_SOON(pump_, failed_.size() == 1);
  EXPECT_EQ(failed_[0], Outcome::in_doubt);
}

// A request that ended and whose end the peer was told of counts until the peer has received both:
// then there is room, without an answer.
TEST_P(RequestAway, a_request_that_timed_out_makes_room_for_another) {
  SocketOptions late = keeping();
  late.acknowledge_after = 100ms;  // behind the time of the request
  Reply reply(there_, {}, late);
  Request request(here_, {.pending_max = 1}, keeping());
  write_down(request);
  hold_all(reply);
  join(reply, request);
  int writable = 0;
  request.on_writable([&] { ++writable; });
  for (int i = 1; i <= 3; ++i) {
    (void)ask(request, {.within = 20ms});
    std::uint64_t id = 0;
    EXPECT_EQ(request.send("?", id), Status::again);
    ASSERT_SOON(pump_, failed_.size() == static_cast<std::size_t>(i));
    ASSERT_SOON(pump_, writable == i);
  }
}

// While the requester is away nobody knows in which memory the answer is best written.
TEST_P(RequestAway, memory_for_an_answer_is_to_be_had_when_the_requester_is_back) {
  Reply reply(there_, {}, eager());
  Request request(here_, {}, eager());
  write_down(request);
  hold_all(reply);
  Relay relay(bind(reply));
  request.connect(relay.address());
  (void)ask(request);
  ASSERT_SOON(pump_, open_.size() == 1);
  settle(request);
  int writable = 0;
  reply.on_writable([&] { ++writable; });
  part(relay, request, reply);
  Status status = Status::ok;
  EXPECT_FALSE(open_[0].allocate(100, status));
  EXPECT_EQ(status, Status::again);
  relay.forbid(false);
  ASSERT_SOON(pump_, reply.peers_connected() == 1 && writable != 0);
  Message answer = open_[0].allocate(100, status);
  ASSERT_EQ(status, Status::ok);
  EXPECT_EQ(open_[0].send(std::move(answer)), Status::ok);
  ASSERT_SOON(pump_, answered_ == 1);
}

// Those that were cancelled by close() go to nobody, whoever answers at the address.
TEST_P(RequestAway, what_close_cancelled_is_not_delivered_to_another_run) {
  SocketOptions small = eager();
  small.send_bytes_max = 32U << 10U;
  std::optional<Reply> reply(std::in_place, there_, ReplyOptions{}, eager());
  Request request(here_, {}, small);
  const std::string address = bind(*reply);
  Relay relay(address);
  request.connect(relay.address());
  ASSERT_SOON(pump_, request.peers_connected() == 1);
  // The link has no room for the last ones.
  relay.hold(true);
  std::uint64_t id = 0;
  const std::vector<std::byte> bytes(3000);
  for (int full = 0; full < 50; pump_.turns(1)) {
    full = request.send(bytes, id) == Status::ok ? 0 : full + 1;
  }
  request.close();
  relay.cut();
  relay.hold(false);
  reply.reset();
  reply.emplace(there_, ReplyOptions{}, eager());
  hold_all(*reply);
  reply->bind(address);
  ASSERT_SOON(pump_, request.closed());
  pump_.run_for(20ms);
  EXPECT_TRUE(open_.empty());
}

// The tag of a message is not sent, also when the request is sent again.
TEST_P(RequestAway, an_idempotent_request_may_be_a_message_with_a_tag) {
  Push push(here_, options());
  Pull pull(there_, options());
  join(pull, push);
  std::optional<Message> tagged;
  pull.on_message([&](const MessageView& view) { tagged = view.keep(); });
  ASSERT_EQ(send(push, payload(1, 100), 7), Status::ok);
  ASSERT_SOON(pump_, tagged);
  ASSERT_EQ(tagged->tag(), 7U);
  Reply reply(here_, {}, eager());
  Request request(there_, {}, eager());
  write_down(request);
  reply.on_request([&](const MessageView& message, ReplyTo to) {
    EXPECT_EQ(message.tag(), 0U);
    open_.push_back(std::move(to));
  });
  Relay relay(bind(reply));
  request.connect(relay.address());
  ASSERT_SOON(pump_, request.peers_connected() == 1);
  std::uint64_t id = 0;
  ASSERT_EQ(request.send(std::move(*tagged), id, {.idempotent = true}), Status::ok);
  ASSERT_SOON(pump_, open_.size() == 1);
  relay.cut();
  ASSERT_SOON(pump_, open_.size() == 2);
  EXPECT_EQ(request.requests().repeated, 1U);
  ASSERT_EQ(open_[1].send("!"), Status::ok);
  ASSERT_SOON(pump_, answered_ == 1);
}

// Answers that waited for a requester which was away are sent before the good-bye.
TEST_P(RequestAway, a_replier_that_closes_sends_the_answers_that_wait) {
  Request request(here_, {}, eager());
  Reply reply(there_, {}, eager());
  write_down(request);
  hold_all(reply);
  Relay relay(bind(request));
  reply.connect(relay.address());
  for (int i = 0; i < 3; ++i) (void)ask(request);
  ASSERT_SOON(pump_, open_.size() == 3);
  settle(request);
  part(relay, request, reply);
  const std::vector<std::byte> large(20'000);
  EXPECT_EQ(open_[0].send(large), Status::ok);
  EXPECT_EQ(open_[1].send("!"), Status::ok);
  EXPECT_EQ(open_[2].send("!"), Status::ok);
  reply.close(10s);
  relay.forbid(false);
  ASSERT_SOON(pump_, answered_ + static_cast<int>(failed_.size()) == 3);
  EXPECT_EQ(answered_, 3);
  ASSERT_SOON(pump_, reply.closed());
}

ON_TCP_IN_EVERY_MODE(RequestAway);

class RequestRoom : public RequestAway {};

// It is full as long as the only peer has all requests that it may have.
TEST_P(RequestRoom, watermarks_are_told_of_what_is_under_way) {
  Reply reply(there_, {}, options());
  Request request(here_, {.pending_max = 2}, options());
  write_down(request);
  hold_all(reply);
  int high = 0;
  int low = 0;
  request.on_high_watermark([&] { ++high; });
  request.on_low_watermark([&] { ++low; });
  join(reply, request);
  ASSERT_SOON(pump_, low == 1);
  (void)ask(request);
  (void)ask(request);
  ASSERT_SOON(pump_, open_.size() == 2 && high == 2);
  for (ReplyTo& to : open_) EXPECT_EQ(to.send("!"), Status::ok);
  ASSERT_SOON(pump_, low == 2);
}

// A request that does not fit a page has no tag either, and neither has its answer.
TEST_P(RequestRoom, large_requests_and_answers_have_no_tag) {
  Reply reply(there_, {}, options());
  Request request(here_, {}, options());
  const std::vector<std::byte> large(300'000);
  reply.on_request([&](const MessageView& message, ReplyTo to) {
    EXPECT_EQ(message.size(), large.size());
    EXPECT_EQ(message.tag(), 0U);
    EXPECT_EQ(to.send(large), Status::ok);
  });
  request.on_reply([&](std::uint64_t, const MessageView& answer) {
    EXPECT_EQ(answer.size(), large.size());
    EXPECT_EQ(answer.tag(), 0U);
    ++answered_;
  });
  join(reply, request);
  std::uint64_t id = 0;
  ASSERT_SOON(pump_, request.send(large, id) == Status::ok);
  ASSERT_SOON(pump_, answered_ == 1);
}

// The same of those that lacked room.
TEST_P(RequestRoom, answers_that_wait_go_before_the_good_bye) {
  SocketOptions small = options();
  small.send_bytes_max = 8U << 10U;
  Reply reply(there_, {}, small);
  Request request(here_, {}, options());
  write_down(request);
  join(reply, request);
  constexpr int count = 20;
  const std::vector<std::byte> large(100'000);
  int asked = 0;
  reply.on_request([&](const MessageView&, ReplyTo to) {
    EXPECT_EQ(to.send(large), Status::ok);
    if (++asked == count) reply.close(10s);
  });
  for (int i = 0; i < count; ++i) (void)ask(request);
  ASSERT_SOON(pump_, answered_ + static_cast<int>(failed_.size()) == count);
  EXPECT_EQ(answered_, asked);
  ASSERT_SOON(pump_, reply.closed());
}

ON_EVERY_TRANSPORT_AND_MODE(RequestRoom);

}  // namespace
}  // namespace netio::test
