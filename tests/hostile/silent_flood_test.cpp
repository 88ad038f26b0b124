// Connections that say nothing, renewed as fast as they are ended: they keep no newcomer out, and
// take nothing from those who are connected.
#include <algorithm>
#include <fcntl.h>
#include <memory>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/url.hpp"
#include "conformance/conformance.hpp"
#include "support/payload.hpp"
#include "support/raw_tcp.hpp"
#include "support/seen.hpp"
#include "transport/shm/unix_socket.hpp"
#include "transport/transport.hpp"
#ifdef NETIO_WITH_FABRIC
#include "support/raw_fabric.hpp"
#endif

namespace netio::test {
namespace {

using detail::FileDescriptor;

// As far as the kernel connects it, and without a wait.
FileDescriptor connect_silently(const std::string& address) {
  if (!address.starts_with("tcp") && !address.starts_with("netio")) {
    const auto to = detail::UnixAddress::of("connect", detail::parse_address(address));
    FileDescriptor fd = detail::make_unix_socket();
    (void)::connect(fd.get(), to.get(), to.bytes);
    return fd;
  }
  const sockaddr_in to = endpoint_of(address);
  FileDescriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  (void)::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
  return fd;
}

class Flood {
 public:
  Flood(std::string address, std::size_t count) : address_(std::move(address)) {
    for (std::size_t i = 0; i < count; ++i) {
      silent_.push_back(connect_silently(address_));
      ended_.push_back({silent_.back().get(), POLLIN, 0});
    }
  }
  // Each that was ended comes back.
  void renew() {
    if (::poll(ended_.data(), ended_.size(), 0) <= 0) return;
    for (std::size_t i = 0; i < ended_.size(); ++i) {
      if (ended_[i].revents == 0) continue;
      silent_[i] = connect_silently(address_);
      ended_[i].fd = silent_[i].get();
    }
  }

