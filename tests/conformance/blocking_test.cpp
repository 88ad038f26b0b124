// Sockets that wait: on one thread, which turns the loop, and with a loop in a thread of its own.
#include <atomic>
#include <csignal>
#include <thread>
#include <unistd.h>

#include <netio/blocking.hpp>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class Blocking : public Conformance {
 protected:
  [[nodiscard]] blocking::QueueOptions queue_options(std::size_t messages_max) const {
    return {small_context(GetParam()), options(), messages_max};
  }
  static std::size_t size_of(std::uint64_t number) {
    return number % 500 == 499 ? 300'000 : 100 + number % 64;
  }
  // What a receiver of `count` numbered messages finds, and that the sender then goes.
  template <class Socket>
  static void expect_stream(Socket& pull, std::uint64_t count) {
    std::uint64_t wrong = 0;
    for (std::uint64_t number = 0; number < count; ++number) {
      const blocking::Received received = pull.receive(soon_max);
      ASSERT_EQ(received.status, Status::ok) << "message " << number;
      if (!is_payload(received.message.bytes(), number)) ++wrong;
    }
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(pull.receive(soon_max).status, Status::not_connected);
    EXPECT_EQ(pull.receive(5ms).status, Status::again);
  }
  template <class Socket>
  static void send_stream(Socket& push, std::uint64_t count) {
    std::vector<std::byte> message;
    for (std::uint64_t number = 0; number < count; ++number) {
      message.resize(size_of(number));
      fill_payload(message, number);
      ASSERT_EQ(push.send(message, soon_max), Status::ok) << "message " << number;
    }
    EXPECT_EQ(push.close(soon_max).acknowledged, count);
  }

  Pump pump_of_here_{&here_};
};

TEST_P(Blocking, a_stream_arrives_on_threads_that_wait) {
  constexpr std::uint64_t count = 3000;
  blocking::Pull pull(there_, options());
  const std::string address = bind(pull);
  std::thread sender([&] {
    Context context(small_context(GetParam()));
    blocking::Push push(context, options());
    push.connect(address);
    send_stream(push, count);
  });
  expect_stream(pull, count);
  sender.join();
}

TEST_P(Blocking, a_stream_arrives_through_queues) {
  constexpr std::uint64_t count = 3000;
  blocking::QueuedPull pull(queue_options(16));
  const std::string address = pull.bind(GetParam().address);
  std::thread sender([&] {
    blocking::QueuedPush push(queue_options(16));
    push.connect(address);
    send_stream(push, count);
  });
  expect_stream(pull, count);
  sender.join();
}

TEST_P(Blocking, a_reader_that_pauses_finds_all_in_a_small_queue) {
  blocking::QueuedPull pull(queue_options(2));
  Push push(here_, options());
  push.connect(pull.bind(GetParam().address));
  for (int round = 0; round < 20; ++round) {
    send_numbered(push, 0, 20, size_of);
    pump_.turns(5);
    for (std::uint64_t number = 0; number < 20; ++number) {
      blocking::Received received;
      EXPECT_SOON(pump_, (received = pull.receive(0ns)).status != Status::again);
      ASSERT_TRUE(is_payload(received.message.bytes(), number)) << "round " << round;
    }
  }
}

TEST_P(Blocking, time_limits_hold) {
  blocking::Pull pull(there_, options());
  blocking::Push push(here_, options());
  EXPECT_EQ(pull.receive(0ns).status, Status::again);
  EXPECT_EQ(pull.receive(1ms).status, Status::again);
  EXPECT_EQ(push.send("to nobody", 1ms), Status::not_connected);
  push.close(0ns);
  EXPECT_EQ(push.send("closed", 1ms), Status::closed);
  pull.close(0ns);
  EXPECT_EQ(pull.receive().status, Status::closed);
  blocking::QueuedPull queued_pull(queue_options(4));
  EXPECT_EQ(queued_pull.receive(0ns).status, Status::again);
  EXPECT_EQ(queued_pull.receive(1ms).status, Status::again);
  blocking::QueuedPush queued_push(queue_options(4));
  int taken = 0;
  while (queued_push.send("to nobody", 1ms) == Status::ok) ++taken;
  EXPECT_GE(taken, 4);
  EXPECT_LE(taken, 5);  // one is out of the queue, at the socket
  EXPECT_EQ(queued_push.close(1ms).sent, 0U);
  EXPECT_EQ(queued_push.send("closed", 1ms), Status::closed);
}

