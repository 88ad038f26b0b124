// Connections cut underneath Request and Reply: every request ends once, and what is said of its
// end is true.
#include <map>
#include <optional>
#include <set>

#include "conformance/conformance.hpp"
#include "support/relay.hpp"

namespace netio::test {
namespace {

class RequestCut : public Conformance {
 protected:
  void write_down(Request& request) {
    request.on_reply([this](std::uint64_t id, const MessageView& answer) {
      EXPECT_TRUE(is_payload(answer.bytes(), numbers_.at(id) + 1));
      end(id, Outcome::answered);
    });
    request.on_failed([this](std::uint64_t id, Outcome outcome) { end(id, outcome); });
  }
  // Each request has its number in front; what was executed is counted.
  void answer_all(Reply& reply) {
    reply.on_request([this](const MessageView& message, ReplyTo to) {
      std::uint64_t number = 0;
      std::memcpy(&number, message.data(), sizeof number);
      ++executed_[number];
      const Status status = to.send(payload(number + 1, size_of(number + 1)));
      EXPECT_TRUE(status == Status::ok || status == Status::not_connected);
    });
  }
  // A request with the next number, of whatever size.
  void ask(Request& request, const Ask& how = {}) {
    const std::uint64_t number = asked_++;
    std::vector<std::byte> bytes(std::max<std::size_t>(size_of(number), 8));
    std::memcpy(bytes.data(), &number, sizeof number);
    std::uint64_t id = 0;
    Status status = Status::again;
    ASSERT_SOON(pump_, (status = request.send(bytes, id, how)) == Status::ok);
    numbers_[id] = number;
  }
  void end(std::uint64_t id, Outcome outcome) {
    EXPECT_FALSE(ended_.contains(numbers_.at(id))) << "ended twice";
    ended_[numbers_.at(id)] = outcome;
  }
  [[nodiscard]] std::size_t count(Outcome outcome) const {
    std::size_t n = 0;
    for (const auto& [number, ended] : ended_) n += ended == outcome ? 1 : 0;
    return n;
  }
  // What was said of each request is so.
  void expect_truth() {
    for (const auto& [number, outcome] : ended_) {
      const int executed = executed_.contains(number) ? executed_[number] : 0;
      EXPECT_LE(executed, 1) << number;
      if (outcome == Outcome::answered || outcome == Outcome::not_answered) {
        EXPECT_EQ(executed, 1) << number;
      }
      if (outcome == Outcome::not_executed) {
        EXPECT_EQ(executed, 0) << number;
      }
    }
  }
  // 30 connections are cut anywhere.
  void flood_over_cuts(Request& request, Relay& relay, const Ask& how = {}) {
    Random random(11);
    while (relay.cuts() < 30) {
      if (!relay.fault_pending()) relay.cut_after(random.below(300'000));
      for (int i = 0; i < 20; ++i) ask(request, how);
      pump_.turns(3);
      ASSERT_LT(asked_, 100'000U);
    }
    relay.cut_no_more();
    ASSERT_SOON(pump_, ended_.size() == asked_) << ended_.size() << " of " << asked_;
  }

  std::uint64_t asked_ = 0;
  std::map<std::uint64_t, std::uint64_t> numbers_;  // of requests, by id
  std::map<std::uint64_t, Outcome> ended_;          // by number
  std::map<std::uint64_t, int> executed_;
};

TEST_P(RequestCut, every_request_ends_once_and_as_it_is_told) {
  Reply reply(there_, {}, eager());
  Request request(here_, {}, eager());
  write_down(request);
  answer_all(reply);
  Relay relay(bind(reply));
  request.connect(relay.address());
  flood_over_cuts(request, relay);
  expect_truth();
  EXPECT_GT(count(Outcome::answered), 0U);
  const RequestBooks books = request.requests();
  EXPECT_EQ(books.under_way, 0U);
  EXPECT_EQ(books.of(Outcome::in_doubt), count(Outcome::in_doubt));
}

TEST_P(RequestCut, the_same_where_the_replier_dials) {
  Request request(here_, {}, eager());
  Reply reply(there_, {}, eager());
  write_down(request);
  answer_all(reply);
  Relay relay(bind(request));
  reply.connect(relay.address());
  flood_over_cuts(request, relay);
  expect_truth();
  EXPECT_GT(count(Outcome::answered), 0U);
}

// What is under way is less than what both sides keep.
TEST_P(RequestCut, all_are_answered_once_where_both_sides_keep) {
  Reply reply(there_, {}, keeping());
  Request request(here_, {.pending_max = 32}, keeping());
  write_down(request);
  answer_all(reply);
  Relay relay(bind(reply));
  request.connect(relay.address());
  flood_over_cuts(request, relay);
  expect_truth();
  EXPECT_EQ(count(Outcome::answered), asked_) << count(Outcome::in_doubt) << " in doubt, "
                                              << count(Outcome::not_executed) << " not executed";
}

TEST_P(RequestCut, all_are_answered_where_both_sides_keep_and_the_replier_dials) {
  Request request(here_, {.pending_max = 32}, keeping());
  Reply reply(there_, {}, keeping());
  write_down(request);
  answer_all(reply);
  Relay relay(bind(request));
  reply.connect(relay.address());
  flood_over_cuts(request, relay);
  expect_truth();
  EXPECT_EQ(count(Outcome::answered), asked_)
      << count(Outcome::in_doubt) << " in doubt, " << count(Outcome::not_executed)
      << " not executed, given up: " << request.counters().resume_given_up << ", "
      << reply.counters().resume_given_up;
}

// Executed once or more, and answered.
TEST_P(RequestCut, idempotent_requests_are_sent_again) {
  Reply reply(there_, {}, eager());
  Request request(here_, {}, eager());
  write_down(request);
  answer_all(reply);
  Relay relay(bind(reply));
  request.connect(relay.address());
  Random random(12);
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 50; ++i) ask(request, {.idempotent = true});
    relay.cut();
    ASSERT_SOON(pump_, ended_.size() == asked_);
  }
  EXPECT_EQ(count(Outcome::answered), asked_);
  EXPECT_GT(request.requests().repeated, 0U);
}

// The ReplyTo names the stream, and not the connection.
TEST_P(RequestCut, an_answer_reaches_a_requester_that_came_back) {
  for (const bool replier_dials : {false, true}) {
    SCOPED_TRACE(replier_dials);
    Reply reply(there_, {}, eager());
    Request request(here_, {}, eager());
    write_down(request);
    std::optional<ReplyTo> open;
    reply.on_request([&](const MessageView&, ReplyTo to) { open = std::move(to); });
    Relay relay(replier_dials ? bind(request) : bind(reply));
    if (replier_dials) {
      reply.connect(relay.address());
    } else {
      request.connect(relay.address());
    }
    ask(request);
    ASSERT_SOON(pump_, open);
    const std::uint64_t number = asked_ - 1;
    settle(request);
    // One answer is given while nobody is there, the other one when the requester is back.
    relay.forbid(true);
    relay.cut();
    ASSERT_SOON(pump_, reply.peers_connected() == 0 && request.peers_connected() == 0);
    EXPECT_TRUE(open->wanted());
    ASSERT_EQ(open->send(payload(number + 1, size_of(number + 1))), Status::ok);
    pump_.run_for(20ms);
    relay.forbid(false);
    ASSERT_SOON(pump_, ended_.size() == asked_);
    EXPECT_EQ(ended_[number], Outcome::answered);
    open.reset();
    ask(request);
    ASSERT_SOON(pump_, open);
    relay.cut();
    ASSERT_SOON(pump_, request.counters().disconnects == 2);
    ASSERT_SOON(pump_, request.peers_connected() == 1 && reply.peers_connected() == 1);
    ASSERT_EQ(open->send(payload(number + 2, size_of(number + 2))), Status::ok);
    ASSERT_SOON(pump_, ended_.size() == asked_);
    EXPECT_EQ(ended_[number + 1], Outcome::answered);
  }
}

// It is kept to be sent again, and marked: it is not executed.
TEST_P(RequestCut, a_request_that_ended_while_away_is_not_delivered) {
  Reply reply(there_, {}, keeping());
  Request request(here_, {}, keeping());
  write_down(request);
  answer_all(reply);
  Relay relay(bind(reply));
  request.connect(relay.address());
  ASSERT_SOON(pump_, request.peers_connected() == 1);
  relay.hold(true);
  for (int i = 0; i < 6; ++i) ask(request);
  std::uint64_t large = 0;
  const std::vector<std::byte> bytes(700'000);
  ASSERT_EQ(request.send(bytes, large), Status::ok);
  request.flush();
  relay.forbid(true);
  relay.cut();
  relay.hold(false);
  ASSERT_SOON(pump_, request.peers_connected() == 0);
  // Every second one.
  std::set<std::uint64_t> cancelled;
  for (const auto& [id, number] : numbers_) {
    if (number % 2 == 0) continue;
    EXPECT_EQ(request.cancel(id), Status::ok);
    cancelled.insert(number);
  }
  EXPECT_EQ(request.cancel(large), Status::ok);
  relay.forbid(false);
  ASSERT_SOON(pump_, ended_.size() + cancelled.size() == asked_);
  settle(request);
  EXPECT_EQ(count(Outcome::answered), 3U);
  for (const std::uint64_t number : cancelled) EXPECT_FALSE(executed_.contains(number)) << number;
  EXPECT_EQ(reply.requests().withdrawn, 4U);
}

// The one that was there is gone for good: nobody knows what it did.
TEST_P(RequestCut, a_replier_that_was_restarted_leaves_requests_in_doubt) {
  std::optional<Reply> reply(std::in_place, there_, ReplyOptions{}, eager());
  Request request(here_, {}, eager());
  write_down(request);
  std::vector<ReplyTo> open;
  reply->on_request([&](const MessageView&, ReplyTo to) { open.push_back(std::move(to)); });
  const std::string address = bind(*reply);
  request.connect(address);
  for (int i = 0; i < 10; ++i) ask(request);
  ASSERT_SOON(pump_, open.size() == 10);
  settle(request);
  reply.reset();  // without a good-bye
  for (ReplyTo& to : open) EXPECT_EQ(to.send("too late"), Status::closed);
  open.clear();
  ASSERT_SOON(pump_, request.peers_connected() == 0);
  reply.emplace(there_, ReplyOptions{}, eager());
  answer_all(*reply);
  reply->bind(address);
  ASSERT_SOON(pump_, ended_.size() == 10);
  EXPECT_EQ(count(Outcome::in_doubt), 10U);
  ask(request);
  ASSERT_SOON(pump_, count(Outcome::answered) == 1);
}

TEST_P(RequestCut, a_replier_that_stays_away_leaves_requests_in_doubt) {
  Reply reply(there_, {}, eager());
  SocketOptions asking = eager();
  asking.resume_within = 100ms;
  Request request(here_, {}, asking);
  write_down(request);
  std::optional<ReplyTo> open;
  reply.on_request([&](const MessageView&, ReplyTo to) { open = std::move(to); });
  Relay relay(bind(reply));
  request.connect(relay.address());
  ask(request);
  ASSERT_SOON(pump_, open);
  settle(request);
  relay.forbid(true);
  relay.cut();
  ASSERT_SOON(pump_, ended_.size() == 1);
  EXPECT_EQ(count(Outcome::in_doubt), 1U);
}

ON_TCP_IN_EVERY_MODE(RequestCut);

}  // namespace
}  // namespace netio::test
