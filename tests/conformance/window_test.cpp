// ?window=N of a fabric's address: as many receives as there is memory for, and no more.
#ifdef NETIO_WITH_FABRIC

#include "conformance/evil.hpp"
#include "support/raw_fabric.hpp"

namespace netio::test {
namespace {

using detail::Hello;

TEST(Window, that_the_memory_does_not_have_is_what_there_is) {
  Context context;
  Pump pump{&context};
  Pull pull(context);
  Seen at_pull(pull);
  const std::string address = pull.bind("ofi+tcp://127.0.0.1:0?window=1024");
  RawFabric first(address.substr(0, address.find('?')));
  ASSERT_SOON(pump, first.connected());
  Hello hello = sound_hello(detail::WirePattern::push);
  hello.receives = 64;
  hello.receive_bytes = hello.page_bytes_max;
  first.send(hello_of(hello));
  ASSERT_SOON(pump, first.received().size() == 1);
  Hello answer;
  ASSERT_EQ(parse(first.received().front(), answer).state, detail::HelloParse::done);
  // Pages of 68 KiB in receive_bytes_max; one was for the hello.
  EXPECT_EQ(answer.receives, SocketOptions().receive_bytes_max / (68U << 10U) - 1);
  first.send(confirm_page(answer.nonce));
  ASSERT_SOON(pump, (first.turn(), pull.peers_connected() == 1));

  RawFabric second(address.substr(0, address.find('?')));
  ASSERT_SOON(pump, (second.turn(), at_pull.was_down_for(DownReason::resources)));
  EXPECT_EQ(pull.peers_connected(), 1U);
}

}  // namespace
}  // namespace netio::test

#endif
