// A receiver in C is told which messages were lost with a connection.
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include <netio.h>
#include <netio/context.hpp>
#include <netio/push.hpp>

#include "support/pump.hpp"
#include "support/relay.hpp"

namespace netio::c_api {
namespace {

struct Told {
  std::uint64_t messages = 0;
  std::uint64_t gaps = 0;
  netio_gap last{};
};

TEST(GapInC, tells_what_a_connection_lost) {
  netio_context here{};
  netio_recv_socket pull{};
  Told told;
  ASSERT_EQ(netio_init(&here), NETIO_OK);
  ASSERT_EQ(netio_recv_socket_init(&here, &pull, nullptr), NETIO_OK);
  pull.socket.data = &told;
  pull.socket.cb_msg_received = [](netio_socket* own, const netio_message*) {
    ++static_cast<Told*>(own->data)->messages;
  };
  pull.socket.cb_gap = [](netio_socket* own, const netio_peer*, const netio_gap* gap) {
    auto* const at = static_cast<Told*>(own->data);
    ++at->gaps;
    at->last = *gap;
  };
  ASSERT_EQ(netio_listen(&pull.socket, "tcp://127.0.0.1:0"), NETIO_OK);
  test::Relay relay(netio_address(&pull.socket));
  Context there;
  Push push(there);
  push.connect(relay.address());
  test::Pump pump{&there};
  pump.after_each_turn([&] { (void)netio_run_once(&here.evloop, 0); });
  ASSERT_SOON(pump, push.send("arrives", 7) == Status::ok);
  ASSERT_SOON(pump, told.messages == 1 && push.books().acknowledged == 1);
  relay.hold(true);
  ASSERT_EQ(push.send("is lost", 7), Status::ok);
  push.flush();
  pump.turns(3);
  relay.cut();
  relay.hold(false);
  ASSERT_SOON(pump, told.gaps == 1);
  EXPECT_EQ(told.last.first, 1U);
  EXPECT_EQ(told.last.count, 1U);
  EXPECT_EQ(told.last.reason, NETIO_DROP_CONNECTION_LOST);
  EXPECT_EQ(netio_socket_free(&pull.socket), NETIO_OK);
  EXPECT_EQ(netio_context_free(&here), NETIO_OK);
}

}  // namespace
}  // namespace netio::c_api
