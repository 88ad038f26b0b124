// Requests awaited by coroutines: what each gets, and what becomes of those that wait when a
// coroutine, a socket or the context goes.
#include <array>
#include <memory>
#include <optional>

#include <gmock/gmock.h>

#include <netio/coroutine.hpp>

#include "conformance/conformance.hpp"
#include "support/allocation_counter.hpp"

namespace netio::test {
namespace {

class CoroutineRequests : public Conformance {
 protected:
  // Answers each request with what it says.
  static Task<> echo(co::Reply& reply, Status& last) {
    while (co::Asked asked = co_await reply.receive()) {
      const Message kept = asked->keep();
      last = co_await reply.answer(std::move(asked.to), kept.bytes());
    }
    last = Status::closed;
  }
  // Receives requests, and answers none of them.
  Task<> hold(co::Reply& reply) {
    while (co::Asked asked = co_await reply.receive()) held_.push_back(std::move(asked.to));
  }
  Task<> ask_once(co::Request& request, std::string text, Ask how) {
    answers_.push_back(co_await request.ask(text, how));
  }
  // Until it is told that the socket was closed.
  Task<> ask_numbers(co::Request& request, std::uint64_t first, std::uint64_t count) {
    std::vector<std::byte> message;
    for (std::uint64_t number = first; number < first + count; ++number) {
      message.resize(size_of(number));
      fill_payload(message, number);
      const Answer answer = co_await request.ask(message);
      if (!answer || !is_payload(answer.message.bytes(), number) ||
          answer.message.size() != message.size()) {
        ++wrong_;
      }
      ++answered_;
    }
  }
  void expect_all(Status status, Outcome outcome) const {
    for (const Answer& answer : answers_) {
      EXPECT_EQ(answer.status, status);
      EXPECT_EQ(answer.outcome, outcome);
      EXPECT_FALSE(answer);
      EXPECT_FALSE(answer.message);
    }
  }

