// Sockets awaited by coroutines: what arrives, who is held back, and what each gets when a peer, a
// socket or the context goes while it waits.
#include <memory>
#include <optional>

#include <gmock/gmock.h>

#include <netio/coroutine.hpp>

#include "conformance/conformance.hpp"
#include "support/allocation_counter.hpp"
#include "support/sanitized.hpp"

namespace netio::test {
namespace {

class Coroutines : public Conformance {
 protected:
  // Numbered messages until the answer is another than ok.
  Task<> send_numbers(co::Push& push, std::uint64_t count) {
    std::vector<std::byte> message;
    for (std::uint64_t number = 0; number < count; ++number) {
      message.resize(number % 1000 == 999 ? 300'000 : 100 + number % 64);
      fill_payload(message, number);
      send_answer_ = co_await push.send(message, number);
      if (send_answer_ != Status::ok) co_return;
    }
    closed_books_ = co_await push.close();
  }
  Task<> receive_numbers(co::Pull& pull) {
    while (const co::Received received = co_await pull.receive()) {
      if (!is_payload(received->bytes(), received_)) ++wrong_;
      if (received->tag() != received_) ++wrong_;
      ++received_;
    }
    reader_ended_ = true;
  }
  Task<> receive_once(co::Pull& pull) {
    const co::Received received = co_await pull.receive();
    receive_answer_ = received.status;
    if (received.down != nullptr) down_ = *received.down;
  }
  Task<> send_once(co::Push& push, std::vector<std::byte> message) {
    send_answer_ = co_await push.send(message);
    ++sends_answered_;
  }
  Task<> send_until_refused(co::Push& push, std::size_t size) {
    const std::vector<std::byte> message = payload(0, size);
    do {
      ++sends_begun_;
      send_answer_ = co_await push.send(message);
    } while (send_answer_ == Status::ok);
    ++sends_answered_;
  }
  // Until nobody takes any more: the sender waits.
  void fill_up() {
    std::uint64_t before = 0;
    do {
      before = sends_begun_;
      pump_.turns(50);
    } while (sends_begun_ != before);
  }

  std::uint64_t received_ = 0;
  std::uint64_t wrong_ = 0;
  bool reader_ended_ = false;
  std::uint64_t sends_begun_ = 0;
  int sends_answered_ = 0;
  std::optional<Status> send_answer_;
  std::optional<Status> receive_answer_;
  std::optional<Down> down_;
  std::optional<Books> closed_books_;
};

TEST_P(Coroutines, a_stream_arrives_whole_and_in_order) {
  constexpr std::uint64_t count = sanitized ? 3000 : 20'000;
  co::Pull pull(there_, options());
  co::Push push(here_, options());
  spawn(there_, receive_numbers(pull));
  spawn(here_, send_numbers(push, count));  // waits for its peer
  push.connect(bind(pull));
  ASSERT_SOON(pump_, reader_ended_ && closed_books_);
  EXPECT_EQ(received_, count);
  EXPECT_EQ(wrong_, 0U);
  EXPECT_EQ(closed_books_->acknowledged, count);
}

TEST_P(Coroutines, a_sender_waits_while_nobody_receives) {
  co::Pull pull(there_, options());
  co::Push push(here_, options());
  join(pull, push);
  spawn(here_, send_until_refused(push, 10'000));
  fill_up();
  EXPECT_EQ(pull.books().delivered, 0U);
  const std::uint64_t begun = sends_begun_;
  spawn(there_, receive_once(pull));
  ASSERT_SOON(pump_, receive_answer_ == Status::ok);
  pump_.turns(20);
  EXPECT_EQ(pull.books().delivered, 1U) << "taken from the wire without a reader";
  EXPECT_LT(sends_begun_, begun + 100);
}

Task<> echo(co::Pair& pair) {
  while (const co::Received received = co_await pair.receive()) {
    if (co_await pair.send(received->bytes()) != Status::ok) break;
  }
}
TEST_P(Coroutines, two_readers_of_one_socket_are_told) {
  co::Pull pull(there_, options());
  co::Push push(here_, options());
  std::string complaint;
  const auto second = [&]() -> Task<> {
    try {
      (void)co_await pull.receive();
    } catch (const Error& error) {
      complaint = error.what();
    }
  };
  spawn(there_, receive_once(pull));
  spawn(there_, second());
  EXPECT_THAT(complaint, testing::HasSubstr("another coroutine waits for it already"));
  join(pull, push);
  spawn(here_, send_once(push, payload(0, 10)));
  ASSERT_SOON(pump_, receive_answer_ == Status::ok);  // the first is served all the same
}

TEST_P(Coroutines, senders_are_served_in_order) {
  co::Pull pull(there_, options());
  co::Push push(here_, options());
  for (std::uint64_t number = 0; number < 5; ++number) {
    spawn(here_, send_once(push, payload(number, 100 + number)));
  }
  std::uint64_t next = 0;
  const auto receive = [&]() -> Task<> {
    while (const co::Received received = co_await pull.receive()) {
      if (is_payload(received->bytes(), next)) ++next;
    }
  };
  spawn(there_, receive());
  push.connect(bind(pull));
  ASSERT_SOON(pump_, next == 5 && sends_answered_ == 5);
}

TEST_P(Coroutines, a_message_to_all_waits_for_the_first_peer_and_for_room) {
  co::Pull first(there_, options());
  co::Pull second(there_, options());
  co::Push push(here_, options());
  std::vector<ToAll> answers;
  const auto tell = [&](std::size_t size) -> Task<> {
    const std::vector<std::byte> message = payload(answers.size(), size);
    answers.push_back(co_await push.send_to_all(message, 7));
  };
  spawn(here_, tell(100));
  pump_.turns(20);
  EXPECT_TRUE(answers.empty());
  join(first, push);
  ASSERT_SOON(pump_, answers.size() == 1);
  EXPECT_EQ(answers[0].peers, 1U);
  join(second, push);
  spawn(here_, send_until_refused(push, 10'000));  // no Pull reads
  fill_up();
  spawn(here_, tell(10'000));
  pump_.turns(20);
  EXPECT_EQ(answers.size(), 1U);
  std::uint64_t told = 0;
  const auto receive = [&](co::Pull& pull) -> Task<> {
    while (const co::Received received = co_await pull.receive()) {
      if (received->tag() == 7) ++told;
    }
  };
  spawn(there_, receive(first));
  spawn(there_, receive(second));
  ASSERT_SOON(pump_, answers.size() == 2);
  EXPECT_TRUE(answers[1].to_everyone());
  EXPECT_EQ(answers[1].peers, 2U);
  ASSERT_SOON(pump_, told == 3);
  spawn(here_, tell(100));
  push.close();
  pump_.turns(5);
}

TEST_P(Coroutines, a_reader_is_told_that_its_peer_went) {
  co::Pull pull(there_, options());
  auto push = std::make_unique<co::Push>(here_, options());
  join(pull, *push);
  spawn(there_, receive_once(pull));
  spawn(here_, send_once(*push, payload(0, 10)));
  ASSERT_SOON(pump_, receive_answer_ == Status::ok);
  spawn(there_, receive_once(pull));
  push->close();
  ASSERT_SOON(pump_, receive_answer_ == Status::not_connected);
  EXPECT_EQ(down_->reason, DownReason::closed_by_peer) << down_->detail;
  spawn(there_, receive_once(pull));  // waits for the next, and goes with the context
  pump_.turns(10);
}

TEST_P(Coroutines, who_receives_later_is_told_then) {
  co::Pull pull(there_, options());
  auto push = std::make_unique<co::Push>(here_, options());
  join(pull, *push);
  spawn(here_, send_once(*push, payload(0, 10)));
  ASSERT_SOON(pump_, send_answer_ == Status::ok);
  pump_.turns(20);
  push.reset();
  pump_.turns(20);
  spawn(there_, receive_once(pull));
  ASSERT_SOON(pump_, receive_answer_.has_value());
  EXPECT_EQ(receive_answer_, Status::ok);
  spawn(there_, receive_once(pull));
  ASSERT_SOON(pump_, receive_answer_ == Status::not_connected);
}

TEST_P(Coroutines, a_sender_is_told_that_its_last_peer_went) {
  auto pull = std::make_unique<co::Pull>(there_, options());
  co::Push push(here_, options());
  join(*pull, push);
  spawn(here_, send_until_refused(push, 10'000));
  fill_up();
  pull.reset();
  ASSERT_SOON(pump_, sends_answered_ == 1);
  EXPECT_EQ(send_answer_, Status::not_connected);
}

TEST_P(Coroutines, closing_answers_all_who_wait) {
  co::Pull pull(there_, options());
  co::Push push(here_, options());
  spawn(there_, receive_once(pull));
  spawn(here_, send_once(push, payload(0, 10)));
  spawn(here_, send_once(push, payload(0, 10)));
  pull.close();
  push.close();
  EXPECT_EQ(sends_answered_, 0) << "from inside close()";
  ASSERT_SOON(pump_, sends_answered_ == 2 && receive_answer_);
  EXPECT_EQ(send_answer_, Status::closed);
  EXPECT_EQ(receive_answer_, Status::closed);
  send_answer_.reset();
  spawn(here_, send_once(push, payload(0, 10)));
  EXPECT_EQ(send_answer_, Status::closed);
}

TEST_P(Coroutines, destroying_the_socket_answers_all_who_wait) {
  auto pull = std::make_unique<co::Pull>(there_, options());
  auto push = std::make_unique<co::Push>(here_, options());
  spawn(there_, receive_once(*pull));
  spawn(here_, send_once(*push, payload(0, 10)));
  pull.reset();
  push.reset();
  ASSERT_SOON(pump_, sends_answered_ == 1 && receive_answer_);
  EXPECT_EQ(send_answer_, Status::closed);
  EXPECT_EQ(receive_answer_, Status::closed);
}

TEST_P(Coroutines, a_coroutine_may_destroy_the_socket_it_received_from) {
  auto pull = std::make_unique<co::Pull>(there_, options());
  co::Push push(here_, options());
  join(*pull, push);
  const auto receive = [&]() -> Task<> {
    const co::Received received = co_await pull->receive();
    if (received) pull.reset();
  };
  spawn(there_, receive());
  spawn(here_, send_numbers(push, 10));
  ASSERT_SOON(pump_, pull == nullptr);
  ASSERT_SOON(pump_, push.peers_connected() == 0);
}

TEST_P(Coroutines, a_coroutine_may_destroy_the_socket_it_sent_through) {
  co::Pull pull(there_, options());
  auto push = std::make_unique<co::Push>(here_, options());
  const auto send = [&]() -> Task<> {
    const std::vector<std::byte> message = payload(0, 10);
    if (co_await push->send(message) == Status::ok) push.reset();
  };
  spawn(here_, send());
  spawn(here_, send_once(*push, payload(1, 10)));  // behind it in the line
  spawn(here_, send_once(*push, payload(2, 10)));
  push->connect(bind(pull));
  ASSERT_SOON(pump_, push == nullptr && sends_answered_ == 2);
  EXPECT_EQ(send_answer_, Status::closed);
}

TEST_P(Coroutines, the_socket_may_be_destroyed_when_its_peer_goes_or_it_is_closed) {
  for (const bool closing : {false, true}) {
    co::Pair left(here_, options());
    auto right = std::make_unique<co::Pair>(there_, options());
    join(left, *right);
    bool asked = false;
    const auto receive = [](co::Pair& pair, std::optional<Status>& answer) -> Task<> {
      const co::Received received = co_await pair.receive();
      answer = received.status;
    };
    receive_answer_.reset();
    spawn(there_, receive(*right, receive_answer_));
    const auto destroy = [&] {
      asked = true;
      right.reset();
    };
    right->on_down([&](const PeerInfo&, const Down&) { destroy(); });
    right->on_closed([&](const Books&) { destroy(); });
    if (closing) {
      static_cast<Socket&>(*right).close(500ms);  // nobody reads at the other end
    } else {
      left.close(500ms);
    }
    ASSERT_SOON(pump_, asked && receive_answer_);
    EXPECT_EQ(receive_answer_, Status::closed);
  }
}

TEST_P(Coroutines, closing_is_awaited_by_one_and_answered_whatever_happens) {
  auto pull = std::make_unique<co::Pull>(there_, options());
  auto push = std::make_unique<co::Push>(here_, options());
  join(*pull, *push);
  spawn(here_, send_once(*push, payload(0, 10)));  // nobody receives: not acknowledged
  std::vector<Books> books;
  std::string complaint;
  const auto close = [&](co::Push& socket) -> Task<> {
    try {
      books.push_back(co_await socket.close(1h));
    } catch (const Error& error) {
      complaint = error.what();
    }
  };
  spawn(here_, close(*push));
  spawn(here_, close(*push));
  EXPECT_THAT(complaint, testing::HasSubstr("another coroutine waits"));
  pump_.turns(20);
  EXPECT_TRUE(books.empty());
  pull.reset();  // the peer goes
  ASSERT_SOON(pump_, books.size() == 1);
  EXPECT_EQ(books[0].sent, 1U);
  EXPECT_EQ(books[0].acknowledged, 0U);  // in doubt: nobody came back to say
  pull = std::make_unique<co::Pull>(there_, options());
  push = std::make_unique<co::Push>(here_, options());
  join(*pull, *push);
  spawn(here_, send_once(*push, payload(0, 10)));
  spawn(here_, close(*push));
  push.reset();
  EXPECT_EQ(books.size(), 1U) << "from inside the destructor";
  ASSERT_SOON(pump_, books.size() == 2);
}

TEST_P(Coroutines, a_pair_is_told_that_its_peer_is_lost_while_it_waits_for_both) {
  co::Pair left(here_, options());
  auto right = std::make_unique<co::Pair>(there_, options());
  join(left, *right);
  std::optional<Status> sent;
  std::optional<Status> received;
  const auto send = [&]() -> Task<> {
    const std::vector<std::byte> message = payload(0, 10'000);
    do {
      ++sends_begun_;
      sent = co_await left.send(message);
    } while (sent == Status::ok);
    sends_answered_ = 1;
  };
  const auto receive = [&]() -> Task<> {
    const co::Received answer = co_await left.receive();
    received = answer.status;
    if (answer.down != nullptr) down_ = *answer.down;
  };
  spawn(here_, receive());
  spawn(here_, send());
  fill_up();
  EXPECT_FALSE(received);
  right.reset();
  ASSERT_SOON(pump_, received && sends_answered_ == 1);
  EXPECT_EQ(received, Status::not_connected);
  EXPECT_EQ(sent, Status::not_connected);
  EXPECT_EQ(down_->reason, DownReason::lost) << down_->detail;
}

// What counts its life: a frame that is not destroyed shows.
struct Counted {
  explicit Counted(int& alive) : count(alive) { ++count; }
  ~Counted() { --count; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  int& count;
};

Task<> receive_inside(Context& context, std::string& address, const std::string& where,
                      int& alive) {
  const Counted counted(alive);
  co::Pull pull(context);
  address = pull.bind(where);
  while (co_await pull.receive()) {
  }
  ADD_FAILURE() << "it went on";
}
Task<> nested(Context& context, std::string& address, const std::string& where, int& alive) {
  const Counted counted(alive);
  co_await receive_inside(context, address, where, alive);
}
Task<> asleep(Loop& loop, int& alive) {
  const Counted counted(alive);
  co_await co::sleep(loop, 1h);
}
Task<> send_inside(Context& context, const std::string& address, int& alive) {
  const Counted counted(alive);
  co::Push push(context);
  push.connect(address);
  const std::vector<std::byte> message(1000);
  while (co_await push.send(message) == Status::ok) {
  }
  ADD_FAILURE() << "it went on";
}

TEST_P(Coroutines, the_end_of_the_context_ends_all_that_wait) {
  int alive = 0;
  std::string address;
  {
    Context context(small_context(GetParam()));
    Context other(small_context(GetParam()));
    spawn(context, nested(context, address, GetParam().address, alive));
    spawn(context, asleep(context.loop(), alive));
    spawn(other, send_inside(other, address, alive));
    EXPECT_EQ(alive, 4);
    Pump pump{&context, &other};
    pump.turns(200);
    EXPECT_EQ(alive, 4);
  }
  EXPECT_EQ(alive, 0);
}

TEST_P(Coroutines, awaiting_a_message_takes_nothing_from_the_heap) {
  co::Pair left(here_, options());
  co::Pair right(there_, options());
  join(left, right);
  std::uint64_t returned = 0;
  const auto ask = [&]() -> Task<> {
    const std::vector<std::byte> message = payload(0, 64);
    while (co_await left.send(message) == Status::ok) {
      if (!co_await left.receive()) break;
      ++returned;
      if (returned % 16 == 0) co_await co::sleep(here_.loop(), 0ns);
    }
  };
  spawn(there_, echo(right));
  spawn(here_, ask());
  ASSERT_SOON(pump_, returned >= 500);
  const std::uint64_t allocations = allocations_during([&] {
    const std::uint64_t until = returned + 2000;
    EXPECT_SOON(pump_, returned >= until);
  });
  EXPECT_EQ(allocations, 0U);
}

ON_EVERY_TRANSPORT_AND_MODE(Coroutines);

}  // namespace
}  // namespace netio::test
