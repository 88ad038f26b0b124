// Request::send_to_all(): every replier that is up is asked, each by a request of its own, or
// nobody is.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/requesting.hpp"

namespace netio::test {
namespace {

class RequestToAll : public Conformance {
 protected:
  struct Replier {
    explicit Replier(Context& context, const SocketOptions& options) : reply(context, {}, options) {
      reply.on_request([this](const MessageView& request, ReplyTo to) {
        got.emplace_back(request.bytes().begin(), request.bytes().end());
        held.push_back(std::move(to));
        if (answers) answer_all();
      });
    }
    void answer_all() {
      for (ReplyTo& to : held) EXPECT_EQ(to.send(name), Status::ok);
      held.clear();
    }
    Reply reply;
    bool answers = true;
    std::string name;  // what it answers
    std::vector<std::vector<std::byte>> got;
    std::vector<ReplyTo> held;
  };

  void make_request(const RequestOptions& asking = {}) { make_request(here_, asking); }
  void make_request(Context& context, const RequestOptions& asking = {}) {
    request_.emplace(context, asking, options());
    answers_.emplace(*request_);
    request_->on_writable([this] { ++writable_; });
  }
  void TearDown() override {
    if (!request_) return;
    expect_law(*request_);
  }
  // The ids at the request are 1, 2, ..., and the answer of each is its id. Which is dialed.
  Replier& add(const SocketOptions& options) {
    repliers_.push_back(std::make_unique<Replier>(there_, options));
    join(repliers_.back()->reply, *request_);
    repliers_.back()->name = std::to_string(repliers_.size());
    return *repliers_.back();
  }
  Replier& add() { return add(options()); }
  // The same, of one that dials.
  Replier& add_accepted() {
    repliers_.push_back(std::make_unique<Replier>(there_, options()));
    join(*request_, repliers_.back()->reply);
    repliers_.back()->name = std::to_string(repliers_.size());
    return *repliers_.back();
  }
  ToAll ask_all(std::span<const std::byte> bytes, const Ask& ask = {}) {
    ToAll answer;
    EXPECT_SOON(pump_,
                (answer = request_->send_to_all(bytes, asked_, ask)).status != Status::again);
    request_->flush();
    return answer;
  }
  void expect_answers_of_all() {
    for (const PeerRequest& each : asked_) {
      EXPECT_EQ(answers_->texts[each.id], std::to_string(each.peer));
    }
  }

