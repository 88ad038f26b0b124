// What is left when one side of a request goes, is paused, closes, or lets go of a ReplyTo on
// another thread; and both sides full at once.
#include <memory>
#include <optional>
#include <thread>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class RequestEnd : public Conformance {
 protected:
  // Asks so often, turning the loops where there is no room.
  void ask(Request& request, std::size_t count, std::string_view text, const Ask& how = {}) {
    for (std::size_t i = 0; i < count; ++i) {
      Status status = Status::again;
      std::uint64_t id = 0;
      ASSERT_SOON(pump_, (status = request.send(text, id, how)) == Status::ok);
    }
  }
  void hold_all(Reply& reply) {
    reply.on_request([this](const MessageView&, ReplyTo to) { open_.push_back(std::move(to)); });
  }
  void count_ends(Request& request) {
    request.on_reply([this](std::uint64_t, const MessageView&) { ++answered_; });
    request.on_failed([this](std::uint64_t, Outcome outcome) {
      ++failed_;
      last_ = outcome;
    });
  }

  std::vector<ReplyTo> open_;
  std::uint64_t answered_ = 0;
  std::uint64_t failed_ = 0;
  Outcome last_ = Outcome::answered;
};

TEST_P(RequestEnd, a_requester_that_goes_leaves_nothing_behind_and_disturbs_nobody) {
  Reply reply(there_, {}, options());
  std::optional<Request> leaving(std::in_place, here_, RequestOptions{}, options());
  Request staying(here_, {}, options());
  hold_all(reply);
  count_ends(staying);
  const std::string address = bind(reply);
  leaving->connect(address);
  staying.connect(address);
  ASSERT_SOON(pump_, reply.peers_connected() == 2);
  constexpr std::size_t count = 10'000;
  ask(*leaving, count, "?");
  ASSERT_SOON(pump_, open_.size() == count);
  leaving->close();
  ASSERT_SOON(pump_, leaving->closed());
  EXPECT_EQ(leaving->requests().of(Outcome::cancelled), count);
  ASSERT_SOON(pump_, reply.requests().unwanted == count);
  for (ReplyTo& to : open_) {
    EXPECT_FALSE(to.wanted());
    EXPECT_EQ(to.peer(), 0U);
    EXPECT_EQ(to.send("nobody"), Status::not_connected);
  }
  open_.clear();
  leaving.reset();
  ask(staying, 1, "still?");
  ASSERT_SOON(pump_, open_.size() == 1);
  EXPECT_EQ(open_[0].send("yes"), Status::ok);
  ASSERT_SOON(pump_, answered_ == 1);
  EXPECT_EQ(reply.requests().open, 0U);
}

TEST_P(RequestEnd, a_replier_that_closes_tells_who_waits) {
  std::optional<Reply> reply(std::in_place, there_, ReplyOptions{}, options());
  Request request(here_, {}, options());
  hold_all(*reply);
  count_ends(request);
  join(*reply, request);
  ask(request, 100, "?");
  ASSERT_SOON(pump_, open_.size() == 100);
  reply->close();
  EXPECT_EQ(open_[0].send("too late"), Status::closed);
  ASSERT_SOON(pump_, failed_ == 100);
  EXPECT_EQ(last_, Outcome::not_answered);
  ASSERT_SOON(pump_, reply->closed());
  reply.reset();
  EXPECT_EQ(open_[0].send("much too late"), Status::closed);
  EXPECT_FALSE(open_[0].wanted());
  open_.clear();
}

TEST_P(RequestEnd, a_reply_to_may_be_dropped_on_any_thread) {
  std::optional<Reply> reply(std::in_place, there_, ReplyOptions{}, options());
  Request request(here_, {}, options());
  hold_all(*reply);
  count_ends(request);
  join(*reply, request);
  ask(request, 1000, "?");
  ASSERT_SOON(pump_, open_.size() == 1000);
  std::vector<ReplyTo> half(std::make_move_iterator(open_.begin() + 500),
                            std::make_move_iterator(open_.end()));
  open_.resize(500);
  std::thread other([dropped = std::move(open_)]() mutable { dropped.clear(); });
  ASSERT_SOON(pump_, failed_ == 500);
  EXPECT_EQ(last_, Outcome::not_answered);
  other.join();
  // The others when the socket is going, or gone.
  std::thread late([dropped = std::move(half)]() mutable {
    while (!dropped.empty()) dropped.pop_back();
  });
  reply.reset();
  late.join();
}