  std::vector<Answer> answers_;
  std::vector<ReplyTo> held_;
  std::uint64_t answered_ = 0;
  std::uint64_t wrong_ = 0;
  Status last_ = Status::ok;
};

// More at once than the table of waiters begins with.
TEST_P(CoroutineRequests, and_answers_may_have_segments) {
  co::Reply reply(there_, {}, options());
  co::Request request(here_, {}, options());
  const auto answer = [](co::Reply& replier) -> Task<> {
    co::Asked asked = co_await replier.receive();
    EXPECT_EQ(asked->segments().size(), 2U);
    const Message kept = asked->keep();
    const Segments segments = kept.segments();
    const std::array<Segment, 3> answered{segments[1], segments[0], std::string_view("end")};
    const Status status = co_await replier.answer_segments(std::move(asked.to), answered);
    EXPECT_EQ(status, Status::ok);
  };
  const auto ask = [this](co::Request& requester) -> Task<> {
    const std::array<Segment, 2> asked{std::string_view("head"), std::string_view("body")};
    answers_.push_back(co_await requester.ask_segments(asked));
  };
  spawn(there_, answer(reply));
  spawn(here_, ask(request));
  request.connect(bind(reply));
  ASSERT_SOON(pump_, answers_.size() == 1);
  ASSERT_TRUE(answers_[0]);
  EXPECT_EQ(answers_[0].message.segments().size(), 3U);
}

// A limit that is over by the time of the call is a short one, and not none.
TEST_P(CoroutineRequests, whose_time_is_over_do_not_wait) {
  co::Request request(here_, {}, options());
  const auto ask = [this](co::Request& requester, std::chrono::nanoseconds within) -> Task<> {
    answers_.push_back(co_await requester.ask("text", within));
  };
  spawn(here_, ask(request, 0ns));
  spawn(here_, ask(request, -5ms));
  ASSERT_SOON(pump_, answers_.size() == 2);
  expect_all(Status::again, Outcome::timed_out);
  answers_.clear();
  spawn(here_, ask_once(request, "text", {.within = -5ms}));
  ASSERT_SOON(pump_, answers_.size() == 1);
  EXPECT_EQ(answers_[0].status, Status::invalid);
}

TEST_P(CoroutineRequests, many_wait_for_their_answers_at_once) {
  constexpr std::uint64_t each = 20;
  co::Reply reply(there_, {}, options());
  co::Request request(here_, {}, options());
  spawn(there_, echo(reply, last_));
  for (std::uint64_t asker = 0; asker < 200; ++asker) {
    spawn(here_, ask_numbers(request, asker * each, each));  // at first they wait for the peer
  }
  EXPECT_EQ(request.requests().asked, 0U);
  request.connect(bind(reply));
  ASSERT_SOON(pump_, answered_ == 200 * each);
  EXPECT_EQ(wrong_, 0U);
  EXPECT_EQ(last_, Status::ok);
  EXPECT_EQ(request.requests().of(Outcome::answered), 200 * each);
  EXPECT_EQ(request.requests().under_way, 0U);
}

TEST_P(CoroutineRequests, a_message_is_asked_and_answered_without_a_copy) {
  co::Reply reply(there_, {}, options());
  co::Request request(here_, {}, options());
  const auto answer = [&]() -> Task<> {
    co::Asked asked = co_await reply.receive();
    Message kept = asked->keep();
    last_ = co_await reply.answer(std::move(asked.to), std::move(kept));
    EXPECT_FALSE(kept);
    EXPECT_FALSE(asked.to);
  };
  const auto ask = [&]() -> Task<> {
    Message message = Message::copy_of(payload(1, 100'000));
    answers_.push_back(co_await request.ask(std::move(message), 1h));
    EXPECT_FALSE(message);
  };
  spawn(there_, answer());
  spawn(here_, ask());
  request.connect(bind(reply));
  ASSERT_SOON(pump_, answers_.size() == 1);
  EXPECT_EQ(answers_[0].outcome, Outcome::answered);
  EXPECT_TRUE(is_payload(answers_[0].message.bytes(), 1));
  EXPECT_EQ(last_, Status::ok);
}

TEST_P(CoroutineRequests, each_other_end_is_told) {
  co::Reply reply(there_, {}, options());
  co::Request request(here_, {}, options());
  join(reply, request);
  spawn(there_, hold(reply));
  spawn(here_, ask_once(request, "never mind", {}));
  ASSERT_SOON(pump_, held_.size() == 1);
  held_.clear();
  ASSERT_SOON(pump_, answers_.size() == 1);
  expect_all(Status::ok, Outcome::not_answered);
  answers_.clear();
  spawn(here_, ask_once(request, "soon", {.within = 20ms}));
  ASSERT_SOON(pump_, answers_.size() == 1);
  expect_all(Status::ok, Outcome::timed_out);
  answers_.clear();
  spawn(here_, ask_once(request, "senseless", {.within = -1ns}));
  ASSERT_EQ(answers_.size(), 1U);
  expect_all(Status::invalid, Outcome::not_executed);
}

TEST_P(CoroutineRequests, the_time_limit_holds_while_nobody_is_there) {
  co::Request request(here_, {}, options());
  spawn(here_, ask_once(request, "anybody?", {.within = 10ms}));
  spawn(here_, ask_once(request, "anybody?", {.within = 20ms}));
  EXPECT_TRUE(answers_.empty());
  ASSERT_SOON(pump_, answers_.size() == 2);
  expect_all(Status::again, Outcome::timed_out);
  EXPECT_EQ(request.requests().asked, 0U);
  answers_.clear();
  spawn(here_, ask_once(request, "you?", {.peer = 77}));  // who names a peer does not wait for it
  ASSERT_EQ(answers_.size(), 1U);
  expect_all(Status::not_connected, Outcome::not_executed);
}

// A peer with as many as it may have does not hold up requests to another one.
TEST_P(CoroutineRequests, wait_for_room_without_holding_up_others) {
  co::Reply silent(there_, {}, options());
  co::Reply good(there_, {}, options());
  co::Request request(here_, {.pending_max = 3}, options());
  request.connect(bind(silent));
  ASSERT_SOON(pump_, request.peers_connected() == 1);
  const std::uint64_t id_of_silent = request.peers()[0].id;
  spawn(there_, hold(silent));
  spawn(there_, echo(good, last_));
  for (int i = 0; i < 6; ++i) spawn(here_, ask_once(request, "silent", {.peer = id_of_silent}));
  ASSERT_SOON(pump_, held_.size() == 3);
  pump_.turns(20);
  EXPECT_EQ(request.requests().under_way, 3U);
  request.connect(bind(good));
  spawn(here_, ask_once(request, "good", {}));
  ASSERT_SOON(pump_, answers_.size() == 1);
  EXPECT_EQ(answers_[0].message.text(), "good");
  answers_.clear();
  held_.clear();
  ASSERT_SOON(pump_, held_.size() == 3 && answers_.size() == 3);
  held_.clear();
  ASSERT_SOON(pump_, answers_.size() == 6);
  expect_all(Status::ok, Outcome::not_answered);
}

// Whoever named a peer and waits for its room is told when that peer is gone for good.
TEST_P(CoroutineRequests, a_named_peer_that_goes_is_waited_for_no_longer) {
  SocketOptions soon = options();
  soon.resume_within = 20ms;
  co::Request request(here_, {.pending_max = 1}, soon);
  auto reply = std::make_unique<co::Reply>(there_, ReplyOptions{}, options());
  join(request, *reply);
  spawn(there_, hold(*reply));
  const Ask named{.peer = request.peers()[0].id};
  for (int i = 0; i < 3; ++i) spawn(here_, ask_once(request, "?", named));
  ASSERT_SOON(pump_, held_.size() == 1);
  EXPECT_TRUE(answers_.empty());
  reply.reset();
  ASSERT_SOON(pump_, answers_.size() == 3);
  int not_connected = 0;
  for (const Answer& answer : answers_) {
    EXPECT_FALSE(answer);
    not_connected += answer.status == Status::not_connected ? 1 : 0;
  }
  EXPECT_GE(not_connected, 1);  // the last words of the replier may have made room for another
}

TEST_P(CoroutineRequests, requesters_are_held_back_while_nobody_receives) {
  co::Reply reply(there_, {}, options());
  co::Request request(here_, {}, options());
  join(reply, request);
  for (int i = 0; i < 10; ++i) spawn(here_, ask_once(request, "?", {}));
  pump_.turns(20);
  EXPECT_EQ(reply.requests().requests, 0U);
  const auto receive = [&]() -> Task<> {
    co::Asked asked = co_await reply.receive();
    EXPECT_EQ(asked->text(), "?");
    EXPECT_EQ(asked.to.peer(), reply.peers()[0].id);
    held_.push_back(std::move(asked.to));
  };
  spawn(there_, receive());
  ASSERT_SOON(pump_, held_.size() == 1);
  pump_.turns(20);
  EXPECT_EQ(reply.requests().requests, 1U);
  std::string complaint;
  const auto second = [&]() -> Task<> {
    try {
      (void)co_await reply.receive();
    } catch (const Error& error) {
      complaint = error.what();
    }
  };
  spawn(there_, hold(reply));
  ASSERT_SOON(pump_, held_.size() == 10);
  spawn(there_, second());
  EXPECT_THAT(complaint, testing::HasSubstr("another coroutine waits for it already"));
}

// Answers wait for a requester that does not read.
TEST_P(CoroutineRequests, answers_wait_for_room) {
  constexpr std::size_t large = 200'000;
  constexpr int count = 40;
  SocketOptions few = options();
  few.send_bytes_max = 1U << 20U;
  co::Reply reply(there_, {}, few);
  co::Request request(here_, {}, options());
  join(reply, request);
  spawn(there_, hold(reply));
  for (int i = 0; i < count; ++i) spawn(here_, ask_once(request, "much", {}));
  ASSERT_SOON(pump_, held_.size() == count);
  int given = 0;
  const auto answer = [&](ReplyTo to) -> Task<> {
    const std::vector<std::byte> much = payload(3, large);
    last_ = co_await reply.answer(std::move(to), much);
    EXPECT_EQ(last_, Status::ok);
    ++given;
  };
  for (ReplyTo& to : held_) spawn(there_, answer(std::move(to)));
  ASSERT_SOON(pump_, answers_.size() == count);
  EXPECT_EQ(given, count);
  for (const Answer& each : answers_) EXPECT_TRUE(is_payload(each.message.bytes(), 3));
}

// What counts its life: a frame that is not destroyed shows.
struct LiveFrame {
  explicit LiveFrame(int& alive) : count(alive) { ++count; }
  ~LiveFrame() { --count; }
  LiveFrame(const LiveFrame&) = delete;
  LiveFrame& operator=(const LiveFrame&) = delete;
  int& count;
};

TEST_P(CoroutineRequests, destroying_the_coroutine_cancels_its_request) {
  co::Reply reply(there_, {}, options());
  auto other = std::make_unique<Context>(small_context(GetParam()));
  Pump pump{other.get(), &there_};
  std::string address = bind(reply);
  int alive = 0;
  const auto ask = [](Context& context, const std::string& where, int& count) -> Task<> {
    const LiveFrame counted(count);
    co::Request request(context);
    request.connect(where);
    const auto inner = [](co::Request& socket, int& inner_count) -> Task<> {
      const LiveFrame inner_counted(inner_count);
      (void)co_await socket.ask("?");
      ADD_FAILURE() << "it went on";
    };
    co_await inner(request, count);
  };
  spawn(there_, hold(reply));
  spawn(*other, ask(*other, address, alive));
  ASSERT_SOON(pump, held_.size() == 1);
  EXPECT_EQ(alive, 2);
  other.reset();
  EXPECT_EQ(alive, 0);
}

// The coroutine that waits is destroyed with the one that has it, and the socket lives on.
TEST_P(CoroutineRequests, a_request_that_nobody_awaits_any_more_is_cancelled) {
  co::Reply reply(there_, {}, options());
  co::Request request(here_, {}, options());
  join(reply, request);
  spawn(there_, hold(reply));
  {
    auto awaiter = request.ask("?");
    ASSERT_FALSE(awaiter.await_ready());
    awaiter.await_suspend(std::noop_coroutine());
    EXPECT_EQ(request.requests().under_way, 1U);
  }
  EXPECT_EQ(request.requests().of(Outcome::cancelled), 1U);
  EXPECT_EQ(request.requests().under_way, 0U);
  ASSERT_SOON(pump_, reply.requests().withdrawn + reply.requests().unwanted == 1);
}

TEST_P(CoroutineRequests, closing_answers_all_who_wait) {
  co::Reply reply(there_, {}, options());
  co::Request request(here_, {.pending_max = 2}, options());
  join(reply, request);
  spawn(there_, hold(reply));
  for (int i = 0; i < 4; ++i) spawn(here_, ask_once(request, "?", {.within = 1h}));
  ASSERT_SOON(pump_, held_.size() == 2);
  const auto wait = [&]() -> Task<> {
    const co::Asked asked = co_await reply.receive();
    last_ = asked.status;
  };
  (void)request.close();
  EXPECT_TRUE(answers_.empty()) << "from inside close()";
  ASSERT_SOON(pump_, answers_.size() == 4);
  expect_all(Status::closed, Outcome::cancelled);
  (void)reply.close();
  pump_.turns(5);
  spawn(there_, wait());
  EXPECT_EQ(last_, Status::closed);
  spawn(here_, ask_once(request, "?", {}));
  EXPECT_EQ(answers_.size(), 5U);
  expect_all(Status::closed, Outcome::cancelled);
}

TEST_P(CoroutineRequests, destroying_the_socket_answers_all_who_wait) {
  auto reply = std::make_unique<co::Reply>(there_, ReplyOptions{}, options());
  auto request = std::make_unique<co::Request>(here_, RequestOptions{.pending_max = 2}, options());
  join(*reply, *request);
  last_ = Status::ok;
  spawn(there_, echo(*reply, last_));
  for (int i = 0; i < 4; ++i) spawn(here_, ask_once(*request, "?", {}));
  request.reset();
  EXPECT_TRUE(answers_.empty()) << "from inside the destructor";
  reply.reset();
  ASSERT_SOON(pump_, answers_.size() == 4 && last_ == Status::closed);
  expect_all(Status::closed, Outcome::cancelled);
}

TEST_P(CoroutineRequests, a_coroutine_may_destroy_the_socket_that_resumed_it) {
  auto reply = std::make_unique<co::Reply>(there_, ReplyOptions{}, options());
  auto request = std::make_unique<co::Request>(here_, RequestOptions{}, options());
  join(*reply, *request);
  spawn(there_, echo(*reply, last_));
  const auto ask = [&]() -> Task<> {
    answers_.push_back(co_await request->ask("?"));
    request.reset();
  };
  spawn(here_, ask());
  for (int i = 0; i < 3; ++i) spawn(here_, ask_once(*request, "?", {}));
  ASSERT_SOON(pump_, request == nullptr && answers_.size() == 4);
  EXPECT_TRUE(answers_[0]);
  const auto receive = [&]() -> Task<> {
    co::Asked asked = co_await reply->receive();
    if (asked) reply.reset();
    EXPECT_EQ(asked.to.send("!"), Status::closed);
  };
  reply = std::make_unique<co::Reply>(there_, ReplyOptions{}, options());
  request = std::make_unique<co::Request>(here_, RequestOptions{}, options());
  join(*reply, *request);
  spawn(there_, receive());
  spawn(here_, ask_once(*request, "?", {}));
  ASSERT_SOON(pump_, reply == nullptr);
  request.reset();
  ASSERT_SOON(pump_, answers_.size() == 5);
  pump_.turns(20);
}

TEST_P(CoroutineRequests, asking_takes_nothing_from_the_heap) {
  co::Reply reply(there_, {}, options());
  co::Request request(here_, {}, options());
  join(reply, request);
  bool stop = false;
  const auto ask = [&]() -> Task<> {
    const std::vector<std::byte> message = payload(0, 64);
    while (!stop) {
      const Answer answer = co_await request.ask(message, 1h);
      if (!answer) break;
      if (++answered_ % 16 == 0) co_await co::sleep(here_.loop(), 0ns);
    }
  };
  const auto answer = [&]() -> Task<> {
    while (co::Asked asked = co_await reply.receive()) {
      if (asked.to.send(asked->bytes()) != Status::ok) break;
    }
  };
  spawn(there_, answer());
  for (int i = 0; i < 10; ++i) spawn(here_, ask());
  ASSERT_SOON(pump_, answered_ >= 2000);
  const std::uint64_t allocations = allocations_during([&] {
    const std::uint64_t until = answered_ + 2000;
    EXPECT_SOON(pump_, answered_ >= until);
  });
  EXPECT_EQ(allocations, 0U);
  stop = true;
}

ON_EVERY_TRANSPORT_AND_MODE(CoroutineRequests);

}  // namespace
}  // namespace netio::test
