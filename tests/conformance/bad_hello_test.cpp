// Hellos that cannot be accepted: another version, a pattern that does not pair, damaged sizes.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "conformance/evil.hpp"

namespace netio::test {
namespace {

using detail::Hello;
using detail::WirePattern;

constexpr std::size_t hello_size_at = 8;  // docs/wire: the length field, u32

class BadHello : public EvilSender {
 protected:
  // Sends these bytes as a hello; what the pull was told, and what the sender was answered.
  Seen::Gone told_of(const Bytes& hello) {
    RawTcp raw = RawTcp::connect(address());
    raw.send(hello);
    Seen::Gone gone = next_down();
    EXPECT_TRUE(is_readable(gone.down));
    EXPECT_FALSE(gone.peer.retrying);
    EXPECT_SOON(pump_, raw.ended());
    answer_ = raw.received();
    return gone;
  }
  // The answer as a hello; nothing if it was none.
  [[nodiscard]] std::optional<Hello> answer() const {
    Hello hello;
    if (detail::parse(answer_, hello).state != detail::HelloParse::done) return std::nullopt;
    return hello;
  }
  // A sound hello, in whatever pieces it was sent: its sender goes on with the greeting.
  void expect_accepted(RawTcp& raw) {
    ASSERT_SOON(pump_, hello_in(raw.received()).nonce != 0);
    raw.confirm();
    ASSERT_SOON(pump_, pull_.peers_connected() == 2);
  }
  static Bytes with_size(Bytes hello, std::uint32_t size) {
    std::memcpy(hello.data() + hello_size_at, &size, sizeof size);
    return hello;
  }

