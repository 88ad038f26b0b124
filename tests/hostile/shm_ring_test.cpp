// A peer in shared memory that sleeps again and again, and never hears that it is rung for: the
// side that rings does not wait for it.
#include <fcntl.h>
#include <sys/socket.h>

#include "conformance/evil.hpp"
#include "support/raw_shm.hpp"

namespace netio::test {
namespace {

using detail::ShmBoard;
using detail::WirePattern;

class DeafShmPeer : public EvilSender {
 protected:
  [[nodiscard]] std::string place() const override { return "shm://*"; }

 private:
};

TEST_F(DeafShmPeer, that_reads_no_ring_stops_nobody) {
  constexpr std::uint64_t sleeps = 1500;  // a socket holds some 280 rings
  RawShm raw(address());
  ASSERT_TRUE(raw.greet(hello_of(sound_hello(WirePattern::push, 66))));
  ASSERT_SOON(pump_, raw.answered());
  const int flags = ::fcntl(raw.fd(), F_GETFL);
  ASSERT_EQ(::fcntl(raw.fd(), F_SETFL, flags & ~O_NONBLOCK), 0);
  std::uint32_t sleep = ShmBoard::asleep | ShmBoard::wants_room;
  for (std::uint64_t i = 0; i < sleeps; ++i) {
    raw.ours().sleep.store(sleep += ShmBoard::next_sleep);
    raw.post(message_page(i, Bytes(24)));
    ASSERT_SOON(pump_, evil_received_.size() == i + 1);
  }
  good_messages(300);
  std::uint64_t rings = 0;
  std::byte byte{};
  while (::recv(raw.fd(), &byte, 1, MSG_DONTWAIT) == 1) ++rings;
  EXPECT_GT(rings, 10U);
  EXPECT_LT(rings, sleeps) << "the socket was never full: nothing was shown";
  // It can be rung for again.
  raw.ours().sleep.store(sleep += ShmBoard::next_sleep);
  raw.post(message_page(sleeps, Bytes(24)));
  ASSERT_SOON(pump_, evil_received_.size() == sleeps + 1);
  ASSERT_SOON(pump_, ::recv(raw.fd(), &byte, 1, MSG_DONTWAIT) == 1);
  EXPECT_TRUE(at_pull_.downs.empty()) << at_pull_.why();
  ASSERT_EQ(::fcntl(raw.fd(), F_SETFL, flags), 0);
}

}  // namespace
}  // namespace netio::test
