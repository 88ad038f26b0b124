// A QueuedPull acknowledges what its reader has taken, and nothing that lies in its queue.
#include <memory>
#include <thread>

#include <netio/blocking.hpp>

#include "conformance/conformance.hpp"
#include "support/relay.hpp"

namespace netio::test {
namespace {

// How a sender closed.
struct SenderEnd {
  explicit SenderEnd(Push& push) {
    push.on_closed([this](const Books& books) {
      last = books;
      done = true;
    });
  }
  Books last;
  bool done = false;
};

class Queue : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    pull_ = std::make_unique<blocking::QueuedPull>(
        blocking::QueueOptions{small_context(GetParam()), options(), 1000});
  }
  static std::size_t size_of(std::uint64_t number) { return 50 + number % 7; }

  // Takes messages [first, last) out of the queue.
  void take(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t number = first; number < last; ++number) {
      blocking::Received received;
      ASSERT_SOON(pump_here_, (received = pull_->receive(0ns)).status != Status::again);
      ASSERT_EQ(received.status, Status::ok) << number;
      ASSERT_TRUE(is_payload(received.message.bytes(), number)) << number;
    }
  }
  void take_gone() {
    blocking::Received received;
    ASSERT_SOON(pump_here_, (received = pull_->receive(0ns)).status != Status::again);
    EXPECT_EQ(received.status, Status::not_connected);
  }

  Pump pump_here_{&here_};
  std::unique_ptr<blocking::QueuedPull> pull_;
};

TEST_P(Queue, what_lies_in_it_is_not_acknowledged) {
  Push push(here_, options());
  SenderEnd closing(push);
  push.connect(pull_->bind(GetParam().address));
  ASSERT_SOON(pump_here_, push.peers_connected() == 1);
  send_numbered(push, 0, 20, size_of);
  push.flush();
  take(0, 12);
  ASSERT_SOON(pump_here_, push.books().acknowledged == 12);
  take(12, 13);  // and goes before that is acknowledged
  std::thread destroyer([this] { pull_.reset(); });
  EXPECT_SOON(pump_here_, push.peers_connected() == 0);
  destroyer.join();
  push.close(1ms);
  ASSERT_SOON(pump_here_, closing.done);
  EXPECT_EQ(closing.last.sent, 20U);
  EXPECT_EQ(closing.last.acknowledged, 13U);
  EXPECT_EQ(closing.last.dropped_by[static_cast<std::size_t>(DropReason::peer_closed)], 7U);
}

// Its reader may take its time: the loop is told when it goes on, and asked for nothing meanwhile.
TEST_P(Queue, what_is_taken_late_is_acknowledged) {
  Push push(here_, options());
  push.connect(pull_->bind(GetParam().address));
  ASSERT_SOON(pump_here_, push.peers_connected() == 1);
  send_numbered(push, 0, 300, size_of);
  push.flush();
  for (std::uint64_t taken = 0; taken < 300; taken += 100) {
    take(taken, taken + 100);
    ASSERT_SOON(pump_here_, push.books().acknowledged == taken + 100);
    std::this_thread::sleep_for(20ms);  // the loop gives up to look
  }
}

TEST_P(Queue, a_sender_that_closes_hears_what_is_taken_after_that) {
  Push push(here_, options());
  SenderEnd closing(push);
  push.connect(pull_->bind(GetParam().address));
  ASSERT_SOON(pump_here_, push.peers_connected() == 1);
  send_numbered(push, 0, 100, size_of);
  take(0, 1);
  push.close(soon_max);
  pump_here_.turns(20);
  EXPECT_FALSE(closing.done);
  take(1, 99);
  pump_here_.turns(20);
  EXPECT_FALSE(closing.done);
  take(99, 100);
  ASSERT_SOON(pump_here_, closing.done);
  EXPECT_EQ(closing.last.acknowledged, 100U);
  take_gone();
}

TEST_P(Queue, each_of_several_senders_hears_of_its_own) {
  const std::string address = pull_->bind(GetParam().address);
  Push first(here_, options());
  auto second = std::make_unique<Push>(here_, options());
  first.connect(address);
  second->connect(address);
  ASSERT_SOON(pump_here_, first.peers_connected() == 1 && second->peers_connected() == 1);
  std::uint64_t of_first = 0;
  std::uint64_t of_second = 0;
  const auto take_one = [&] {
    blocking::Received received;
    ASSERT_SOON(pump_here_, (received = pull_->receive(0ns)).status != Status::again);
    ASSERT_EQ(received.status, Status::ok);
    ++(received.message.tag() == 1 ? of_first : of_second);
  };
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(send(first, payload(0, 40), 1), Status::ok);
    ASSERT_EQ(send(*second, payload(0, 40), 2), Status::ok);
    pump_here_.turns(1);
  }
  for (int i = 0; i < 60; ++i) take_one();
  ASSERT_SOON(pump_here_,
              first.books().acknowledged == of_first && second->books().acknowledged == of_second);
  second.reset();  // it went, with messages in the queue
  ASSERT_EQ(send(first, payload(0, 40), 1), Status::ok);
  while (of_first < 51) {
    blocking::Received received;
    ASSERT_SOON(pump_here_, (received = pull_->receive(0ns)).status != Status::again);
    if (received) ++(received.message.tag() == 1 ? of_first : of_second);
  }
  ASSERT_SOON(pump_here_, first.books().acknowledged == 51);
}

ON_EVERY_TRANSPORT(Queue);

// What lies in the queue while its sender comes back was received: that is what *confirm* says.
// What comes after that waits for the reader as before.
class QueueCut : public Queue {};

TEST_P(QueueCut, goes_on_with_a_sender_that_comes_back) {
  Relay relay(pull_->bind(GetParam().address));
  Push push(here_, eager());
  push.connect(relay.address());
  ASSERT_SOON(pump_here_, push.peers_connected() == 1);
  std::uint64_t sent = 0;
  std::uint64_t taken = 0;
  std::uint64_t next = 0;
  // Numbers that were lost with a connection are left out.
  const auto take_up_to = [&](std::uint64_t count) {
    while (taken < count) {
      blocking::Received received;
      ASSERT_SOON(pump_here_, (received = pull_->receive(0ns)).status != Status::again);
      if (!received) continue;  // the peer went
      ++taken;
      const std::uint64_t number = number_of(received.message.bytes());
      ASSERT_GE(number, next);
      next = number + 1;
    }
  };
  for (std::uint64_t round = 0; round < 4; ++round) {
    send_numbered(push, sent, sent + 20, size_of);
    push.flush();
    sent += 20;
    take_up_to(taken + 8);
    const std::uint64_t connects = push.counters().connects;
    relay.cut();
    ASSERT_SOON(pump_here_, push.counters().connects > connects && push.peers_connected() == 1);
    const Books books = push.books();
    EXPECT_TRUE(add_up(books));
    EXPECT_EQ(books.acknowledged + books.dropped(), sent);
    EXPECT_GE(books.acknowledged, taken);
  }
  take_up_to(push.books().acknowledged);
  send_numbered(push, sent, sent + 10, size_of);
  push.flush();
  const std::uint64_t before = taken;
  take_up_to(before + 5);
  ASSERT_SOON(pump_here_, push.books().acknowledged == before + 5);
  pump_here_.turns(20);
  EXPECT_EQ(push.books().acknowledged, before + 5);
  take_up_to(before + 10);
  ASSERT_SOON(pump_here_, push.books().acknowledged == before + 10);
}

ON_TCP_IN_EVERY_MODE(QueueCut);

}  // namespace
}  // namespace netio::test
