// A netio loop inside Boost.Asio's io_context, in the program that has standalone Asio as well
// (asio_test.cpp): a translation unit of its own.
#if __has_include(<boost/asio/steady_timer.hpp>)
#include <boost/asio/steady_timer.hpp>
#define NETIO_BOOST_ASIO
#include <netio/asio.hpp>
#endif

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class InsideBoostAsio : public Conformance {};

TEST_P(InsideBoostAsio, sockets_run_beside_a_timer_of_boosts) {
#if __has_include(<boost/asio/steady_timer.hpp>)
  boost::asio::io_context io(1);
  Pair left(here_, options());
  Pair right(there_, options());
  int rounds = 0;
  right.on_message(
      [&](const MessageView& message) { EXPECT_EQ(right.send(message.bytes()), Status::ok); });
  left.on_message([&](const MessageView&) { ++rounds; });
  left.on_writable([&] { EXPECT_EQ(left.send("ping"), Status::ok); });
  boost::asio::steady_timer often(io);
  int ticks = 0;
  const std::function<void(const boost::system::error_code&)> tick =
      [&](const boost::system::error_code& error) {
        if (error) return;
        if (++ticks < 5 || rounds == 0) {
          often.expires_after(1ms);
          return often.async_wait(tick);
        }
        here_.stop();
        there_.stop();
      };
  tick({});
  const AsioDriver drives_here(io, here_);
  const AsioDriver drives_there(io, there_);
  EXPECT_EQ(left.send("early"), Status::not_connected);
  right.connect(bind(left));
  io.run_for(soon_max);
  EXPECT_TRUE(io.stopped()) << "it has nothing left to do once both loops were stopped";
  EXPECT_EQ(rounds, 1);
  EXPECT_GE(ticks, 5);
#else
  GTEST_SKIP() << "there is no Boost.Asio here (libboost-dev)";
#endif
}

ON_EVERY_TRANSPORT(InsideBoostAsio);

}  // namespace
}  // namespace netio::test
