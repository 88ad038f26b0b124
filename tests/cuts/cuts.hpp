// What the tests of cuts share. NETIO_TEST_CUTS says how often they cut (with script/soak more
// often), and NETIO_TEST_SEED where the random numbers begin.
#pragma once

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include <netio/netio.hpp>

#include "support/environment.hpp"
#include "support/payload.hpp"
#include "support/pump.hpp"
#include "support/relay.hpp"
#include "support/sanitized.hpp"

namespace netio::test {

inline std::uint64_t cuts_wanted() { return number_in("NETIO_TEST_CUTS", sanitized ? 20 : 60); }

inline double percent(std::uint64_t part, std::uint64_t whole) {
  return whole != 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

inline ContextOptions context_options() {
  ContextOptions options;
  options.send_pool_bytes = std::size_t{16} << 20U;
  options.receive_pool_bytes = std::size_t{16} << 20U;
  return options;
}

// Where the connection comes back as fast as it can.
inline SocketOptions resuming(Mode mode, std::size_t resume_bytes_max = std::size_t{4} << 20U) {
  SocketOptions options;
  options.mode = mode;
  options.resume_bytes_max = resume_bytes_max;
  options.reconnect_after_min = std::chrono::milliseconds(1);
  options.reconnect_after_max = std::chrono::milliseconds(10);
  return options;
}

// The fixture of tests whose case names the scheme of the connections: those that a relay carries,
// which knows nothing of netio.
template <typename Case>
class OverARelay : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (fabric() && !fabrics_built()) GTEST_SKIP() << "netio was built without libfabric";
  }
  [[nodiscard]] bool fabric() const { return std::string(what_.scheme) != "tcp://"; }
  [[nodiscard]] std::string through(const Relay& relay) const {
    const std::string address = relay.address();
    return what_.scheme + address.substr(address.find("//") + 2);
  }

  const Case& what_ = this->GetParam();
};

// What a socket keeps for its peers stays in its bounds: to be called all the time. A message in
// parts, and an open page, may come on top when a connection breaks.
inline void expect_bounded(const Socket& socket, std::size_t resume_bytes_max, std::size_t on_top) {
  for (const PeerSnapshot& peer : socket.peers()) {
    EXPECT_LE(peer.kept_bytes, resume_bytes_max + on_top) << peer.address;
  }
}

}  // namespace netio::test