// Nobody runs the loop, so each thread that drops one is another one.
TEST_P(RequestEnd, a_reply_to_that_is_dropped_between_two_turns_is_told_in_the_next) {
  Reply reply(there_, {}, options());
  Request request(here_, {}, options());
  hold_all(reply);
  count_ends(request);
  join(reply, request);
  ask(request, 2, "?");
  ASSERT_SOON(pump_, open_.size() == 2);
  const std::size_t before = reply.requests().open;
  std::thread([dropped = std::move(open_.back())] {}).join();
  open_.clear();
  EXPECT_EQ(reply.requests().open, before);
  ASSERT_SOON(pump_, failed_ == 2);
  EXPECT_EQ(last_, Outcome::not_answered);
  EXPECT_EQ(reply.requests().open, 0U);
}

// The time of a request goes on while it waits at the replier.
TEST_P(RequestEnd, a_request_whose_time_is_over_is_not_delivered) {
  Reply reply(there_, {}, options());
  Request request(here_, {}, options());
  hold_all(reply);
  count_ends(request);
  join(reply, request);
  ask(request, 1, "first");
  ASSERT_SOON(pump_, open_.size() == 1);
  // The second one comes while the first call-back runs, and the third has all the time.
  reply.on_request([&](const MessageView& message, ReplyTo to) {
    if (message.text() == "slow") std::this_thread::sleep_for(60ms);
    open_.push_back(std::move(to));
  });
  std::uint64_t id = 0;
  ASSERT_EQ(request.send("slow", id), Status::ok);
  ASSERT_EQ(request.send("short", id, {.within = 30ms}), Status::ok);
  ASSERT_EQ(request.send("long", id, {.within = 1h}), Status::ok);
  ASSERT_SOON(pump_, open_.size() == 3);
  pump_.run_for(20ms);
  ASSERT_SOON(pump_, failed_ == 1);
  EXPECT_EQ(last_, Outcome::timed_out);
  EXPECT_LE(reply.requests().expired, 1U);
  EXPECT_TRUE(open_[2].time_left() && *open_[2].time_left() > 30min);
}

