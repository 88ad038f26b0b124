// Requests that wait for their answers, on a thread that turns the loop.
#include <atomic>
#include <future>
#include <thread>

#include <netio/blocking.hpp>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class BlockingRequests : public Conformance {
 protected:
  // A replier on a thread of its own, until `work` is done with its socket. It binds first.
  template <class Work>
  std::thread replier(Work work, const ReplyOptions& replying = {}) {
    std::promise<std::string> promise;
    std::future<std::string> bound = promise.get_future();
    std::thread thread([this, work, replying, bound_at = std::move(promise)]() mutable {
      Context context(small_context(GetParam()));
      blocking::Reply reply(context, replying, options());
      bound_at.set_value(reply.bind(GetParam().address));
      work(reply);
      (void)reply.close(soon_max);
      ended_ = true;
    });
    address_ = bound.get();
    return thread;
  }
  // This side takes part in the good-bye.
  void join(std::thread& thread) {
    EXPECT_SOON(pump_of_here_, ended_);
    thread.join();
  }
  using Conformance::join;
  // Answers so many requests with what they say.
  static auto echo(int count) {
    return [count](blocking::Reply& reply) {
      for (int i = 0; i < count; ++i) {
        blocking::Asked asked = reply.receive(soon_max);
        ASSERT_EQ(asked.status, Status::ok);
        ASSERT_EQ(reply.answer(std::move(asked.to), asked.message.bytes(), soon_max), Status::ok);
        EXPECT_FALSE(asked.to);
      }
    };
  }

  std::string address_;
  std::atomic<bool> ended_ = false;
  Pump pump_of_here_{&here_};
};

TEST_P(BlockingRequests, and_answers_may_have_segments) {
  std::thread other = replier([](blocking::Reply& reply) {
    blocking::Asked asked = reply.receive(soon_max);
    ASSERT_EQ(asked.message.segments().size(), 2U);
    ASSERT_EQ(reply.answer_segments(std::move(asked.to),
                                    {std::string_view("head"), asked.message.segments()[1]}),
              Status::ok);
  });
  blocking::Request request(here_, {}, options());
  request.connect(address_);
  const Answer answer =
      request.ask_segments({std::string_view("question"), std::string_view("body")});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer.message.segments().size(), 2U);
  join(other);
}

TEST_P(BlockingRequests, each_request_waits_for_its_answer) {
  constexpr int count = 300;
  std::thread other = replier(echo(count));
  blocking::Request request(here_, {}, options());
  request.connect(address_);
  for (std::uint64_t number = 0; number < count; ++number) {
    const std::vector<std::byte> message = payload(number, size_of(number));
    const Answer answer = number % 2 == 0
                              ? request.ask(message, soon_max)
                              : request.ask(Message::copy_of(message), {.within = soon_max});
    ASSERT_EQ(answer.status, Status::ok) << number;
    ASSERT_EQ(answer.outcome, Outcome::answered) << number;
    EXPECT_EQ(answer.message.size(), message.size());
    EXPECT_TRUE(is_payload(answer.message.bytes(), number));
  }
  join(other);
  EXPECT_EQ(request.requests().of(Outcome::answered), static_cast<std::uint64_t>(count));
}

TEST_P(BlockingRequests, time_limits_hold) {
  blocking::Request request(here_, {}, options());
  const Answer in_vain = request.ask("to nobody", 1ms);
  EXPECT_EQ(in_vain.status, Status::again);
  EXPECT_EQ(in_vain.outcome, Outcome::timed_out);
  EXPECT_EQ(request.ask("to nobody", 0ns).status, Status::again);
  EXPECT_EQ(request.ask("to one who is not there", Ask{.peer = 7}).status, Status::not_connected);
  EXPECT_EQ(request.ask("senseless", Ask{.within = -1ns}).status, Status::invalid);
  EXPECT_EQ(request.requests().asked, 0U);
  blocking::Reply idle(there_, {}, options());
  EXPECT_EQ(idle.receive(1ms).status, Status::again);
  std::atomic<bool> done = false;
  std::thread other = replier([&](blocking::Reply& reply) {
    EXPECT_EQ(reply.receive(0ns).status, Status::again);
    while (!done) (void)reply.receive(1ms);
  });
  request.connect(address_);
  while (request.peers_connected() == 0) (void)request.ask("?", 1ms);
  const Answer late = request.ask("?", 20ms);
  EXPECT_FALSE(late);
  EXPECT_EQ(late.status, Status::ok);
  // The one or the other: what receive() returned is dropped.
  EXPECT_TRUE(late.outcome == Outcome::timed_out || late.outcome == Outcome::not_answered);
  done = true;
  join(other);
}

TEST_P(BlockingRequests, a_request_that_is_dropped_is_told_at_once) {
  std::thread other = replier([](blocking::Reply& reply) {
    const blocking::Asked asked = reply.receive(soon_max);
    EXPECT_EQ(asked.message.text(), "never mind");
  });
  blocking::Request request(here_, {}, options());
  request.connect(address_);
  const Answer answer = request.ask("never mind");
  EXPECT_EQ(answer.status, Status::ok);
  EXPECT_EQ(answer.outcome, Outcome::not_answered);
  EXPECT_FALSE(answer.message);
  join(other);
}