  std::optional<Request> request_;
  std::vector<std::unique_ptr<Replier>> repliers_;
  std::vector<PeerRequest> asked_;
  std::optional<Answers> answers_;
  int writable_ = 0;
};

// Of sizes that fit a page, fill one, and are larger than one.
TEST_P(RequestToAll, asks_everybody_once_in_order_with_the_others) {
  make_request();
  add();
  add_accepted();
  add();
  std::vector<std::pair<std::uint64_t, std::size_t>> sent[3];
  std::size_t expected = 0;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const std::size_t bytes = i % 50 == 0 ? 150'000 + i : size_of(i);
    if (i % 3 == 0) {
      const ToAll answer = ask_all(payload(i, bytes));
      ASSERT_EQ(answer.status, Status::ok);
      ASSERT_TRUE(answer.to_everyone());
      ASSERT_EQ(answer.peers, 3U);
      ASSERT_EQ(asked_.size(), 3U);
      for (std::size_t peer = 0; peer < 3; ++peer) {
        ASSERT_EQ(asked_[peer].peer, peer + 1);  // by their ids
        sent[peer].emplace_back(i, bytes);
      }
      expected += 3;
      ASSERT_SOON(pump_, answers_->texts.size() + 3 >= expected);
    } else {
      std::uint64_t id = 0;
      ASSERT_SOON(pump_, request_->send(payload(i, bytes), id, {.peer = 1 + i % 3}) == Status::ok);
      sent[i % 3].emplace_back(i, bytes);
      ++expected;
    }
  }
  ASSERT_SOON(pump_, answers_->texts.size() == expected);
  expect_answers_of_all();
  for (std::size_t peer = 0; peer < 3; ++peer) {
    const auto& got = repliers_[peer]->got;
    ASSERT_EQ(got.size(), sent[peer].size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_TRUE(is_payload(got[i], sent[peer][i].first)) << i;
      ASSERT_EQ(got[i].size(), sent[peer][i].second) << i;
    }
  }
  EXPECT_EQ(request_->requests().asked, expected);
}

TEST_P(RequestToAll, asks_nobody_while_one_has_as_many_as_it_may) {
  make_request({.pending_max = 2});
  add();
  Replier& slow = add();
  slow.answers = false;
  ASSERT_EQ(ask_all(payload(1, 20)).status, Status::ok);
  ASSERT_EQ(ask_all(payload(2, 20)).status, Status::ok);
  ASSERT_SOON(pump_, answers_->texts.size() == 2 && slow.held.size() == 2);
  pump_.turns(5);
  writable_ = 0;
  const ToAll answer = request_->send_to_all(payload(3, 20), asked_);
  EXPECT_EQ(answer.status, Status::again);
  EXPECT_EQ(answer.peers, 0U);
  EXPECT_TRUE(asked_.empty());
  pump_.turns(20);
  EXPECT_EQ(request_->requests().asked, 4U);
  EXPECT_EQ(repliers_[0]->got.size(), 2U);
  EXPECT_EQ(writable_, 0);
  slow.answer_all();
  ASSERT_SOON(pump_, writable_ > 0);
  slow.answers = true;
  ASSERT_EQ(ask_all(payload(3, 20)).status, Status::ok);
  ASSERT_SOON(pump_, answers_->texts.size() == 6);
  expect_answers_of_all();
}

TEST_P(RequestToAll, asks_nobody_while_the_wire_to_one_is_full_and_the_others_when_it_dies) {
  make_request();
  add();
  Replier& slow = add();
  slow.reply.pause();
  (void)count_until_again([&](std::uint64_t number) {
    std::uint64_t id = 0;
    return request_->send(payload(number, 5000), id, {.peer = 2});
  });
  for (const std::size_t bytes : {std::size_t{60}, std::size_t{5000}, std::size_t{150'000}}) {
    const std::uint64_t before = request_->requests().asked;
    const ToAll answer = request_->send_to_all(payload(1, bytes), asked_);
    EXPECT_EQ(answer.status, Status::again);
    EXPECT_TRUE(asked_.empty());
    EXPECT_EQ(request_->requests().asked, before);
    pump_.turns(8);
  }
  EXPECT_TRUE(repliers_[0]->got.empty());
  writable_ = 0;
  repliers_.pop_back();
  ASSERT_SOON(pump_, writable_ > 0);
  const ToAll answer = ask_all(payload(4, 5000));
  EXPECT_EQ(answer.status, Status::ok);
  EXPECT_EQ(answer.peers, 1U);
  EXPECT_EQ(answer.away, 1U) << "it is dialed on";
  ASSERT_SOON(pump_, answers_->texts.size() == 1);
  expect_answers_of_all();
}

TEST_P(RequestToAll, says_why_nobody_was_asked) {
  make_request();
  EXPECT_EQ(request_->send_to_all("early", asked_).status, Status::not_connected);
  pump_.turns(5);
  EXPECT_EQ(writable_, 0);
  SocketOptions small = options();
  small.message_bytes_max = 1000;
  add();
  EXPECT_SOON(pump_, writable_ == 1);
  add(small);
  asked_.resize(7);
  EXPECT_EQ(request_->send_to_all(payload(1, 1001), asked_).status, Status::too_big);
  EXPECT_TRUE(asked_.empty());
  EXPECT_EQ(request_->send_to_all(std::span(payload(0, 1).data(), SIZE_MAX), asked_).status,
            Status::too_big);
  EXPECT_EQ(request_->send_to_all("to one", asked_, {.peer = 1}).status, Status::invalid);
  EXPECT_EQ(request_->send_to_all("late", asked_, {.within = -1ns}).status, Status::invalid);
  EXPECT_EQ(request_->requests().asked, 0U);
  EXPECT_EQ(ask_all(payload(1, 1000)).peers, 2U);
  ASSERT_SOON(pump_, answers_->texts.size() == 2);
  request_->close();
  EXPECT_EQ(request_->send_to_all("closed", asked_).status, Status::closed);
}

TEST_P(RequestToAll, each_ends_by_itself) {
  make_request();
  add();
  Replier& silent = add();
  Replier& drops = add();
  silent.answers = drops.answers = false;
  ASSERT_EQ(ask_all(payload(1, 20)).status, Status::ok);
  ASSERT_SOON(pump_, drops.held.size() == 1 && silent.held.size() == 1);
  drops.held.clear();
  ASSERT_SOON(pump_, answers_->texts.size() == 1 && answers_->failed.size() == 1);
  EXPECT_EQ(answers_->texts[asked_[0].id], "1");
  EXPECT_EQ(answers_->failed[asked_[2].id], Outcome::not_answered);
  EXPECT_EQ(request_->cancel(asked_[1].id), Status::ok);
  EXPECT_EQ(request_->requests().of(Outcome::cancelled), 1U);
  EXPECT_EQ(request_->requests().under_way, 0U);
}

// However late it is by then, nobody answers.
TEST_P(RequestToAll, each_has_the_time_limit) {
  make_request();
  for (int i = 0; i < 3; ++i) add().answers = false;
  ASSERT_EQ(ask_all(payload(1, 20), {.within = 50ms}).status, Status::ok);
  ASSERT_SOON(pump_, answers_->failed.size() == 3);
  for (const PeerRequest& each : asked_) EXPECT_EQ(answers_->failed[each.id], Outcome::timed_out);
  EXPECT_TRUE(answers_->texts.empty());
  for (const auto& replier : repliers_) replier->held.clear();
}

ON_EVERY_TRANSPORT_AND_MODE(RequestToAll);

class RequestToAllCut : public RequestToAll {};

// Whose connection breaks is asked again, and nobody in its place.
TEST_P(RequestToAllCut, what_is_idempotent_comes_to_its_own_peer_again) {
  make_request();
  Replier& first = add();
  repliers_.push_back(std::make_unique<Replier>(there_, eager()));
  Replier& cut = *repliers_.back();
  cut.name = "2";
  cut.answers = false;
  Relay relay(bind(*request_));
  cut.reply.connect(relay.address());
  ASSERT_SOON(pump_, request_->peers_connected() == 2);
  ASSERT_EQ(ask_all(payload(1, 20), {.within = 1min, .idempotent = true}).status, Status::ok);
  ASSERT_SOON(pump_, cut.held.size() == 1 && answers_->texts.size() == 1);
  relay.cut();
  ASSERT_SOON(pump_, cut.held.size() == 2);
  cut.held.erase(cut.held.begin());
  cut.answer_all();
  ASSERT_SOON(pump_, answers_->texts.size() == 2);
  EXPECT_EQ(first.got.size(), 1U);
  expect_answers_of_all();
  EXPECT_TRUE(answers_->failed.empty());
  EXPECT_EQ(request_->requests().repeated, 1U);
}

// However long they waited, there would never be memory for all of them at once.
TEST_P(RequestToAllCut, more_than_the_memory_of_this_side_can_hold_is_too_big) {
  ContextOptions little = small_context(GetParam());
  little.send_pool_bytes = 4 * little.page_bytes;
  little.large_bytes_max = std::size_t{4} << 20U;
  Context asker(little);
  pump_.add(asker);
  make_request(asker);
  for (int i = 0; i < 4; ++i) add();
  std::size_t answers = 0;
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_EQ(ask_all(payload(i, i % 2 == 0 ? 1000 : 700'000)).peers, 4U);
    answers += 4;
    ASSERT_SOON(pump_, answers_->texts.size() == answers);
  }
  expect_answers_of_all();
  EXPECT_EQ(request_->send_to_all(payload(1, 1'000'000), asked_).status, Status::too_big);
  add();
  EXPECT_EQ(request_->send_to_all(payload(1, 1000), asked_).status, Status::too_big);
  EXPECT_EQ(request_->send_to_all(payload(1, 700'000), asked_).status, Status::too_big);
  pump_.turns(10);
  EXPECT_EQ(request_->requests().asked, answers);
  request_.reset();
  pump_.remove(asker);
}

ON_TCP_IN_EVERY_MODE(RequestToAllCut);

}  // namespace
}  // namespace netio::test
