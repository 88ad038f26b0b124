// Receiving by the page: the same messages as one by one.
#include <algorithm>
#include <thread>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class BatchReceive : public Conformance {
 protected:
  static std::size_t size_of(std::uint64_t i) { return i % 300 == 7 ? 150'000 : i * 17 % 700; }
};

TEST_P(BatchReceive, gives_the_messages_that_come_one_by_one) {
  Pull pull(there_, options());
  Push push(here_, options());
  std::uint64_t count = 0;
  std::uint64_t wrong = 0;
  std::uint64_t batches = 0;
  pull.on_batch([&](const Batch& batch) {
    ++batches;
    std::size_t in_batch = 0;
    for (const MessageView message : batch) {
      if (message.size() != size_of(count) || !is_payload(message.bytes(), count) ||
          message.tag() != count % 5) {
        ++wrong;
      }
      ++count;
      ++in_batch;
    }
    EXPECT_EQ(batch.size(), in_batch);
    EXPECT_GT(in_batch, 0U) << "a page of no messages is no batch";
  });
  join(pull, push);
  for (std::uint64_t i = 0; i < 3000; ++i) {
    ASSERT_EQ(send(push, payload(i, size_of(i)), i % 5), Status::ok);
  }
  ASSERT_SOON(pump_, count == 3000);
  EXPECT_EQ(wrong, 0U);
  settle(push);
  EXPECT_EQ(push.books().acknowledged, 3000U);
  EXPECT_EQ(pull.books().delivered, 3000U);
  if (options().mode == Mode::buffered) {
    EXPECT_LT(batches, 2000U);
  }
}

TEST_P(BatchReceive, counts_what_is_not_walked_as_delivered) {
  Pull pull(there_, options());
  Push push(here_, options());
  std::uint64_t seen = 0;
  std::uint64_t announced = 0;
  pull.on_batch([&](const Batch& batch) {
    announced += batch.size();
    for (const MessageView message : batch) {
      EXPECT_TRUE(is_payload(message.bytes(), number_of(message.bytes())));
      ++seen;
      break;
    }
  });
  join(pull, push);
  send_numbered(push, 0, 1000, [](std::uint64_t) { return std::size_t{64}; });
  settle(push);
  EXPECT_EQ(announced, 1000U);
  EXPECT_LE(seen, 1000U);
  EXPECT_EQ(push.books().acknowledged, 1000U);
  EXPECT_EQ(pull.books().delivered, 1000U);
  EXPECT_EQ(pull.counters().bytes_received, 64'000U);
}

TEST_P(BatchReceive, its_messages_can_be_kept) {
  Pull pull(there_, options());
  Push push(here_, options());
  std::vector<Message> kept;
  pull.on_batch([&](const Batch& batch) {
    for (const MessageView message : batch) kept.push_back(message.keep());
  });
  join(pull, push);
  send_numbered(push, 0, 400, size_of);
  ASSERT_SOON(pump_, kept.size() == 400);
  for (std::uint64_t i = 0; i < kept.size(); ++i) {
    ASSERT_EQ(kept[i].size(), size_of(i));
    ASSERT_TRUE(is_payload(kept[i].bytes(), i));
  }
}

TEST_P(BatchReceive, can_be_kept_and_walked_again_later) {
  static constexpr std::uint64_t count = 400;
  std::vector<KeptBatch> kept;
  {
    // These go before what was kept does.
    Context context(small_context(GetParam()));
    Pump pump{&here_, &context};
    Pull pull(context, options());
    Push push(here_, options());
    std::uint64_t received = 0;
    pull.on_batch([&](const Batch& batch) {
      kept.push_back(batch.keep());
      received += batch.size();
      EXPECT_EQ(kept.back().size(), batch.size());
    });
    push.connect(pull.bind(GetParam().address));
    ASSERT_SOON(pump, push.peers_connected() == 1);
    std::vector<std::byte> message;
    for (std::uint64_t i = 0; i < count; ++i) {
      message = payload(i, size_of(i));
      ASSERT_SOON(pump, push.send(message, i % 3) == Status::ok);
    }
    ASSERT_SOON(pump, received == count);
  }
  std::thread elsewhere([kept = std::move(kept)]() mutable {
    for (int walk = 0; walk < 2; ++walk) {
      std::uint64_t number = 0;
      for (KeptBatch& batch : kept) {
        KeptBatch moved = std::move(batch);
        EXPECT_FALSE(batch);
        EXPECT_EQ(batch.begin(), batch.end());
        for (const MessageView message : moved) {
          EXPECT_EQ(message.size(), size_of(number));
          EXPECT_TRUE(is_payload(message.bytes(), number));
          EXPECT_EQ(message.tag(), number++ % 3);
        }
        EXPECT_EQ(std::ranges::distance(moved.begin(), moved.end()), moved.size());
        batch = std::move(moved);
      }
      EXPECT_EQ(number, count);
    }
  });
  elsewhere.join();
}

TEST_P(BatchReceive, pausing_inside_takes_effect_after_the_batch) {
  Pull pull(there_, options());
  Push push(here_, options());
  std::uint64_t count = 0;
  std::uint64_t batches = 0;
  pull.on_batch([&](const Batch& batch) {
    ++batches;
    pull.pause();
    for (const MessageView message : batch) {
      EXPECT_TRUE(is_payload(message.bytes(), count));
      ++count;
    }
  });
  join(pull, push);
  send_numbered(push, 0, 200, [](std::uint64_t) { return std::size_t{100}; });
  push.flush();
  std::uint64_t resumed = 0;
  ASSERT_SOON(pump_, [&] {
    if (pull.paused()) {
      pump_.turns(5);
      EXPECT_EQ(batches, resumed + 1);
      ++resumed;
      pull.resume();
    }
    return count == 200;
  }());
}

TEST_P(BatchReceive, tells_the_sender_of_each_batch) {
  Pull pull(there_, options());
  Seen at_pull(pull);
  Push first(here_, options());
  Push second(here_, options());
  std::uint64_t count = 0;
  std::uint64_t wrong = 0;
  pull.on_batch([&](const Batch& batch) {
    for (const MessageView message : batch) {
      if (pull.sender_id() != at_pull.ups.at(message.tag() - 1).id) ++wrong;
      ++count;
    }
  });
  join(pull, first);
  second.connect(bind(pull));
  ASSERT_SOON(pump_, at_pull.ups.size() == 2 && second.peers_connected() == 1);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(first.send("first", 1), Status::ok);
    ASSERT_EQ(second.send("second", 2), Status::ok);
  }
  ASSERT_SOON(pump_, count == 200);
  EXPECT_EQ(wrong, 0U);
}

ON_EVERY_TRANSPORT_AND_MODE(BatchReceive);

}  // namespace
}  // namespace netio::test
