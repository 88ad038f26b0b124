// Request and Reply: every request is answered once, or ends in one other way that is told.
#include <deque>
#include <map>
#include <optional>

#include "conformance/requesting.hpp"

namespace netio::test {
namespace {

class RequestReply : public Conformance {
 protected:
  // Asks, turning the loops as long as the answer is again or not_connected.
  std::uint64_t ask(Request& request, std::span<const std::byte> bytes, const Ask& how = {}) {
    std::uint64_t id = 0;
    Status status = Status::again;
    EXPECT_SOON(pump_, (status = request.send(bytes, id, how)) != Status::again &&
                           status != Status::not_connected);
    EXPECT_EQ(status, Status::ok);
    return id;
  }
  std::uint64_t ask(Request& request, std::string_view text, const Ask& how = {}) {
    return ask(request, std::as_bytes(std::span(text)), how);
  }
  static void echo(Reply& reply) {
    reply.on_request([](const MessageView& request, ReplyTo to) {
      EXPECT_EQ(to.send(request.bytes()), Status::ok);
      EXPECT_FALSE(to);
    });
  }
  // Asks for an answer that comes too late, until the replier has such a request: with twice the
  // time where it was over on the way. All end because of their time.
  void ask_in_vain(Request& request, const Answers& answers, const std::optional<ReplyTo>& open) {
    for (std::chrono::milliseconds within = 20ms; !open; within *= 2) {
      const std::uint64_t id = ask(request, "soon", {.within = within});
      ASSERT_SOON(pump_, answers.failed.contains(id));
      EXPECT_EQ(answers.failed.at(id), Outcome::timed_out);
      if (!open) settle(request);  // if it was sent after all, it has arrived then
    }
  }
};

TEST_P(RequestReply, answers_a_request) {
  Request request(here_, {}, options());
  Reply reply(there_, {}, options());
  Answers answers(request);
  reply.on_request([](const MessageView& message, ReplyTo to) {
    EXPECT_EQ(message.text(), "how many?");
    EXPECT_TRUE(to.wanted());
    EXPECT_FALSE(to.time_left());
    EXPECT_EQ(to.send("three"), Status::ok);
  });
  join(reply, request);
  const std::uint64_t id = ask(request, "how many?");
  EXPECT_NE(id, 0U);
  EXPECT_EQ(request.requests().under_way, 1U);
  ASSERT_SOON(pump_, answers.texts.size() == 1);
  EXPECT_EQ(answers.texts[id], "three");
  EXPECT_EQ(request.requests().of(Outcome::answered), 1U);
  EXPECT_EQ(request.requests().under_way, 0U);
  EXPECT_EQ(reply.requests().answered, 1U);
  settle(request);
  settle(reply);
  expect_law(request);
  expect_law(reply);
}

TEST_P(RequestReply, works_with_the_replier_dialing) {
  Request request(here_, {}, options());
  Reply reply(there_, {}, options());
  Answers answers(request);
  echo(reply);
  join(request, reply);
  const std::uint64_t id = ask(request, "from the bound side");
  ASSERT_SOON(pump_, answers.texts.size() == 1);
  EXPECT_EQ(answers.texts[id], "from the bound side");
}

// Of any size, in both directions, and many at once.
TEST_P(RequestReply, carries_requests_and_answers_of_any_size) {
  Request request(here_, {}, options());
  Reply reply(there_, {}, options());
  std::map<std::uint64_t, std::uint64_t> numbers;
  std::uint64_t wrong = 0;
  std::uint64_t answered = 0;
  request.on_reply([&](std::uint64_t id, const MessageView& answer) {
    const std::uint64_t number = numbers.at(id);
    if (answer.size() != size_of(number + 1) || !is_payload(answer.bytes(), number + 1)) ++wrong;
    ++answered;
  });
  std::uint64_t asked_there = 0;
  reply.on_request([&](const MessageView& message, ReplyTo to) {
    const std::uint64_t number = asked_there++;
    if (message.size() != size_of(number) || !is_payload(message.bytes(), number)) ++wrong;
    const Status status = to.send(payload(number + 1, size_of(number + 1)));
    EXPECT_EQ(status, Status::ok);
  });
  join(reply, request);
  constexpr std::uint64_t count = 2000;
  for (std::uint64_t number = 0; number < count; ++number) {
    numbers[ask(request, payload(number, size_of(number)))] = number;
  }
  ASSERT_SOON(pump_, answered == count);
  EXPECT_EQ(wrong, 0U);
  settle(request);
  settle(reply);
  expect_law(request);
  expect_law(reply);
}

TEST_P(RequestReply, is_answered_in_any_order) {
  Request request(here_, {}, options());
  Reply reply(there_, {}, options());
  Answers answers(request);
  std::vector<std::pair<std::string, ReplyTo>> open;
  reply.on_request([&](const MessageView& message, ReplyTo to) {
    open.emplace_back(std::string(message.text()), std::move(to));
  });
  join(reply, request);
  std::map<std::uint64_t, std::string> expected;
  for (int i = 0; i < 100; ++i) {
    const std::string text = std::to_string(i);
    expected[ask(request, text)] = text;
  }
  ASSERT_SOON(pump_, open.size() == 100);
  EXPECT_EQ(reply.requests().open, 100U);
  for (auto place = open.rbegin(); place != open.rend(); ++place) {
    ASSERT_EQ(place->second.send(place->first), Status::ok);
  }
  ASSERT_SOON(pump_, answers.texts.size() == 100);
  EXPECT_EQ(answers.texts, expected);
  expect_law(request);
  expect_law(reply);
}

TEST_P(RequestReply, hears_of_a_request_that_is_dropped) {
  Request request(here_, {}, options());
  Reply reply(there_, {}, options());
  Answers answers(request);
  reply.on_request([](const MessageView&, const ReplyTo&) {});
  join(reply, request);
  const std::uint64_t id = ask(request, "never mind");
  ASSERT_SOON(pump_, answers.failed.size() == 1);
  EXPECT_EQ(answers.failed[id], Outcome::not_answered);
  EXPECT_EQ(reply.requests().not_answered, 1U);
  expect_law(request);
  expect_law(reply);
}

TEST_P(RequestReply, ends_when_its_time_is_over) {
  Request request(here_, {}, options());
  Reply reply(there_, {}, options());
  Answers answers(request);
  std::optional<ReplyTo> open;
  reply.on_request([&](const MessageView& message, ReplyTo to) {
    EXPECT_EQ(to.time_left().has_value(), message.text() == "soon");
    open = std::move(to);
  });
  join(reply, request);
  ASSERT_NO_FATAL_FAILURE(ask_in_vain(request, answers, open));
  // The replier is told, and so nobody waits there any more.
  ASSERT_SOON(pump_, !open->wanted() && reply.requests().unwanted == 1);
  EXPECT_EQ(open->send("late"), Status::not_connected);
  open.reset();
  const std::uint64_t next = ask(request, "again");
  ASSERT_SOON(pump_, open);
  EXPECT_EQ(open->send("in time"), Status::ok);
  ASSERT_SOON(pump_, answers.texts.size() == 1);
  EXPECT_EQ(answers.texts[next], "in time");
  expect_law(request);
  expect_law(reply);
}

// That the requester does not wait any more, a replier that is paused does not hear.
TEST_P(RequestReply, is_not_answered_once_its_time_is_over) {
  Request request(here_, {}, options());
  Reply reply(there_, {}, options());
  Answers answers(request);
  std::optional<ReplyTo> open;
  reply.on_request([&](const MessageView&, ReplyTo to) {
    open = std::move(to);
    reply.pause();
  });
  join(reply, request);
  ASSERT_NO_FATAL_FAILURE(ask_in_vain(request, answers, open));
  ASSERT_SOON(pump_, !open->wanted());
  EXPECT_EQ(reply.requests().open, 1U);
  EXPECT_EQ(open->send("late"), Status::not_connected);
  EXPECT_EQ(reply.requests().unwanted, 1U);
  EXPECT_EQ(open->send("late"), Status::not_connected);
  open.reset();
  reply.resume();
  expect_law(reply);
  settle(request);
  EXPECT_EQ(request.requests().late, 0U);
}

TEST_P(RequestReply, is_cancelled_without_a_call) {
  Request request(here_, {}, options());
  Reply reply(there_, {}, options());
  Answers answers(request);
  std::vector<ReplyTo> open;
  reply.on_request([&](const MessageView&, ReplyTo to) { open.push_back(std::move(to)); });
  join(reply, request);
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 100; ++i) ids.push_back(ask(request, "?"));
  ASSERT_SOON(pump_, open.size() == 100);
  for (const std::uint64_t id : ids) EXPECT_EQ(request.cancel(id), Status::ok);
  EXPECT_EQ(request.cancel(ids[0]), Status::invalid);
  ASSERT_SOON(pump_, reply.requests().unwanted == 100);
  for (ReplyTo& to : open) EXPECT_EQ(to.send("no"), Status::not_connected);
  EXPECT_EQ(request.requests().of(Outcome::cancelled), 100U);
  EXPECT_EQ(answers.ended(), 0U);
  expect_law(request);
  expect_law(reply);
}

TEST_P(RequestReply, asks_peers_in_turn_or_a_given_one) {
  Request request(here_, {}, options());
  Reply one(there_, {}, options());
  Reply other(there_, {}, options());
  Answers answers(request);
  one.on_request([](const MessageView&, ReplyTo to) { EXPECT_EQ(to.send("one"), Status::ok); });
  other.on_request([](const MessageView&, ReplyTo to) { EXPECT_EQ(to.send("other"), Status::ok); });
  request.connect(bind(one));
  ASSERT_SOON(pump_, request.peers_connected() == 1);
  const std::uint64_t id_of_one = request.peers()[0].id;
  request.connect(bind(other));
  ASSERT_SOON(pump_, request.peers_connected() == 2);
  for (int i = 0; i < 10; ++i) (void)ask(request, "who?");
  ASSERT_SOON(pump_, answers.texts.size() == 10);
  EXPECT_EQ(one.requests().answered, 5U);
  EXPECT_EQ(other.requests().answered, 5U);
  for (int i = 0; i < 10; ++i) {
    const std::uint64_t id = ask(request, "who?", {.peer = id_of_one});
    ASSERT_SOON(pump_, answers.texts.contains(id));
    EXPECT_EQ(answers.texts[id], "one");
  }
  std::uint64_t id = 0;
  EXPECT_EQ(request.send("nobody", id, {.peer = 99}), Status::not_connected);
}

// The replier that never answers has its share, and the other one is asked on.
TEST_P(RequestReply, is_bounded_for_each_peer) {
  Request request(here_, {.pending_max = 50}, options());
  Reply silent(there_, {}, options());
  Reply good(there_, {}, options());
  Answers answers(request);
  std::vector<ReplyTo> open;
  silent.on_request([&](const MessageView&, ReplyTo to) { open.push_back(std::move(to)); });
  echo(good);
  request.connect(bind(silent));
  ASSERT_SOON(pump_, request.peers_connected() == 1);
  std::uint64_t id = 0;
  for (int i = 0; i < 50; ++i) (void)ask(request, "?");
  EXPECT_EQ(request.send("one too many", id), Status::again);
  int told = 0;
  request.on_writable([&] { ++told; });
  pump_.run_for(20ms);
  EXPECT_EQ(told, 0);
  request.connect(bind(good));
  ASSERT_SOON(pump_, told == 1);
  for (int i = 0; i < 200; ++i) (void)ask(request, "still");
  ASSERT_SOON(pump_, answers.texts.size() == 200);
  EXPECT_EQ(request.requests().under_way, 50U);
  ASSERT_SOON(pump_, open.size() == 50);
  open.clear();
  ASSERT_SOON(pump_, answers.failed.size() == 50);
  expect_law(request);
  expect_law(silent);
  expect_law(good);
}

// What one replier has open is bounded as well: it reads no more of that peer until some are
// answered.
TEST_P(RequestReply, holds_back_a_peer_with_too_many_open) {
  Request request(here_, {}, options());
  Reply reply(there_, {.open_max = 10}, options());
  Answers answers(request);
  std::deque<ReplyTo> open;
  std::size_t most = 0;
  reply.on_request([&](const MessageView&, ReplyTo to) {
    open.push_back(std::move(to));
    most = std::max(most, open.size());
  });
  join(reply, request);
  std::size_t asked = 0;
  std::size_t answered = 0;
  ASSERT_SOON(pump_, [&] {
    std::uint64_t id = 0;
    while (asked < 500 && request.send("?", id) == Status::ok) ++asked;
    if (!open.empty()) {
      EXPECT_EQ(open.front().send("!"), Status::ok);
      open.pop_front();
      ++answered;
    }
    return answered == 500;
  }());
  EXPECT_EQ(most, 10U);
  ASSERT_SOON(pump_, answers.texts.size() == 500);
  expect_law(request);
  expect_law(reply);
}

ON_EVERY_TRANSPORT_AND_MODE(RequestReply);

}  // namespace
}  // namespace netio::test