 private:
  std::string address_;
  std::vector<FileDescriptor> silent_;
  std::vector<pollfd> ended_;
};

class SilentFlood : public Conformance {
 protected:
  // Nobody is ended for its time alone.
  [[nodiscard]] SocketOptions patient() const {
    SocketOptions patient = options();
    patient.handshake_within = 600s;
    return patient;
  }
};

TEST_P(SilentFlood, keeps_no_newcomer_out_and_takes_nothing_from_those_who_are_connected) {
  Pull pull(there_, patient());
  Seen at_pull(pull);
  std::uint64_t received = 0;
  pull.on_message([&](const MessageView&) { ++received; });
  const std::string address = bind(pull);
  Push before(here_, options());
  Seen at_before(before);
  before.connect(address);
  ASSERT_SOON(pump_, before.peers_connected() == 1 && pull.peers_connected() == 1);

  // Not more than the kernel lets wait: who connects is behind all of them, and no further.
  Flood flood(address, 900);
  pump_.after_each_turn([&] { flood.renew(); });
  Push late(here_, [this] {
    SocketOptions impatient = options();
    impatient.handshake_within = 2s;
    return impatient;
  }());
  late.connect(address);
  std::uint64_t sent = 0;
  const Bytes message = payload(0, 500);
  ASSERT_SOON(pump_, [&] {
    if (sent < 20'000 && before.send(message) == Status::ok) ++sent;
    return late.peers_connected() == 1;
  }());
  ASSERT_EQ(late.send(message), Status::ok);
  ++sent;
  ASSERT_SOON(pump_, received == sent && before.books().unsettled() == 0);
  // They came back again and again meanwhile.
  ASSERT_SOON(pump_, pull.counters().rejected > 2000);
  EXPECT_EQ(pull.peers_connected(), 2U);
  EXPECT_TRUE(at_before.downs.empty()) << at_before.why();
  EXPECT_EQ(before.books().acknowledged + late.books().acknowledged, sent);
  EXPECT_EQ(at_pull.downs.size(), pull.counters().rejected) << "each is told";
  EXPECT_EQ(at_pull.downs.front().down.reason, DownReason::handshake_timeout);
  EXPECT_NE(at_pull.downs.front().down.detail.find("sent no hello while others were waiting"),
            std::string::npos);
  pump_.forget_checks();
}

// Those that keep nobody out are left alone.
TEST_P(SilentFlood, of_fewer_than_are_let_in_is_left_alone) {
  Pull pull(there_, patient());
  const std::string address = bind(pull);
  // The one that greets is one more, and with netio:// it tries another wire beside the first.
  Flood flood(address, options().half_open_max - (GetParam().name == "netio" ? 2 : 1));
  pump_.run_for(30ms);  // they have had their time to begin
  Push push(here_, options());
  push.connect(address);
  ASSERT_SOON(pump_, push.peers_connected() == 1);
  pump_.run_for(30ms);
  EXPECT_EQ(pull.counters().rejected, 0U);
}

TEST_P(SilentFlood, may_be_closed_by_whom_it_told) {
  auto pull = std::make_unique<Pull>(there_, patient());
  const std::string address = bind(*pull);
  int told = 0;
  pull->on_down([&](const PeerInfo&, const Down&) {
    if (++told == 100) pull.reset();
  });
  Flood flood(address, 300);
  ASSERT_SOON(pump_, pull == nullptr);
  EXPECT_EQ(told, 100);
}

// Its hello comes in two parts, with several rounds of the flood in between.
TEST(SilentFloodOnTcp, ends_no_greeting_that_goes_on) {
  Context context(small_context());
  Pump pump{&context};
  SocketOptions few;
  few.handshake_within = 600s;
  few.half_open_max = 4;
  Pull pull(context, few);
  const std::string address = pull.bind("tcp://127.0.0.1:0");
  Flood flood(address, 100);
  pump.after_each_turn([&] { flood.renew(); });
  const Bytes hello = hello_of(sound_hello(detail::WirePattern::push, 7));
  // A machine that is too slow for a part of a second gets another chance.
  ASSERT_SOON(pump, [&] {
    RawTcp raw = RawTcp::connect(address);
    raw.send(std::span(hello).first(20));
    const std::uint64_t ended = pull.counters().rejected;
    EXPECT_SOON(pump, pull.counters().rejected >= ended + 120 || raw.ended());
    raw.send(std::span(hello).subspan(20));
    EXPECT_SOON(pump, raw.ended() || raw.received().size() >= detail::hello_fixed_bytes);
    return raw.received().size() >= detail::hello_fixed_bytes;
  }());
  pump.forget_checks();
}

#ifdef NETIO_WITH_FABRIC
TEST(SilentFloodOnFabric, gives_way_to_a_newcomer) {
  Context here(small_context());
  Context there(small_context());
  Pump pump{&here, &there};
  SocketOptions few;
  few.handshake_within = 600s;
  few.half_open_max = 4;
  Pull pull(there, few);
  Seen at_pull(pull);
  const std::string address = pull.bind("ofi+tcp://127.0.0.1:0");
  std::vector<std::unique_ptr<RawFabric>> silent;
  for (int i = 0; i < 12; ++i) silent.push_back(std::make_unique<RawFabric>(address));
  pump.after_each_turn([&] {
    for (const auto& each : silent) each->turn();
  });
  Push late(here);
  late.connect(address);
  ASSERT_SOON(pump, late.peers_connected() == 1 && pull.counters().rejected >= 8);
  pump.run_for(30ms);
  // Until it is up, the newcomer counts too, and may take the place of one more.
  EXPECT_LE(pull.counters().rejected, 9U) << at_pull.why();
  EXPECT_EQ(at_pull.downs.front().down.reason, DownReason::handshake_timeout);
  pump.forget_checks();
}
#endif

std::vector<Row> listening_at_the_kernel() {
  std::vector<Row> rows = every_mode();
  std::erase_if(rows, [](const Row& row) {
    return row.address.starts_with("ofi") || row.address.starts_with("verbs");
  });
  return rows;
}

INSTANTIATE_TEST_SUITE_P(on, SilentFlood, testing::ValuesIn(listening_at_the_kernel()), row_name);

}  // namespace
}  // namespace netio::test