  Bytes answer_;
};

TEST_F(BadHello, of_another_version_is_refused_with_a_reason_at_both_ends) {
  Hello hello = sound_hello(WirePattern::push, 5);
  hello.version_min = 7;
  hello.version_max = 9;
  const Seen::Gone gone = told_of(hello_of(hello));
  EXPECT_EQ(gone.down.reason, DownReason::version_mismatch) << gone.down.detail;
  EXPECT_NE(gone.down.detail.find('7'), std::string::npos) << gone.down.detail;
  ASSERT_TRUE(answer().has_value());
  EXPECT_EQ(answer()->refusal, detail::Refusal::version);
  EXPECT_FALSE(answer()->text.empty());
}

// The hello of version 1, as its last release sends it: 80 bytes, no entries.
TEST_F(BadHello, of_version_1_is_refused_with_a_reason_at_both_ends) {
  Bytes hello = hello_of(sound_hello(WirePattern::push, 5));
  hello.resize(80);
  hello = with_size(std::move(hello), 80);
  const std::array<std::uint16_t, 2> one = {1, 1};
  std::memcpy(hello.data() + 12, one.data(), sizeof one);
  std::fill(hello.begin() + 32, hello.end(), std::byte{0xff});
  const Seen::Gone gone = told_of(hello);
  EXPECT_EQ(gone.down.reason, DownReason::version_mismatch) << gone.down.detail;
  for (const char* const words : {"wire version 2 is spoken here, 1 there", "the same release"}) {
    EXPECT_NE(gone.down.detail.find(words), std::string::npos) << gone.down.detail;
  }
  // Which version 1 reads as far as it has to: the first 20 bytes, and the text among the entries
  // only in its own version.
  ASSERT_GE(answer_.size(), 80U);
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, answer_.data() + hello_size_at, sizeof bytes);
  EXPECT_EQ(bytes, answer_.size());
  std::array<std::uint16_t, 4> words{};
  std::memcpy(words.data(), answer_.data() + 12, sizeof words);
  EXPECT_EQ(words[0], 2);
  EXPECT_EQ(words[1], 2);
  EXPECT_EQ(words[3], static_cast<std::uint16_t>(detail::Refusal::version));
}

TEST_F(BadHello, that_is_too_short_for_its_version_is_refused) {
  Bytes hello = hello_of(sound_hello(WirePattern::push, 5));
  for (const std::uint32_t size : {80U, 88U, 112U}) {
    hello.resize(size);
    const Seen::Gone gone = told_of(with_size(hello, size));
    EXPECT_EQ(gone.down.reason, DownReason::protocol_error) << gone.down.detail;
    EXPECT_NE(gone.down.detail.find("too short"), std::string::npos) << gone.down.detail;
  }
}

TEST_F(BadHello, of_a_range_that_includes_this_version_is_accepted) {
  Hello hello = sound_hello(WirePattern::push, 5);
  hello.version_max = 9;
  RawTcp raw = RawTcp::connect(address());
  raw.send(hello_of(hello));
  expect_accepted(raw);
  raw.send(message_page(0, payload(3, 24)));
  ASSERT_SOON(pump_, evil_received_.size() == 1);
}

TEST_F(BadHello, of_a_pattern_that_does_not_pair_is_refused_with_a_reason_at_both_ends) {
  for (const WirePattern pattern : {WirePattern::pull, WirePattern::pair, WirePattern::publish,
                                    WirePattern::subscribe, WirePattern::request}) {
    const Seen::Gone gone = told_of(hello_of(sound_hello(pattern, 5)));
    EXPECT_EQ(gone.down.reason, DownReason::pattern_mismatch) << gone.down.detail;
    const std::string name(detail::to_string(pattern));
    EXPECT_NE(gone.down.detail.find(name), std::string::npos) << gone.down.detail;
    EXPECT_NE(gone.down.detail.find("pull"), std::string::npos) << gone.down.detail;
    ASSERT_TRUE(answer().has_value());
    EXPECT_EQ(answer()->refusal, detail::Refusal::pattern);
    EXPECT_NE(answer()->text.find(name), std::string::npos) << answer()->text;
  }
  EXPECT_EQ(pull_.counters().rejected, 5U);
  EXPECT_EQ(pull_.counters().connects, 1U);
}

TEST_F(BadHello, of_an_unknown_pattern_is_refused) {
  Hello hello = sound_hello(WirePattern::push, 5);
  for (const std::uint8_t pattern : std::array<std::uint8_t, 3>{0, 77, 255}) {
    hello.pattern = WirePattern{pattern};
    const Seen::Gone gone = told_of(hello_of(hello));
    EXPECT_EQ(gone.down.reason, DownReason::protocol_error) << gone.down.detail;
  }
}

TEST_F(BadHello, of_an_impossible_size_is_refused) {
  const Bytes hello = hello_of(sound_hello(WirePattern::push, 5));
  for (const std::uint32_t size : {0U, 1U, 16U, 72U, 79U, 81U, 4100U, 4104U, 1U << 20U, ~0U, ~7U}) {
    const Seen::Gone gone = told_of(with_size(hello, size));
    EXPECT_EQ(gone.down.reason, DownReason::protocol_error) << size << ": " << gone.down.detail;
    EXPECT_NE(gone.down.detail.find(std::to_string(size)), std::string::npos) << gone.down.detail;
  }
  EXPECT_EQ(pull_.counters().rejected, 11U);
}

TEST_F(BadHello, that_is_never_finished_times_out) {
  Bytes hello = hello_of(sound_hello(WirePattern::push, 5));
  for (const std::size_t size : {1U, 8U, 12U, 40U, 79U, 80U, 119U}) {
    RawTcp raw = RawTcp::connect(address());
    raw.send(std::span(hello).first(size));
    const Seen::Gone& gone = next_down();
    EXPECT_EQ(gone.down.reason, DownReason::handshake_timeout) << gone.down.detail;
    ASSERT_SOON(pump_, raw.ended());
  }
}

// As a sender that waits in the kernel's queue for longer than it gives a greeting: it tries again,
// and its first connection is no peer that came and went.
TEST_F(BadHello, of_a_peer_that_gave_up_before_it_was_accepted_brings_no_peer_up) {
  const std::size_t ups = at_pull_.ups.size();
  RawTcp raw = RawTcp::connect(address());
  raw.send(hello_of(sound_hello(WirePattern::push, 5)));
  raw.close();
  const Seen::Gone& gone = next_down();
  EXPECT_EQ(gone.down.reason, DownReason::handshake_timeout) << gone.down.detail;
  EXPECT_FALSE(gone.peer.was_up);
  EXPECT_EQ(at_pull_.ups.size(), ups);
}

TEST_F(BadHello, in_single_bytes_is_a_hello_all_the_same) {
  RawTcp raw = RawTcp::connect(address());
  for (const std::byte byte : hello_of(sound_hello(WirePattern::push, 5))) {
    raw.send(std::span(&byte, 1));
    pump_.turns(1);
  }
  expect_accepted(raw);
}

TEST_F(BadHello, with_entries_that_do_not_fit_is_refused) {
  // An entry: u16 type, u16 length, u32 zero, then `length` bytes padded to 8.
  const auto with_entry = [](std::uint16_t type, std::uint16_t length, std::uint32_t zero,
                             std::size_t room) {
    Bytes hello = hello_of(sound_hello(WirePattern::push, 5));
    const std::size_t at = hello.size();
    hello.resize(at + 8 + room);
    std::memcpy(hello.data() + at, &type, 2);
    std::memcpy(hello.data() + at + 2, &length, 2);
    std::memcpy(hello.data() + at + 4, &zero, 4);
    return with_size(std::move(hello), static_cast<std::uint32_t>(at + 8 + room));
  };
  EXPECT_EQ(told_of(with_entry(1, 100, 0, 16)).down.reason, DownReason::protocol_error);
  EXPECT_EQ(told_of(with_entry(999, 0xffff, 0, 16)).down.reason, DownReason::protocol_error);
  EXPECT_EQ(told_of(with_entry(999, 8, 1, 16)).down.reason, DownReason::protocol_error);

  // One that this version does not know is skipped.
  RawTcp raw = RawTcp::connect(address());
  raw.send(with_entry(999, 16, 0, 16));
  expect_accepted(raw);
}

TEST_F(BadHello, with_a_page_limit_too_small_for_any_message_is_refused) {
  Hello hello = sound_hello(WirePattern::push, 5);
  hello.page_bytes_max = 16;
  EXPECT_EQ(told_of(hello_of(hello)).down.reason, DownReason::protocol_error);
}

// The same from the other side: what the server's answer does to who connected.
using BadAnswer = EvilReceiver;

TEST_F(BadAnswer, that_refuses_is_told_with_its_text) {
  struct Case {
    detail::Refusal refusal;
    DownReason reason;
    bool permanent;
  };
  const std::array<Case, 4> cases = {{
      {detail::Refusal::version, DownReason::version_mismatch, true},
      {detail::Refusal::pattern, DownReason::pattern_mismatch, true},
      {detail::Refusal::busy, DownReason::rejected, false},
      {detail::Refusal::other, DownReason::rejected, false},
  }};
  for (const Case& one : cases) {
    Hello hello = sound_hello(WirePattern::pull, 7);
    hello.refusal = one.refusal;
    hello.text = "because it rains";
    const Seen::Gone gone = told_of_answer(hello_of(hello));
    EXPECT_EQ(gone.down.reason, one.reason) << gone.down.detail;
    EXPECT_NE(gone.down.detail.find("because it rains"), std::string::npos) << gone.down.detail;
    EXPECT_EQ(gone.peer.retrying, !one.permanent) << gone.down.detail;
    EXPECT_FALSE(gone.peer.was_up) << gone.down.detail;
    good_messages();
  }
}

TEST_F(BadAnswer, of_another_version_or_pattern_is_permanent) {
  Hello version = sound_hello(WirePattern::pull, 7);
  version.version_min = version.version_max = 3;
  Seen::Gone gone = told_of_answer(hello_of(version));
  EXPECT_EQ(gone.down.reason, DownReason::version_mismatch) << gone.down.detail;
  EXPECT_FALSE(gone.peer.retrying);
  Hello pattern = sound_hello(WirePattern::push, 7);
  pattern.nonce = 7;  // as whoever listens
  gone = told_of_answer(hello_of(pattern));
  EXPECT_EQ(gone.down.reason, DownReason::pattern_mismatch) << gone.down.detail;
  EXPECT_FALSE(gone.peer.retrying);
  EXPECT_EQ(push_.peers_connected(), 1U);
}

TEST_F(BadAnswer, that_is_damaged_is_a_protocol_error) {
  Bytes hello = hello_of(sound_hello(WirePattern::pull, 7));
  const std::uint32_t size = 4096 + 8;
  std::memcpy(hello.data() + hello_size_at, &size, sizeof size);
  EXPECT_EQ(told_of_answer(hello).down.reason, DownReason::protocol_error);
}

// What a stranger writes ends up in logs and terminals.
TEST_F(BadAnswer, texts_are_made_printable) {
  Hello hello = sound_hello(WirePattern::pull, 7);
  hello.refusal = detail::Refusal::other;
  hello.text = "\x1b[2J\r\nroot: all is well\a\x07";
  const Seen::Gone gone = told_of_answer(hello_of(hello));
  EXPECT_EQ(gone.down.reason, DownReason::rejected);
  EXPECT_TRUE(std::none_of(gone.down.detail.begin(), gone.down.detail.end(), [](char c) {
    return c >= 0 && c < ' ';
  })) << testing::PrintToString(gone.down.detail);
}

// Two real sockets that do not pair: both are told, and neither tries again.
TEST(Mismatch, is_told_in_words_at_both_ends) {
  Context context(wary_context());
  Pump pump{&context};
  Push bound(context, wary_options());
  Push dialing(context, wary_options());
  Seen at_bound(bound);
  Seen at_dialing(dialing);
  dialing.connect(bound.bind("tcp://127.0.0.1:0"));
  ASSERT_SOON(pump, !at_bound.downs.empty() && !at_dialing.downs.empty());
  for (const Seen* seen : {&at_bound, &at_dialing}) {
    EXPECT_EQ(seen->downs[0].down.reason, DownReason::pattern_mismatch) << seen->why();
    EXPECT_NE(seen->downs[0].down.detail.find("push"), std::string::npos) << seen->why();
    EXPECT_TRUE(is_readable(seen->downs[0].down));
    EXPECT_FALSE(seen->downs[0].peer.retrying);
    EXPECT_TRUE(seen->ups.empty());
  }
  EXPECT_EQ(bound.counters().rejected, 1U);
  pump.run_for(100ms);
  EXPECT_EQ(at_dialing.downs.size(), 1U);
}

}  // namespace
}  // namespace netio::test
