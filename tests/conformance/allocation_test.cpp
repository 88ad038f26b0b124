// Once set up, neither end takes anything from the heap for a message.
#include "conformance/conformance.hpp"
#include "support/allocation_counter.hpp"

namespace netio::test {
namespace {

class Allocation : public Conformance {
 protected:
  // Calls `send_one` until `count` messages were taken and arrived; it answers as send() does.
  template <class SendOne>
  void exchange(std::uint64_t count, SendOne&& send_one) {
    const std::uint64_t end = received_ + count;
    std::uint64_t taken = 0;
    const auto limit = std::chrono::steady_clock::now() + soon_max;
    while (received_ < end && std::chrono::steady_clock::now() < limit) {
      for (int i = 0; i < 1000 && taken < count && send_one() == Status::ok; ++i) ++taken;
      pump_.turn(0ms);
    }
    ASSERT_EQ(received_, end);
  }

  std::uint64_t received_ = 0;
};

TEST_P(Allocation, small_messages_take_nothing_from_the_heap) {
  Pull pull(there_, options());
  Push push(here_, options());
  pull.on_message([this](const MessageView&) { ++received_; });
  join(pull, push);
  const std::vector<std::byte> message = payload(0, 64);
  const auto send_one = [&] { return push.send(message, received_ % 3); };
  exchange(5000, send_one);
  EXPECT_EQ(allocations_during([&] { exchange(100'000, send_one); }), 0U);
}

TEST_P(Allocation, batches_take_nothing_from_the_heap) {
  Pull pull(there_, options());
  Push push(here_, options());
  pull.on_batch([this](const Batch& batch) {
    for (const MessageView message : batch) {
      if (message.size() == 64) ++received_;
    }
  });
  join(pull, push);
  const std::vector<std::byte> message = payload(0, 64);
  const auto send_one = [&] { return push.send(message); };
  exchange(5000, send_one);
  EXPECT_EQ(allocations_during([&] { exchange(20'000, send_one); }), 0U);
}

TEST_P(Allocation, messages_written_in_place_take_nothing_from_the_heap) {
  if (GetParam().mode == Mode::unbuffered) GTEST_SKIP() << "there is no page to write in";
  Pull pull(there_, options());
  Push push(here_, options());
  pull.on_message([this](const MessageView&) { ++received_; });
  join(pull, push);
  const auto send_one = [&] {
    Status status = Status::ok;
    const std::span<std::byte> room = push.reserve(100, status);
    if (status == Status::ok) {
      room[0] = std::byte{1};
      status = push.commit(100);
    }
    return status;
  };
  exchange(5000, send_one);
  EXPECT_EQ(allocations_during([&] { exchange(20'000, send_one); }), 0U);
}

TEST_P(Allocation, lent_messages_take_nothing_from_the_heap) {
  Pull pull(there_, options());
  Push push(here_, options());
  pull.on_message([this](const MessageView&) { ++received_; });
  std::uint64_t released = 0;
  push.on_released([&](std::uint64_t) { ++released; });
  join(pull, push);
  const std::vector<std::byte> message = payload(0, 5000);
  const auto send_one = [&] { return push.lend(message, 1); };
  exchange(2000, send_one);
  EXPECT_EQ(allocations_during([&] { exchange(10'000, send_one); }), 0U);
  ASSERT_SOON(pump_, released == 12'000);
}

TEST_P(Allocation, large_messages_take_nothing_from_the_heap) {
  Pull pull(there_, options());
  Push push(here_, options());
  pull.on_message([this](const MessageView&) { ++received_; });
  join(pull, push);
  const std::vector<std::byte> message = payload(0, 200'000);
  const auto send_one = [&] { return push.send(message); };
  // Buffers are made while more are out than ever before, and kept. How many are out at once is a
  // matter of time, so this puts out more than those that follow ever need: smaller messages that
  // take buffers of the same size, and the bound on what waits counts the messages' bytes.
  const std::size_t smaller = 140'000;
  pull.pause();
  const std::uint64_t taken = send_until_again(push, smaller);
  pull.resume();
  ASSERT_SOON(pump_, received_ == taken);
  exchange(200, send_one);
  EXPECT_EQ(allocations_during([&] { exchange(500, send_one); }), 0U);
}

TEST_P(Allocation, kept_messages_take_nothing_from_the_heap) {
  Pull pull(there_, options());
  Push push(here_, options());
  Message last;
  pull.on_message([&](const MessageView& message) {
    last = message.keep();
    ++received_;
  });
  join(pull, push);
  // Small enough to be copied, and large enough to be shared.
  for (const std::size_t size : {std::size_t{64}, GetParam().page_bytes / 2}) {
    const std::vector<std::byte> message = payload(0, size);
    const auto send_one = [&] { return push.send(message); };
    exchange(300, send_one);
    EXPECT_EQ(allocations_during([&] { exchange(2000, send_one); }), 0U) << size;
  }
}

TEST_P(Allocation, ping_and_pong_take_nothing_from_the_heap) {
  Pair left(here_, options());
  Pair right(there_, options());
  std::uint64_t refused = 0;
  right.on_message([&](const MessageView& message) {
    if (right.send(message.bytes()) != Status::ok) ++refused;
  });
  left.on_message([this](const MessageView&) { ++received_; });
  join(left, right);
  const std::vector<std::byte> message = payload(0, 64);
  std::uint64_t sent = 0;
  const auto send_one = [&] {
    if (sent > received_) return Status::again;
    ++sent;
    return left.send(message);
  };
  exchange(200, send_one);
  EXPECT_EQ(allocations_during([&] { exchange(2000, send_one); }), 0U);
  EXPECT_EQ(refused, 0U);
}

// Asked and answered: without a limit and with one, a thousand under way and one at a time.
TEST_P(Allocation, requests_and_answers_take_nothing_from_the_heap) {
  Request request(here_, {}, options());
  Reply reply(there_, {}, options());
  std::uint64_t refused = 0;
  reply.on_request([&](const MessageView& message, ReplyTo to) {
    if (to.send(message.bytes()) != Status::ok) ++refused;
  });
  request.on_reply([this](std::uint64_t, const MessageView&) { ++received_; });
  request.on_failed([&](std::uint64_t, Outcome) { ++refused; });
  join(reply, request);
  const std::vector<std::byte> message = payload(0, 64);
  for (const std::chrono::nanoseconds within : {0ns, std::chrono::nanoseconds(1h)}) {
    for (const std::uint64_t under_way : {std::uint64_t{1000}, std::uint64_t{1}}) {
      const auto send_one = [&] {
        std::uint64_t id = 0;
        if (request.requests().under_way >= under_way) return Status::again;
        return request.send(message, id, {.within = within});
      };
      exchange(5000, send_one);
      EXPECT_EQ(allocations_during([&] { exchange(10'000, send_one); }), 0U)
          << under_way << " under way, " << (within == 0ns ? "no limit" : "with a limit");
    }
  }
  EXPECT_EQ(refused, 0U);
}

// What a link has room for, in every mode, but on a fabric: there an answer may wait for a receive.
constexpr std::uint64_t link_takes = 4;

// Each answer is given outside of the call-back that the request came with, from a ReplyTo that was
// kept.
TEST_P(Allocation, answers_that_come_later_take_nothing_from_the_heap) {
  Request request(here_, {}, options());
  Reply reply(there_, {}, options());
  std::vector<ReplyTo> open;
  open.reserve(link_takes);
  reply.on_request([&](const MessageView&, ReplyTo to) { open.push_back(std::move(to)); });
  request.on_reply([this](std::uint64_t, const MessageView&) { ++received_; });
  join(reply, request);
  const std::vector<std::byte> message = payload(0, 64);
  Timer later(there_.loop(), [&] {
    while (!open.empty() && open.back().send(message) == Status::ok) open.pop_back();
    later.start_once(100us);
  });
  later.start_once(100us);
  const auto send_one = [&] {
    std::uint64_t id = 0;
    if (request.requests().under_way >= link_takes) return Status::again;
    return request.send(message, id);
  };
  exchange(10'000, send_one);
  EXPECT_EQ(allocations_during([&] { exchange(10'000, send_one); }), 0U);
}

// Requests that end without an answer: cancelled, and not answered.
TEST_P(Allocation, requests_that_end_otherwise_take_nothing_from_the_heap) {
  Request request(here_, {}, options());
  Reply reply(there_, {}, options());
  reply.on_request([](const MessageView&, ReplyTo) {});
  request.on_reply([](std::uint64_t, const MessageView&) {});
  request.on_failed([this](std::uint64_t, Outcome) { ++received_; });
  join(reply, request);
  const std::vector<std::byte> message = payload(0, 64);
  std::uint64_t asked = 0;
  const auto send_one = [&] {
    std::uint64_t id = 0;
    if (request.requests().under_way >= link_takes) return Status::again;
    const Status status = request.send(message, id, {.within = 1h});
    if (status == Status::ok && ++asked % 2 == 0) {
      EXPECT_EQ(request.cancel(id), Status::ok);
      ++received_;
    }
    return status;
  };
  exchange(10'000, send_one);
  EXPECT_EQ(allocations_during([&] { exchange(10'000, send_one); }), 0U);
}

ON_EVERY_TRANSPORT_AND_MODE(Allocation);

}  // namespace
}  // namespace netio::test