// More than are kept for receive(), from one that does not wait.
TEST_P(BlockingRequests, requests_wait_until_they_are_received) {
  constexpr std::size_t count = 300;
  blocking::Reply reply(there_, {}, options());
  Request request(here_, {}, options());
  std::size_t answered = 0;
  request.on_reply([&](std::uint64_t, const MessageView&) { ++answered; });
  join(reply, request);
  std::size_t asked = 0;
  std::uint64_t id = 0;
  ASSERT_SOON(pump_, [&] {
    while (asked < count && request.send("?", id) == Status::ok) ++asked;
    return asked == count;
  }());
  pump_.turns(20);
  EXPECT_LE(reply.requests().requests, 64U);
  for (std::size_t i = 0; i < count;) {
    blocking::Asked next = reply.receive(1ms);
    if (next) {
      EXPECT_EQ(reply.answer(std::move(next.to), "!", soon_max), Status::ok);
      ++i;
    }
    pump_of_here_.turns(1);
  }
  ASSERT_SOON(pump_, answered == count);
}

// What is not wanted any more when it is received is left out.
TEST_P(BlockingRequests, a_request_that_was_cancelled_is_not_received) {
  blocking::Reply reply(there_, {}, options());
  Request request(here_, {}, options());
  join(reply, request);
  std::uint64_t id = 0;
  ASSERT_EQ(request.send("first", id), Status::ok);
  ASSERT_SOON(pump_, reply.requests().open == 1);
  EXPECT_EQ(request.cancel(id), Status::ok);
  ASSERT_SOON(pump_, reply.requests().unwanted == 1);
  ASSERT_EQ(request.send("second", id), Status::ok);
  blocking::Asked asked;
  EXPECT_SOON(pump_of_here_, bool(asked = reply.receive(1ms)));
  EXPECT_EQ(asked.message.text(), "second");
}

TEST_P(BlockingRequests, an_answer_waits_for_room_and_not_for_ever) {
  SocketOptions few = options();
  few.send_bytes_max = 1U << 20U;
  blocking::Reply reply(there_, {}, few);
  Request request(here_, {}, options());
  std::size_t answered = 0;
  request.on_reply([&](std::uint64_t, const MessageView&) { ++answered; });
  join(reply, request);
  std::uint64_t id = 0;
  std::vector<blocking::Asked> held;
  std::size_t asked = 0;
  ASSERT_SOON(pump_, [&] {
    while (asked < 60 && request.send("?", id) == Status::ok) ++asked;
    blocking::Asked next = reply.receive(0ns);
    if (next) held.push_back(std::move(next));
    return held.size() == 60;
  }());
  const std::vector<std::byte> much = payload(1, 400'000);
  std::size_t given = 0;
  Status status = Status::ok;
  while (given < 60 && (status = reply.answer(std::move(held[given].to), much, 5ms)) == Status::ok)
    ++given;
  ASSERT_EQ(status, Status::again) << "24 MB, and nobody reads";
  EXPECT_TRUE(held[given].to);
  EXPECT_SOON(pump_of_here_, [&] {
    while (given < 60 && reply.answer(std::move(held[given].to), much, 1ms) == Status::ok) ++given;
    return given == 60;
  }());
  ASSERT_SOON(pump_, answered == 60);
}

TEST_P(BlockingRequests, a_call_back_that_closes_ends_what_waits) {
  blocking::Request request(here_, {}, options());
  Timer timer(here_.loop(), [&] {
    EXPECT_EQ(request.ask("in here nothing waits").status, Status::again);
    (void)request.close();
  });
  timer.start_once(1ms);
  const Answer never = request.ask("never");
  EXPECT_EQ(never.status, Status::closed);
  EXPECT_EQ(never.outcome, Outcome::cancelled);
  EXPECT_EQ(request.ask("closed").status, Status::closed);
  blocking::Reply reply(there_, {}, options());
  Timer there(there_.loop(), [&] {
    EXPECT_EQ(reply.receive(soon_max).status, Status::again);
    (void)reply.close();
  });
  there.start_once(1ms);
  EXPECT_EQ(reply.receive().status, Status::closed);
}

TEST_P(BlockingRequests, closing_ends_a_request_that_is_under_way) {
  std::atomic<bool> done = false;
  std::thread other = replier([&](blocking::Reply& reply) {
    std::vector<blocking::Asked> held;
    while (!done) held.push_back(reply.receive(1ms));
  });
  blocking::Request request(here_, {}, options());
  request.connect(address_);
  Timer timer(here_.loop(), [&] {
    if (request.requests().under_way == 1) (void)request.close(10ms);
  });
  timer.start_periodic(1ms);
  const Answer answer = request.ask("?");
  EXPECT_EQ(answer.status, Status::closed);
  EXPECT_EQ(answer.outcome, Outcome::cancelled);
  EXPECT_FALSE(answer);
  done = true;
  join(other);
}

ON_EVERY_TRANSPORT(BlockingRequests);

}  // namespace
}  // namespace netio::test
