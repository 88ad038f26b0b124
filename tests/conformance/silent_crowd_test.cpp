// Many receivers that never read, and one that does: they may not hold all pages there are.
#include <sys/socket.h>
#include <vector>

#include "conformance/conformance.hpp"
#include "support/raw_tcp.hpp"

namespace netio::test {
namespace {

class SilentCrowd : public Conformance {
 protected:
  // A receiver that greets and then takes no more than a small kernel buffer holds.
  RawTcp silent(const std::string& address, std::uint8_t session) {
    RawTcp raw = RawTcp::connect(address);
    const int bytes = 4096;
    (void)::setsockopt(raw.fd(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    raw.send(hello_of(sound_hello(detail::WirePattern::pull, session)));
    EXPECT_SOON(pump_, hello_in(raw.received()).nonce != 0);
    raw.confirm();
    return raw;
  }
};

TEST_P(SilentCrowd, of_forty_leaves_pages_for_who_reads) {
  Push push(here_, options());
  const std::string address = push.bind("tcp://127.0.0.1:0");
  // They come one after the other, so that the first could take what the last would need.
  std::vector<RawTcp> crowd;
  const Bytes message = payload(0, 1500);
  for (std::uint8_t i = 1; i <= 40; ++i) {
    crowd.push_back(silent(address, i));
    ASSERT_SOON(pump_, push.peers_connected() == i);
    for (int refused = 0; refused < 3;) {
      if (push.send(message) == Status::ok) continue;
      ++refused;
      pump_.turn();
    }
  }
  const std::uint64_t taken = push.books().sent;
  EXPECT_GT(taken, 0U);

  Pull pull(there_, options());
  std::uint64_t received = 0;
  pull.on_message([&](const MessageView&) { ++received; });
  pull.connect(address);
  ASSERT_SOON(pump_, push.peers_connected() == 41);
  constexpr std::uint64_t wanted = 5000;
  ASSERT_SOON(pump_, [&] {
    while (received < wanted && push.send(message) == Status::ok) {
    }
    return received >= wanted;
  }());
  EXPECT_EQ(push.counters().disconnects, 0U);
}

ON_TCP_IN_EVERY_MODE(SilentCrowd);

}  // namespace
}  // namespace netio::test
