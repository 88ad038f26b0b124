// A receiver that has no call-back, or changes it: what is sent to it waits, and neither vanishes
// nor is acknowledged.
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

using NoCallBack = Conformance;

TEST_P(NoCallBack, messages_wait_for_one) {
  Pull pull(there_, options());
  Push push(here_, options());
  join(pull, push);
  const std::uint64_t sent = send_until_again(push, 1000);
  ASSERT_GT(sent, 0U);
  pump_.run_for(20ms);
  EXPECT_EQ(pull.books().delivered, 0U);
  EXPECT_EQ(push.books().acknowledged, 0U);

  std::uint64_t received = 0;
  pull.on_message([&](const MessageView&) { ++received; });
  ASSERT_SOON(pump_, received == push.books().sent && push.books().unsettled() == 0);

  // And again when there is none any more.
  pull.on_message({});
  const std::uint64_t before = received;
  ASSERT_EQ(send(push, payload(0, 100)), Status::ok);
  pump_.run_for(20ms);
  EXPECT_EQ(push.books().unacknowledged, 1U);
  pull.on_batch([&](const Batch& batch) { received += batch.size(); });
  ASSERT_SOON(pump_, received == before + 1 && push.books().unsettled() == 0);
}

TEST_P(NoCallBack, a_pause_outlasts_its_coming) {
  Pull pull(there_, options());
  Push push(here_, options());
  join(pull, push);
  pull.pause();
  std::uint64_t received = 0;
  pull.on_message([&](const MessageView&) { ++received; });
  ASSERT_EQ(send(push, payload(0, 100)), Status::ok);
  pump_.run_for(20ms);
  EXPECT_EQ(received, 0U);
  pull.resume();
  ASSERT_SOON(pump_, received == 1);
}

// What only sends on a pair has no use for a call-back, and is acknowledged all the same.
TEST_P(NoCallBack, a_pair_that_only_sends_needs_none) {
  Pair silent(there_, options());
  Pair sender(here_, options());
  std::uint64_t received = 0;
  silent.on_message([&](const MessageView&) { ++received; });
  join(silent, sender);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(send(sender, payload(0, 100)), Status::ok);
  ASSERT_SOON(pump_, received == 100 && sender.books().acknowledged == 100);
}

// A receiver that changes its call-back in the middle of a page. The sender gathers its messages in
// one page, as they are sent within one turn.
class ChangedCallBack : public NoCallBack {
 protected:
  static constexpr std::uint64_t messages = 10;

  // The messages arrive, whoever is called, once each and in order.
  void take(const MessageView& message) {
    EXPECT_TRUE(is_payload(message.bytes(), received_));
    ++received_;
  }
  void take(const Batch& batch) {
    for (const MessageView message : batch) take(message);
  }
  void begin() {
    join(pull_, push_);
    for (std::uint64_t i = 0; i < messages; ++i) {
      ASSERT_EQ(push_.send(payload(i, 100)), Status::ok);
    }
    push_.flush();
  }
  void expect_all() {
    ASSERT_SOON(pump_, received_ == messages && push_.books().acknowledged == messages);
    EXPECT_EQ(pull_.books().delivered, messages);
  }

  Pull pull_{there_, options()};
  Push push_{here_, options()};
  std::uint64_t received_ = 0;
};

TEST_P(ChangedCallBack, from_messages_to_batches_while_a_page_is_held_loses_nothing) {
  pull_.on_message([this](const MessageView& message) {
    take(message);
    pull_.pause();
  });
  begin();
  ASSERT_SOON(pump_, received_ == 1);
  pull_.on_message({});
  pull_.on_batch([this](const Batch& batch) { take(batch); });
  pull_.resume();
  expect_all();
}

TEST_P(ChangedCallBack, to_none_while_a_page_is_held_loses_nothing) {
  pull_.on_message([this](const MessageView& message) {
    take(message);
    pull_.pause();
  });
  begin();
  ASSERT_SOON(pump_, received_ == 1);
  pull_.on_message({});
  pull_.resume();
  pump_.run_for(20ms);
  EXPECT_EQ(pull_.books().delivered, 1U);
  pull_.on_message([this](const MessageView& message) { take(message); });
  expect_all();
}

TEST_P(ChangedCallBack, from_messages_to_batches_inside_a_call_loses_nothing) {
  pull_.on_message([this](const MessageView& message) {
    pull_.on_batch([this](const Batch& batch) { take(batch); });
    pull_.on_message({});
    take(message);
  });
  begin();
  expect_all();
}

// A call-back that puts another in its place is not destroyed before it returns.
TEST_P(ChangedCallBack, by_itself_for_each_message_loses_nothing) {
  std::function<void()> another = [this, &another] {
    const auto called = std::make_shared<bool>(false);
    pull_.on_message([this, &another, called](const MessageView& message) {
      another();
      take(message);
      EXPECT_FALSE(std::exchange(*called, true));
    });
  };
  another();
  begin();
  expect_all();
}

INSTANTIATE_TEST_SUITE_P(on, NoCallBack, testing::ValuesIn(every_transport()), row_name);
INSTANTIATE_TEST_SUITE_P(on, ChangedCallBack, testing::ValuesIn(every_transport()), row_name);

}  // namespace
}  // namespace netio::test
