// What the tests of cuts share. NETIO_TEST_CUTS says how often they cut (script/test --only cuts: a
// thousand times), and NETIO_TEST_SEED where the random numbers begin.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include <netio/netio.hpp>

#include "support/payload.hpp"
#include "support/pump.hpp"
#include "support/relay.hpp"
#include "support/sanitized.hpp"

namespace netio::test {

inline std::uint64_t number_in(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

inline std::uint64_t cuts_wanted() { return number_in("NETIO_TEST_CUTS", sanitized ? 20 : 60); }
inline std::uint64_t seed() {
  static const std::uint64_t one = number_in("NETIO_TEST_SEED", std::random_device{}());
  return one;
}

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

// What a socket keeps for its peers stays in its bounds: to be called all the time. A message in
// parts, and an open page, may come on top when a connection breaks.
inline void expect_bounded(const Socket& socket, std::size_t resume_bytes_max, std::size_t on_top) {
  for (const PeerSnapshot& peer : socket.peers()) {
    EXPECT_LE(peer.kept_bytes, resume_bytes_max + on_top) << peer.address;
  }
}

}  // namespace netio::test
