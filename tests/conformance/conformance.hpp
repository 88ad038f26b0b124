// The rows the conformance suite runs on, one per transport, and the fixture of its tests: two
// contexts turned alternately on one thread. A new transport adds a row here and no test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <netio/netio.hpp>

#include "support/payload.hpp"
#include "support/pump.hpp"
#include "support/seen.hpp"

namespace netio::test {

struct Row {
  std::string name;
  std::string address;          // to bind: any free place there
  std::string (*why_absent)();  // empty if the transport works on this machine
  bool spelling = false;        // of an address of the transport before it
  bool one_mode = false;        // has no pages, and buffers nothing
  bool two_modes = false;       // buffered with the usual pages, and not with the smallest
  bool takes_much = false;      // more than a sender queues, though the receiver does not read
  Mode mode = Mode::buffered;
  std::size_t page_bytes = 64U << 10U;
  // What a connection needs at least to receive into; 0 where the wire needs nothing in advance.
  std::size_t pages_per_connection = 0;
  // The receiver reads a message where the sender put it, however large.
  bool read_in_place = false;
};
void PrintTo(const Row& row, std::ostream* out);

// One row per transport.
[[nodiscard]] std::vector<Row> every_transport();
// Every transport, buffered and not, with the smallest pages and with the usual ones.
[[nodiscard]] std::vector<Row> every_mode();
// Those, and other spellings of addresses, once each: they differ until a connection is up.
[[nodiscard]] std::vector<Row> every_mode_and_spelling();
// The rows of every_mode() whose connections a Relay can carry: one TCP row in all its modes.
[[nodiscard]] std::vector<Row> every_mode_of_tcp();
[[nodiscard]] std::string row_name(const testing::TestParamInfo<Row>& info);

// Small pools: there are thousands of tests, and each faults in the memory of its contexts.
constexpr std::size_t small_pool_bytes = 4U << 20U;
// For what a user keeps, in pages of 64 KiB, until the sender is full.
constexpr std::size_t roomy_pool_bytes = 8U << 20U;
[[nodiscard]] ContextOptions small_context(std::size_t page_bytes = 64U << 10U,
                                           std::size_t pool_bytes = small_pool_bytes);
[[nodiscard]] ContextOptions small_context(const Row& row,
                                           std::size_t pool_bytes = small_pool_bytes);

class Conformance : public testing::TestWithParam<Row> {
 protected:
  // Contexts whose pools have so many bytes, or more where the row's connections need more.
  explicit Conformance(std::size_t pool_bytes = small_pool_bytes);
  void SetUp() override;

  // Binds at any free address and returns where to connect to.
  std::string bind(Socket& socket) const;
  // Binds one, connects the other, and returns when both are up.
  void join(Socket& bound, Socket& connecting);

  // Sends, turning the loops as long as the answer is again or not_connected.
  Status send(Sending& socket, std::span<const std::byte> message, std::uint64_t tag = 0);
  // Sends payload(number, size) for all numbers in [first, last).
  void send_numbered(Sending& socket, std::uint64_t first, std::uint64_t last,
                     const std::function<std::size_t(std::uint64_t)>& size_of);
  // Calls `send` with 0, 1, ... until it answers again and nothing moves any more: how many it
  // took.
  std::uint64_t count_until_again(const std::function<Status(std::uint64_t)>& send);
  // The same with messages of `size`.
  std::uint64_t send_until_again(Sending& socket, std::size_t size);
  // Nothing is in doubt any more.
  void settle(const Socket& socket);

  [[nodiscard]] SocketOptions options() const;  // of the row's mode, else the defaults
  // These, but a connection that breaks comes back soon.
  static SocketOptions eager(SocketOptions options);
  [[nodiscard]] SocketOptions eager() const { return eager(options()); }
  // What is sent waits in its page until it is flushed or the socket closes.
  static SocketOptions patient(SocketOptions options);
  [[nodiscard]] SocketOptions patient() const { return patient(options()); }
  // The same as eager(), of a socket that keeps what is not acknowledged.
  [[nodiscard]] SocketOptions keeping(std::size_t resume_bytes_max = std::size_t{1} << 20U) const;
  // Small messages, some that are split or lent, and some that fill a page.
  static std::size_t size_of(std::uint64_t number);

  Context here_;   // senders, where a test has one of each
  Context there_;  // receivers
  Pump pump_;
};

}  // namespace netio::test

#define ON_EVERY_TRANSPORT(Suite)                                                        \
  INSTANTIATE_TEST_SUITE_P(on, Suite, testing::ValuesIn(netio::test::every_transport()), \
                           netio::test::row_name)
#define ON_EVERY_TRANSPORT_AND_MODE(Suite)                                          \
  INSTANTIATE_TEST_SUITE_P(on, Suite, testing::ValuesIn(netio::test::every_mode()), \
                           netio::test::row_name)
#define ON_EVERY_TRANSPORT_MODE_AND_SPELLING(Suite)                                              \
  INSTANTIATE_TEST_SUITE_P(on, Suite, testing::ValuesIn(netio::test::every_mode_and_spelling()), \
                           netio::test::row_name)
#define ON_TCP_IN_EVERY_MODE(Suite)                                                        \
  INSTANTIATE_TEST_SUITE_P(on, Suite, testing::ValuesIn(netio::test::every_mode_of_tcp()), \
                           netio::test::row_name)