// However short it is, a call takes part in what is ready: who only asks often gets on.
TEST_P(Blocking, the_shortest_time_limit_does_a_turn) {
  blocking::Pull pull(there_, options());
  Push push(here_, options());
  push.connect(bind(pull));
  EXPECT_SOON(pump_of_here_, pull.receive(1ns).status == Status::again && push.peers_connected());
}

TEST_P(Blocking, closing_waits_for_ever_if_it_is_told_so) {
  Pull pull(there_, options());
  pull.on_message([](const MessageView&) {});
  const std::string address = bind(pull);
  std::atomic<int> closed = 0;
  const auto send_and_close = [&](auto& push) {
    push.connect(address);
    EXPECT_EQ(push.send(payload(0, 1000), soon_max), Status::ok);
    EXPECT_EQ(push.close(blocking::for_ever).acknowledged, 1U);
    ++closed;
  };
  std::thread turning([&] {
    Context context(small_context(GetParam()));
    blocking::Push push(context, options());
    send_and_close(push);
  });
  std::thread queued([&] {
    blocking::QueuedPush push(queue_options(4));
    send_and_close(push);
  });
  EXPECT_SOON(pump_, closed == 2);
  turning.join();
  queued.join();
}

TEST_P(Blocking, what_no_peer_takes_is_in_the_books_of_a_queue) {
  SocketOptions small = options();
  small.message_bytes_max = 1000;
  blocking::Pull pull(there_, small);
  blocking::QueuedPush push(queue_options(4));
  push.connect(bind(pull));
  ASSERT_EQ(push.send("first", soon_max), Status::ok);
  EXPECT_EQ(pull.receive(soon_max).status, Status::ok);
  ASSERT_EQ(push.send(payload(0, 1001), soon_max), Status::ok);
  ASSERT_EQ(push.send("last", soon_max), Status::ok);
  EXPECT_EQ(pull.receive(soon_max).message.size(), 4U);
  const Books books = push.close(100ms);
  EXPECT_EQ(books.sent, 3U);
  EXPECT_EQ(books.dropped_by[static_cast<std::size_t>(DropReason::not_sent)], 1U);
}

TEST_P(Blocking, a_socket_that_a_signal_closes_ends_the_receive_under_way) {
  blocking::Pull pull(there_, options());
  (void)bind(pull);
  bool called = false;
  const PosixSignals signals(there_.loop(), {SIGUSR1}, [&](int) {
    called = true;
    EXPECT_EQ(pull.receive(soon_max).status, Status::again);  // in here nothing waits
    (void)pull.close();
  });
  ASSERT_EQ(::kill(::getpid(), SIGUSR1), 0);
  EXPECT_EQ(pull.receive(soon_max).status, Status::closed);
  EXPECT_TRUE(called);
}

TEST_P(Blocking, a_sender_that_a_call_back_closes_ends_its_send) {
  blocking::Push push(here_, options());
  Timer timer(here_.loop(), [&] {
    EXPECT_EQ(push.send("early", soon_max), Status::not_connected);
    EXPECT_EQ(push.close().sent, 0U);
  });
  timer.start_once(1ms);
  EXPECT_EQ(push.send("never", soon_max), Status::closed);
}

