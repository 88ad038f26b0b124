// Everything at once, at random: sizes, ways to send, pauses, kept messages, cuts. Afterwards every
// message is accounted for. NETIO_TEST_SEED gives other random numbers; the seed is printed.
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>

#include "conformance/conformance.hpp"
#include "support/environment.hpp"
#include "support/relay.hpp"

namespace netio::test {
namespace {

// A receiver that pauses, keeps and releases at random, and checks all it gets.
class Taker {
 public:
  explicit Taker(Random& random) : random_(random) {}
  Taker(const Taker&) = delete;
  Taker& operator=(const Taker&) = delete;

  void attach(Receiving& socket) {
    socket_ = &socket;
    socket.on_message([this](const MessageView& message) { take(message); });
  }

  void disturb() {
    if (random_.one_in(3) && !kept_.empty()) kept_.clear();
    if (socket_->paused() ? random_.one_in(4) : random_.one_in(40)) toggle();
  }
  void calm_down() {
    calm_ = true;
    kept_.clear();
    if (socket_->paused()) socket_->resume();
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t wrong() const { return wrong_; }

 private:
  void take(const MessageView& message) {
    ++count_;
    // Each sender numbers its messages by their tag; some may be missing, none may come twice.
    if (message.tag() < next_ || !is_payload(message.bytes(), message.tag())) ++wrong_;
    next_ = message.tag() + 1;
    if (calm_) return;
    if (random_.one_in(20)) kept_.push_back(message.keep());
    if (random_.one_in(500)) toggle();
  }
  void toggle() { socket_->paused() ? socket_->resume() : socket_->pause(); }

  Receiving* socket_ = nullptr;
  Random& random_;
  std::vector<Message> kept_;
  std::uint64_t next_ = 1;
  std::uint64_t count_ = 0;
  std::uint64_t wrong_ = 0;
  bool calm_ = false;
};

// A sender that uses every way to send.
class Giver {
 public:
  explicit Giver(Random& random) : random_(random) {}
  Giver(const Giver&) = delete;
  Giver& operator=(const Giver&) = delete;

  // Must outlive the socket, which reads what is lent.
  void attach(Sending& socket) {
    socket_ = &socket;
    socket.on_released([this](std::uint64_t token) { ++released_[token]; });
  }

