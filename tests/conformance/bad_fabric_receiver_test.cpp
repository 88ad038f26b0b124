// What a receiver on a fabric can do to a sender: fetches and grants that make no sense, and
// answers to its hello.
#ifdef NETIO_WITH_FABRIC

#include <optional>
#include <string_view>
#include <thread>

#include "conformance/bad_fabric.hpp"
#include "support/region_leaks.hpp"
#include "wire/frame.hpp"

namespace netio::test {
namespace {

using detail::Hello;
using detail::MemoryRegion;
using detail::WirePattern;

class BadFabricReceiver : private NoRegionLeaks, public EvilReceiver {
 protected:
  [[nodiscard]] std::string place() const override { return "ofi+tcp://127.0.0.1:0"; }
  RawFabricPtr met(std::uint8_t session = 66, std::uint32_t posted = receives) {
    RawFabricPtr raw = std::make_unique<RawFabric>(address());
    EXPECT_SOON(pump_, raw->connected());
    const std::size_t ups = at_push_.ups.size();
    Hello hello = fabric_hello(WirePattern::pull, session);
    hello.receives = posted;
    raw->send(hello_of(hello));
    EXPECT_SOON(pump_, raw->received().size() == 1);
    raw->send(confirm_page(hello_in(raw->received().front()).nonce));
    EXPECT_SOON(pump_, bodies(*raw) == 1 && at_push_.ups.size() == ups + 1);
    return raw;
  }
  Down down_of(RawFabric& raw) {
    const std::size_t downs = at_push_.downs.size();
    EXPECT_SOON(pump_, (raw.turn(), at_push_.downs.size() > downs));
    return next_down().down;
  }
};

TEST_F(BadFabricReceiver, that_fetched_more_than_was_lent_is_refused) {
  const Bytes memory = payload(0, 300'000);
  std::uint64_t released = 0;
  push_.on_released([&](std::uint64_t) { ++released; });
  const RawFabricPtr raw = met();
  const std::size_t live = MemoryRegion::live();
  std::uint64_t lent = 0;
  ASSERT_SOON(pump_, push_.lend(memory, 1) == Status::ok && ++lent == 6);
  sent_ += lent;
  raw->send(grant(0, 60));
  const Down down = down_of(*raw);
  EXPECT_EQ(down.reason, DownReason::protocol_error) << down.detail;
  EXPECT_SOON(pump_, released == lent);
  EXPECT_LE(MemoryRegion::live(), live + lent);
}

TEST_F(BadFabricReceiver, that_fetched_what_it_was_not_told_of_is_refused) {
  const Bytes memory = payload(0, 300'000);
  std::uint64_t released = 0;
  push_.on_released([&](std::uint64_t) { ++released; });
  const RawFabricPtr raw = met(66, 4);  // one is for its position
  std::uint64_t lent = 0;
  ASSERT_SOON(pump_, push_.lend(memory, 1) == Status::ok && ++lent == 6);
  sent_ += lent;
  ASSERT_SOON(pump_, bodies(*raw) > 1);
  raw->send(grant(0, 2));
  const Down down = down_of(*raw);
  EXPECT_EQ(down.reason, DownReason::protocol_error) << down.detail;
  EXPECT_SOON(pump_, released == lent);  // by the other as well: the memory ends here
}

TEST_F(BadFabricReceiver, that_never_fetches_holds_nothing_once_it_is_gone) {
  const Bytes memory = payload(0, 300'000);
  std::uint64_t released = 0;
  push_.on_released([&](std::uint64_t) { ++released; });
  RawFabricPtr raw = met();
  std::uint64_t lent = 0;
  ASSERT_SOON(pump_, push_.lend(memory, 1) == Status::ok && ++lent == 6);
  sent_ += lent;
  EXPECT_SOON(pump_, bodies(*raw) > 1);
  pump_.run_for(20ms);
  EXPECT_LT(released, lent);
  raw.reset();
  EXPECT_SOON(pump_, released == lent);
  EXPECT_SOON(pump_, push_.peers_connected() == 1);
}

// A good-bye that waits for credits behind messages must not keep the peer from its own.
TEST_F(BadFabricReceiver, that_grants_late_is_granted_what_it_needs_to) {
  Pair pair(here_, wary_options());
  const RawFabricPtr raw = std::make_unique<RawFabric>(pair.bind(place()));
  EXPECT_SOON(pump_, raw->connected());
  Hello hello = fabric_hello(WirePattern::pair, 67);
  hello.receives = 4;
  raw->send(hello_of(hello));
  ASSERT_SOON(pump_, raw->received().size() == 1);
  raw->send(confirm_page(hello_in(raw->received().front()).nonce));
  ASSERT_SOON(pump_, bodies(*raw) == 1 && pair.peers_connected() == 1);
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_EQ(pair.send(payload(i, 40'000)), Status::ok);
  pair.close(20s);
  ASSERT_SOON(pump_, bodies(*raw) > 1);
  const std::size_t before = raw->received().size();
  for (std::uint64_t i = 0; i < 2; ++i) raw->send(page(frame_word(0), 1, i));
  const auto granted = [&] {
    std::size_t credits = 0;
    for (std::size_t i = before; i < raw->received().size(); ++i) {
      credits += detail::load_page_header(raw->received()[i].data()).credits;
    }
    return credits;
  };
  EXPECT_SOON(pump_, granted() >= 2);
  pair.close(0s);
}

TEST_F(BadFabricReceiver, that_accepted_while_this_thread_stood_still_was_not_late) {
  SocketOptions impatient = wary_options();
  impatient.handshake_within = 1s;
  RawFabricListener server;
  Push push(here_, impatient);
  Seen at_push(push);
  push.connect(server.address());
  RawFabricPtr raw;
  ASSERT_SOON(pump_, (raw = server.accept()) != nullptr);
  raw->turn();
  std::this_thread::sleep_for(1100ms);
  EXPECT_SOON(pump_, !raw->received().empty() || !at_push.downs.empty());
  EXPECT_TRUE(at_push.downs.empty()) << at_push.why();
}

TEST_F(BadFabricReceiver, whose_answer_to_a_hello_is_wrong_is_told_of) {
  SocketOptions patient = wary_options();
  patient.handshake_within = 20s;  // what is told of is the answer, not that it took long
  Hello few = fabric_hello(WirePattern::pull, 9);
  few.receives = 2;
  const std::string_view http = "HTTP/1.1 200 OK\r\n\r\n";
  const Bytes hello = hello_of(fabric_hello(WirePattern::pull, 9));
  const Bytes text(reinterpret_cast<const std::byte*>(http.data()),
                   reinterpret_cast<const std::byte*>(http.data()) + http.size());
  for (const Bytes& answer :
       {hello_of(few), text, Bytes(hello.begin(), hello.begin() + 40), Bytes()}) {
    SCOPED_TRACE(answer.size());
    RawFabricListener server;
    Push push(here_, patient);
    Seen at_push(push);
    push.connect(server.address());
    RawFabricPtr raw;
    bool answered = false;
    ASSERT_SOON(pump_, [&] {
      if (!raw) raw = server.accept();
      if (raw && !answered && !raw->received().empty()) answered = raw->send(answer);
      return !at_push.downs.empty();
    }());
    EXPECT_TRUE(answered) << at_push.why();
    EXPECT_TRUE(is_readable(at_push.downs[0].down));
    EXPECT_NE(at_push.downs[0].down.reason, DownReason::lost) << at_push.why();
    good_messages(3);
  }
}

}  // namespace
}  // namespace netio::test

#endif