TEST_P(Blocking, what_was_received_says_who_sent_it_and_why_nothing_more_comes) {
  blocking::Pull pull(there_, options());
  std::vector<std::uint64_t> ids;
  pull.on_up([&](const PeerInfo& peer) { ids.push_back(peer.id); });
  const std::string address = bind(pull);
  for (std::uint64_t i = 0; i < 2; ++i) {
    std::thread other([&] {
      Context context(small_context(GetParam()));
      blocking::Push push(context, options());
      push.connect(address);
      EXPECT_EQ(push.send("hello", soon_max), Status::ok);
      EXPECT_EQ(push.close(soon_max).acknowledged, 1U);
    });
    const blocking::Received hello = pull.receive(soon_max);
    const blocking::Received end = pull.receive(soon_max);
    other.join();
    ASSERT_EQ(ids.size(), i + 1);
    EXPECT_EQ(hello.sender, ids.back());
    EXPECT_EQ(hello.gone, nullptr);
    ASSERT_EQ(end.status, Status::not_connected);
    ASSERT_NE(end.gone, nullptr);
    EXPECT_EQ(end.gone->peer.id, ids.back());
    EXPECT_EQ(end.gone->down.reason, DownReason::closed_by_peer) << end.gone->down.detail;
  }
}

TEST_P(Blocking, a_queue_says_who_sent_and_went_too) {
  blocking::QueuedPull pull(queue_options(10));
  const std::string address = pull.bind(GetParam().address);
  blocking::Push push(here_, options());
  push.connect(address);
  ASSERT_EQ(push.send("hello", soon_max), Status::ok);
  push.flush();
  const blocking::Received hello = pull.receive(soon_max);
  ASSERT_EQ(hello.status, Status::ok);
  EXPECT_EQ(hello.sender, 1U);
  EXPECT_EQ(push.close(soon_max).acknowledged, 1U);
  const blocking::Received end = pull.receive(soon_max);
  ASSERT_EQ(end.status, Status::not_connected);
  ASSERT_NE(end.gone, nullptr);
  EXPECT_EQ(end.gone->peer.id, 1U);
  EXPECT_EQ(end.gone->down.reason, DownReason::closed_by_peer) << end.gone->down.detail;
}

TEST(QueuedSockets, let_peers_and_addresses_go) {
  blocking::QueuedPull pull;
  blocking::QueuedPush push;
  const std::string address = pull.bind("tcp://127.0.0.1:0");
  push.connect(address);
  ASSERT_EQ(push.send("before", 30s), Status::ok);
  ASSERT_EQ(pull.receive(30s).status, Status::ok);
  EXPECT_TRUE(pull.unbind(address));
  EXPECT_FALSE(pull.unbind(address));
  EXPECT_FALSE(push.disconnect(std::uint64_t{99}));
  EXPECT_EQ(push.disconnect(address), 1U);
  const blocking::Received gone = pull.receive(30s);
  ASSERT_EQ(gone.status, Status::not_connected);
  EXPECT_EQ(gone.gone->down.reason, DownReason::closed_by_peer);
  EXPECT_EQ(pull.disconnect(address), 0U);
}

TEST(QueuedSockets, have_room_and_an_end) {
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{1} << 25U, std::size_t{1} << 60U, SIZE_MAX}) {
    const blocking::QueueOptions endless{small_context(), {}, length};
    EXPECT_THROW(blocking::QueuedPull{endless}, Error) << length;
    EXPECT_THROW(blocking::QueuedPush{endless}, Error) << length;
  }
}

TEST(QueuedSockets, throw_what_making_or_binding_them_throws) {
  blocking::QueueOptions senseless;
  senseless.context.page_bytes = 17;
  EXPECT_THROW(blocking::QueuedPull{senseless}, Error);
  blocking::QueuedPull pull({small_context(), {}, 4});
  EXPECT_THROW((void)pull.bind("nowhere"), AddressError);
  EXPECT_THROW(pull.connect("nowhere"), AddressError);
}

ON_EVERY_TRANSPORT(Blocking);

}  // namespace
}  // namespace netio::test