// Each waits for the other: the requester for room to ask, the replier for room to answer.
TEST_P(RequestEnd, both_sides_full_never_stand_still) {
  SocketOptions small = options();
  small.send_bytes_max = 16U << 10U;
  Reply left_reply(here_, {}, small);
  Request left(here_, {}, small);
  Reply right_reply(there_, {}, small);
  Request right(there_, {}, small);
  std::uint64_t answers = 0;
  for (Reply* reply : {&left_reply, &right_reply}) {
    reply->on_request([](const MessageView& message, ReplyTo to) {
      EXPECT_EQ(to.send(message.bytes()), Status::ok);
    });
  }
  for (Request* request : {&left, &right}) {
    request->on_reply([&](std::uint64_t, const MessageView& answer) {
      EXPECT_EQ(answer.size(), 20'000U);
      ++answers;
    });
  }
  left.connect(bind(right_reply));
  right.connect(bind(left_reply));
  ASSERT_SOON(pump_, left.peers_connected() == 1 && right.peers_connected() == 1);
  const std::vector<std::byte> bytes(20'000);
  std::uint64_t asked = 0;
  std::uint64_t id = 0;
  ASSERT_SOON(pump_, [&] {
    for (Request* request : {&left, &right}) {
      while (asked < 4000 && request->send(bytes, id) == Status::ok) ++asked;
    }
    return asked == 4000 && answers == 4000;
  }());
}

TEST_P(RequestEnd, a_paused_replier_holds_its_requesters_back) {
  Reply reply(there_, {}, options());
  Request request(here_, {}, options());
  hold_all(reply);
  count_ends(request);
  join(reply, request);
  reply.pause();
  const std::string text(2000, 'x');
  std::uint64_t asked = 0;
  std::uint64_t id = 0;
  while (request.send(text, id) == Status::ok) {
    ++asked;
    pump_.turns(1);
  }
  pump_.run_for(10ms);
  EXPECT_TRUE(open_.empty());
  reply.resume();
  ASSERT_SOON(pump_, open_.size() == asked);
  for (ReplyTo& to : open_) ASSERT_EQ(to.send("ok"), Status::ok);
  ASSERT_SOON(pump_, answered_ == asked);
}

// What the call-back was given and has not answered when it closes its socket is one of the open
// requests.
TEST_P(RequestEnd, a_replier_may_close_with_the_request_at_hand_open) {
  Request request(here_, {}, options());
  Reply reply(there_, {}, options());
  count_ends(request);
  reply.on_request([&](const MessageView&, ReplyTo to) {
    open_.push_back(std::move(to));
    if (open_.size() < 3) return;
    EXPECT_EQ(reply.requests().open, 3U);
    reply.close();
    EXPECT_EQ(reply.requests().open, 0U);
    EXPECT_EQ(reply.requests().not_answered, 3U);
    EXPECT_EQ(open_[2].send("too late"), Status::closed);
    open_.clear();
  });
  request.connect(bind(reply));
  ASSERT_SOON(pump_, request.peers_connected() == 1);
  ask(request, 3, "?");
  ASSERT_SOON(pump_, failed_ == 3);
  EXPECT_EQ(last_, Outcome::not_answered);
  EXPECT_EQ(reply.requests().requests, 3U);
}

TEST_P(RequestEnd, a_replier_may_go_with_the_request_at_hand_open) {
  Request request(here_, {}, options());
  auto reply = std::make_unique<Reply>(there_, ReplyOptions{}, options());
  count_ends(request);
  reply->on_request([&](const MessageView&, ReplyTo to) {
    open_.push_back(std::move(to));
    if (open_.size() < 3) return;
    reply.reset();
    EXPECT_EQ(open_[2].send("too late"), Status::closed);
    open_.clear();  // in whichever order
  });
  request.connect(bind(*reply));
  ASSERT_SOON(pump_, request.peers_connected() == 1);
  ask(request, 3, "?");
  ASSERT_SOON(pump_, open_.empty() && reply == nullptr);
  request.close();
  ASSERT_SOON(pump_, request.closed());
  EXPECT_EQ(answered_, 0U);
}

// All that the user may do inside a call-back.
TEST_P(RequestEnd, call_backs_may_ask_cancel_close_and_destroy) {
  std::optional<Reply> reply(std::in_place, there_, ReplyOptions{}, options());
  std::optional<Request> request(std::in_place, here_, RequestOptions{}, options());
  reply->on_request([](const MessageView& message, ReplyTo to) {
    EXPECT_EQ(to.send(message.bytes()), Status::ok);
  });
  std::uint64_t rounds = 0;
  std::uint64_t id = 0;
  request->on_reply([&](std::uint64_t, const MessageView&) {
    if (++rounds < 100) {
      EXPECT_EQ(request->send("again", id), Status::ok);
      std::uint64_t other = 0;
      EXPECT_EQ(request->send("not wanted", other), Status::ok);
      EXPECT_EQ(request->cancel(other), Status::ok);
    } else {
      request.reset();
    }
  });
  join(*reply, *request);
  ASSERT_EQ(request->send("first", id), Status::ok);
  ASSERT_SOON(pump_, !request);
  ASSERT_SOON(pump_, reply->peers_connected() == 0);
  Request last(here_, {}, options());
  count_ends(last);
  reply->on_request([&](const MessageView&, const ReplyTo&) { reply.reset(); });
  join(*reply, last);
  ask(last, 1, "?");
  ASSERT_SOON(pump_, !reply);
  last.close();
  ASSERT_SOON(pump_, last.closed());
}

ON_EVERY_TRANSPORT_AND_MODE(RequestEnd);

}  // namespace
}  // namespace netio::test
