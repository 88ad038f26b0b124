// The fixture of the bad-input tests: one socket under attack, and a good peer of it that must be
// served before, during and after, its books exact.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <netio/netio.hpp>

#include "support/payload.hpp"
#include "support/pump.hpp"
#include "support/raw_tcp.hpp"
#include "support/seen.hpp"

namespace netio::test {

// Set by who is good; whatever else arrives is the attacker's.
inline constexpr std::uint64_t good_tag = 0x600d;

// The largest message that wary_options() allow, in bytes.
inline constexpr std::size_t wary_message_bytes_max = 1U << 20U;

// Limits short enough to be waited for.
[[nodiscard]] SocketOptions wary_options();
// The same with all the time to greet, where no test waits for the end of it: a busy machine is
// slow.
[[nodiscard]] SocketOptions wary_options_without_haste();
[[nodiscard]] ContextOptions wary_context();

// A Pull at `address()`, attacked by raw connections, while a Push sends to it.
class EvilSender : public testing::Test {
 protected:
  explicit EvilSender(const ContextOptions& attacked = wary_context());
  ~EvilSender() override { pump_.forget_checks(); }
  void SetUp() override;
  // Checks that the good sender still works, and that its books are exact.
  void TearDown() override;

  // Where to bind: any free port there.
  [[nodiscard]] virtual std::string place() const { return "tcp://127.0.0.1:0"; }
  [[nodiscard]] const std::string& address() const { return address_; }
  // What the pull received, in order.
  void take(const MessageView& message);
  // The good sender sends some messages, which arrive.
  void good_messages(int count = 20);
  // A stream that nobody has used yet in this test; those up to 199 are the test's to choose.
  [[nodiscard]] std::uint8_t fresh_stream() { return ++streams_; }
  // A raw connection that said a sound hello, was answered, and is up.
  RawTcp greeted(std::uint8_t stream);
  RawTcp greeted() { return greeted(fresh_stream()); }
  // Waits for the next on_down of the pull that is not about the good sender.
  const Seen::Gone& next_down();

  Context here_{wary_context()};
  Context there_;
  Pump pump_{&here_, &there_};
  Pull pull_{there_, wary_options()};
  Seen at_pull_{pull_};
  Push push_{here_, wary_options_without_haste()};
  Seen at_push_{push_};
  std::uint64_t good_received_ = 0;
  std::uint64_t good_wrong_ = 0;
  std::vector<Bytes> evil_received_;

 private:
  std::string address_;
  std::uint64_t good_sent_ = 0;
  std::size_t downs_seen_ = 0;
  std::uint8_t streams_ = 199;
};

// What an attacked Pull was sent goes on to another Pull, by a Push: that one must not pay for it.
struct SentOn {
  // The Push and the other Pull are connected.
  SentOn();
  // What is sent from now on waits behind others, until expect_taken().
  void hold();
  // All that was sent is taken, and nobody was cut off.
  void expect_taken();

  Context here{wary_context()};
  Context there{wary_context()};
  Pump pump{&here, &there};
  Pull pull{here, wary_options()};  // the attacked one
  Push onwards{here, wary_options()};
  Pull last{there, wary_options()};
  Seen at_pull{pull};
  Seen at_last{last};
  std::size_t last_bytes = 0;  // of the latest message that the other Pull received
};

// A Push at `address()`, attacked by raw receivers, while a Pull receives from it.
class EvilReceiver : public testing::Test {
 protected:
  explicit EvilReceiver(Mode mode = Mode::buffered);
  ~EvilReceiver() override { pump_.forget_checks(); }
  void SetUp() override;
  void TearDown() override;

  [[nodiscard]] virtual std::string place() const { return "tcp://127.0.0.1:0"; }
  [[nodiscard]] const std::string& address() const { return address_; }
  // Sends until that many more messages have reached the good receiver.
  void good_messages(std::uint64_t count = 20);
  [[nodiscard]] std::uint8_t fresh_stream() { return ++streams_; }
  RawTcp greeted(std::uint8_t stream);
  RawTcp greeted() { return greeted(fresh_stream()); }
  const Seen::Gone& next_down();
  // The push connects to a server that answers its hello with these bytes; what the push is told.
  Seen::Gone told_of_answer(std::span<const std::byte> answer);

  Context here_{wary_context()};
  Context there_{wary_context()};
  Pump pump_{&here_, &there_};
  Push push_;
  Seen at_push_{push_};
  Pull pull_{there_, wary_options()};
  Seen at_pull_{pull_};
  std::uint64_t good_received_ = 0;
  std::uint64_t sent_ = 0;  // by the push, whoever got it

 private:
  std::string address_;
  std::size_t downs_seen_ = 0;
  std::uint8_t streams_ = 199;
};

// Pieces of pages, and whole ones, as bytes on the wire.
[[nodiscard]] Bytes all(std::initializer_list<Bytes> pieces);
[[nodiscard]] Bytes word(std::uint64_t value);
[[nodiscard]] Bytes frame_word(std::uint32_t size, std::uint32_t flags = 0);
[[nodiscard]] Bytes page(const Bytes& body, std::uint32_t messages, std::uint64_t sequence = 0,
                         std::uint16_t flags = 0);

// Reasons are for people: a sentence, not a number.
[[nodiscard]] testing::AssertionResult is_readable(const Down& down);

}  // namespace netio::test
