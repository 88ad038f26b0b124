// netio's loops inside an Asio io_context, beside Asio's own timers and TCP server, on one thread.
#if __has_include(<asio.hpp>)
#include <asio.hpp>

#include <netio/asio.hpp>
#endif

#include <array>
#include <functional>
#include <memory>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class InsideAsio : public Conformance {};

#if __has_include(<asio.hpp>)

// Asio's own: sends back what comes, on one connection.
class AsioEchoServer {
 public:
  explicit AsioEchoServer(asio::io_context& io)
      : acceptor_(io, {asio::ip::address_v4::loopback(), 0}), socket_(io) {
    acceptor_.async_accept(socket_, [this](const asio::error_code& error) {
      if (!error) read();
    });
  }
  [[nodiscard]] asio::ip::tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }

 private:
  void read() {
    socket_.async_read_some(asio::buffer(buffer_),
                            [this](const asio::error_code& error, std::size_t bytes) {
                              if (!error) write(bytes);
                            });
  }
  void write(std::size_t bytes) {
    asio::async_write(socket_, asio::buffer(buffer_, bytes),
                      [this](const asio::error_code& error, std::size_t) {
                        if (!error) read();
                      });
  }

  asio::ip::tcp::acceptor acceptor_;
  asio::ip::tcp::socket socket_;
  std::array<char, 256> buffer_{};
};

// And its client: so many words there and back.
class AsioClient {
 public:
  AsioClient(asio::io_context& io, const asio::ip::tcp::endpoint& server, int wanted)
      : socket_(io), wanted_(wanted) {
    socket_.async_connect(server, [this](const asio::error_code& error) {
      if (!error) ask();
    });
  }
  [[nodiscard]] int returned() const { return returned_; }

 private:
  void ask() {
    asio::async_write(socket_, asio::buffer("ping", 4),
                      [this](const asio::error_code& error, std::size_t) {
                        if (!error) hear();
                      });
  }
  void hear() {
    asio::async_read(socket_, asio::buffer(buffer_),
                     [this](const asio::error_code& error, std::size_t) {
                       if (!error && ++returned_ < wanted_) ask();
                     });
  }

  asio::ip::tcp::socket socket_;
  std::array<char, 4> buffer_{};
  int wanted_;
  int returned_ = 0;
};

class AsioTicks {
 public:
  explicit AsioTicks(asio::io_context& io) : timer_(io) { again(); }
  [[nodiscard]] int count() const { return count_; }

 private:
  void again() {
    timer_.expires_after(1ms);
    timer_.async_wait([this](const asio::error_code& error) {
      if (error) return;
      ++count_;
      again();
    });
  }

  asio::steady_timer timer_;
  int count_ = 0;
};

// Never waits in vain longer than this.
void run_until(asio::io_context& io, const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + soon_max;
  while (!condition()) {
    ASSERT_NE(io.run_one_until(end), 0U) << "quiet, or too long";
  }
}

TEST_P(InsideAsio, timers_a_tcp_server_and_sockets_share_one_thread) {
  asio::io_context io(1);
  Pull pull(there_, options());
  Push push(here_, options());
  Seen at_push(push);
  constexpr std::uint64_t count = 3000;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t wrong = 0;
  std::vector<std::byte> message;
  const auto send_on = [&] {
    for (; sent < count; ++sent) {
      message.resize(sent % 500 == 0 ? 300'000 : 200);
      fill_payload(message, sent);
      if (push.send(message) != Status::ok) return;
    }
    push.close();
  };
  push.on_writable(send_on);
  pull.on_message([&](const MessageView& view) {
    if (!is_payload(view.bytes(), received++)) ++wrong;
  });
  push.connect(bind(pull));
  send_on();
  const AsioEchoServer server(io);
  const AsioClient client(io, server.endpoint(), 200);
  const AsioTicks ticks(io);
  const AsioDriver drives_here(io, here_);
  const AsioDriver drives_there(io, there_);
  run_until(io, [&] {
    return at_push.closings.size() == 1 && client.returned() == 200 && ticks.count() >= 10;
  });
  EXPECT_EQ(received, count);
  EXPECT_EQ(wrong, 0U);
}

// Nothing is left behind when all is quiet: every message is alone.
TEST_P(InsideAsio, no_single_message_is_missed) {
  asio::io_context io(1);
  Pair left(here_, options());
  Pair right(there_, options());
  int rounds = 0;
  right.on_message(
      [&](const MessageView& message) { EXPECT_EQ(right.send(message.bytes()), Status::ok); });
  left.on_message([&](const MessageView&) { ++rounds; });
  const AsioDriver drives_here(io, here_);
  const AsioDriver drives_there(io, there_);
  right.connect(bind(left));
  run_until(io, [&] { return left.peers_connected() + right.peers_connected() == 2; });
  for (int i = 1; i <= 200; ++i) {
    ASSERT_EQ(left.send("ping"), Status::ok);  // outside of any turn
    run_until(io, [&] { return rounds == i; });
  }
}

TEST(AsioDriver, ends_when_it_or_the_loop_is_stopped) {
  Loop loop;
  Timer timer(loop, [&] { loop.stop(); });
  {
    asio::io_context io(1);
    const AsioDriver driver(io, loop);
    timer.start_once(5ms);
    io.run();  // comes back: nothing is left to wait for
    EXPECT_FALSE(loop.stopped()) << "who runs it next starts afresh";
  }
  {
    asio::io_context io(1);
    const AsioDriver driver(io, loop);
    asio::steady_timer of_asio(io, 5ms);
    of_asio.async_wait([&](const asio::error_code&) { loop.stop(); });
    io.run();  // though nothing of the loop's is ready
    EXPECT_FALSE(loop.stopped());
  }
  {
    asio::io_context io(1);
    auto driver = std::make_unique<AsioDriver>(io, loop);
    Timer ends(loop, [&] { driver.reset(); });  // inside of its own turn
    ends.start_once(1ms);
    io.run();
    EXPECT_EQ(driver, nullptr);
  }
  {
    asio::io_context io(1);
    const AsioDriver driver(io, loop);
    io.poll();  // and goes while a wait is under way
  }
  bool fired = false;
  Timer last(loop, [&] { fired = true; });
  last.start_once(1ms);
  while (!fired) loop.run_once(1s);
}

#else

TEST_P(InsideAsio, timers_a_tcp_server_and_sockets_share_one_thread) {
  GTEST_SKIP() << "there is no Asio here (libasio-dev)";
}

#endif

ON_EVERY_TRANSPORT(InsideAsio);

}  // namespace
}  // namespace netio::test