  // Sends one message, if it is taken.
  bool give() {
    const std::uint64_t number = taken_ + 1;
    std::size_t size = random_.below(300);
    if (random_.one_in(30)) size = random_.below(20'000);
    if (random_.one_in(300)) size = random_.below(400'000);
    const Status status = give_one(number, size);
    EXPECT_TRUE(status == Status::ok || status == Status::again || status == Status::not_connected)
        << to_string(status);
    if (status != Status::ok) return false;
    ++taken_;
    if (random_.one_in(200)) socket_->flush();
    return true;
  }
  [[nodiscard]] std::uint64_t taken() const { return taken_; }
  [[nodiscard]] bool all_released() const { return released_.size() == lent_.size(); }
  void expect_released_once() const {
    for (const auto& [token, count] : released_) EXPECT_EQ(count, 1) << "token " << token;
  }

 private:
  Status give_one(std::uint64_t number, std::size_t size) {
    switch (random_.below(4)) {
      case 0: {
        std::vector<std::byte> bytes = payload(number, size);
        const Status status = socket_->lend(bytes, number, number);
        if (status == Status::ok) lent_.emplace(number, std::move(bytes));
        return status;
      }
      case 1: {
        Message message = Message::copy_of(payload(number, size), number);
        return socket_->send(std::move(message));
      }
      case 2: {
        Status status = Status::ok;
        const std::span<std::byte> room = socket_->reserve(size, status);
        if (status == Status::ok) {
          fill_payload(room.first(size), number);
          return socket_->commit(size, number);
        }
        // Too large for a page, or a socket without pages: sent whole instead.
        if (status != Status::too_big && status != Status::invalid) return status;
        return socket_->send(payload(number, size), number);
      }
      default:
        return socket_->send(payload(number, size), number);
    }
  }

  Sending* socket_ = nullptr;
  Random& random_;
  std::uint64_t taken_ = 0;
  std::map<std::uint64_t, std::vector<std::byte>> lent_;
  std::map<std::uint64_t, int> released_;
};

class Soak : public Conformance {
 protected:
  static void disturb(Relay& relay, Random& random) {
    if (random.one_in(150)) relay.cut(random.one_in(2) ? Relay::End::fin : Relay::End::reset);
    if (random.one_in(150)) relay.cut_after(random.below(500'000));
    if (random.one_in(200)) relay.strand();
    if (random.one_in(100)) relay.hold(random.one_in(2));
    if (random.one_in(100)) relay.set_delay(std::chrono::milliseconds(random.below(3)));
  }
  static SocketOptions random_options(Random& random, Mode mode) {
    SocketOptions options;
    options.mode = mode;
    options.flush_when_idle = random.one_in(2);
    options.flush_after = std::chrono::microseconds(random.below(3000));
    options.send_bytes_max = 1U << (14U + random.below(8));
    options.receive_bytes_max = 1U << 20U;
    options.reconnect_after_min = 1ms;
    options.reconnect_after_max = 10ms;
    options.acknowledge_after = std::chrono::microseconds(100 + random.below(5000));
    return options;
  }
};

TEST_P(Soak, everything_at_random_is_accounted_for) {
  const std::uint64_t seed = test::seed();
  std::cout << "seed " << seed << '\n';
  SCOPED_TRACE("NETIO_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  const Mode other = random.one_in(2) ? Mode::buffered : Mode::unbuffered;
  Taker left_taker(random);
  Taker right_taker(random);
  Giver left_giver(random);
  Giver right_giver(random);
  Pair left(here_, random_options(random, GetParam().mode));
  Pair right(there_, random_options(random, other));
  left_taker.attach(left);
  right_taker.attach(right);
  left_giver.attach(left);
  right_giver.attach(right);
  Seen at_left(left);
  Relay relay(bind(right));
  left.connect(relay.address());
  pump_.after_each_turn(BooksCheck(left));
  pump_.after_each_turn(BooksCheck(right));

  const auto end = std::chrono::steady_clock::now() + 1500ms;
  while (std::chrono::steady_clock::now() < end && !HasFailure()) {
    const std::uint64_t burst = random.below(60);
    for (std::uint64_t i = 0; i < burst && left_giver.give(); ++i) {
    }
    for (std::uint64_t i = 0; i < burst && right_giver.give(); ++i) {
    }
    pump_.turns(static_cast<int>(random.below(4)));
    left_taker.disturb();
    right_taker.disturb();
    disturb(relay, random);
  }

  relay.hold(false);
  relay.cut_no_more();
  ASSERT_SOON(pump_, [&] {
    left_taker.calm_down();
    right_taker.calm_down();
    return left.peers_connected() == 1 && right.peers_connected() == 1 &&
           left.books().unsettled() == 0 && right.books().unsettled() == 0;
  }());
  ASSERT_SOON(pump_, left_giver.all_released() && right_giver.all_released());
  pump_.forget_checks();
  left_giver.expect_released_once();
  right_giver.expect_released_once();
  EXPECT_EQ(left_taker.wrong() + right_taker.wrong(), 0U);
  const Books at_left_end = left.books();
  const Books at_right_end = right.books();
  EXPECT_EQ(at_left_end.sent, left_giver.taken());
  EXPECT_EQ(at_right_end.sent, right_giver.taken());
  EXPECT_EQ(at_left_end.delivered, left_taker.count());
  EXPECT_EQ(at_right_end.delivered, right_taker.count());
  EXPECT_EQ(at_left_end.acknowledged, at_right_end.delivered);
  EXPECT_EQ(at_right_end.acknowledged, at_left_end.delivered);
  const auto posted_and_lost = [](const Books& books) {
    return books.dropped_by[static_cast<std::size_t>(DropReason::connection_lost)];
  };
  EXPECT_EQ(posted_and_lost(at_left_end), at_right_end.missed);
  EXPECT_EQ(posted_and_lost(at_right_end), at_left_end.missed);
  EXPECT_GT(at_left_end.acknowledged, 0U) << relay.cuts() << " cuts\n" << at_left.why();
}

ON_TCP_IN_EVERY_MODE(Soak);

}  // namespace
}  // namespace netio::test
