#include "conformance/evil.hpp"

#include <algorithm>
#include <optional>

#include "wire/frame.hpp"
#include "wire/page.hpp"

namespace netio::test {

namespace {
SocketOptions in_mode(Mode mode) {
  SocketOptions options = wary_options();
  options.mode = mode;
  return options;
}
}  // namespace

SocketOptions wary_options() {
  SocketOptions options;
  options.handshake_within = 300ms;
  options.stall_after = 200ms;
  options.half_open_max = 4;
  options.message_bytes_max = wary_message_bytes_max;
  options.reconnect_after_min = 5ms;
  options.reconnect_after_max = 50ms;
  return options;
}

SocketOptions wary_options_without_haste() {
  SocketOptions options = wary_options();
  options.handshake_within = 30s;
  return options;
}

ContextOptions wary_context() {
  ContextOptions options;
  options.send_pool_bytes = 4U << 20U;
  options.receive_pool_bytes = 8U << 20U;
  options.large_bytes_max = 64U << 20U;
  return options;
}

Bytes all(std::initializer_list<Bytes> pieces) {
  Bytes sum;
  for (const Bytes& piece : pieces) append(sum, piece);
  return sum;
}
Bytes word(std::uint64_t value) {
  Bytes bytes(sizeof value);
  detail::store_u64(bytes.data(), value);
  return bytes;
}
Bytes frame_word(std::uint32_t size, std::uint32_t flags) {
  return word(detail::frame_word(size, flags));
}
Bytes page(const Bytes& body, std::uint32_t messages, std::uint64_t sequence, std::uint16_t flags) {
  detail::PageHeader header;
  header.bytes = static_cast<std::uint32_t>(body.size());
  header.messages = messages;
  header.sequence = sequence;
  header.flags = flags;
  return page_of(header, body);
}

testing::AssertionResult is_readable(const Down& down) {
  const bool printable = std::all_of(down.detail.begin(), down.detail.end(),
                                     [](char c) { return c >= ' ' && c < 127; });
  if (down.detail.size() >= 10 && printable && down.detail.find(' ') != std::string::npos) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << to_string(down.reason) << ": \"" << down.detail << '"';
}

EvilSender::EvilSender(const ContextOptions& attacked) : there_(attacked) {
  pull_.on_message([this](const MessageView& message) { take(message); });
}

void EvilSender::take(const MessageView& message) {
  if (message.tag() != good_tag) {
    evil_received_.emplace_back(message.bytes().begin(), message.bytes().end());
    return;
  }
  if (!is_payload(message.bytes(), good_received_)) ++good_wrong_;
  ++good_received_;
}

void EvilSender::SetUp() {
  address_ = pull_.bind(place());
  push_.connect(address_);
  ASSERT_SOON(pump_, push_.peers_connected() == 1 && pull_.peers_connected() == 1);
  pump_.after_each_turn(BooksCheck(push_));
  pump_.after_each_turn(BooksCheck(pull_));
  good_messages();
}

void EvilSender::TearDown() {
  good_messages();
  EXPECT_EQ(good_wrong_, 0U);
  EXPECT_EQ(push_.books().sent, good_sent_);
  EXPECT_EQ(push_.books().acknowledged, good_sent_);
  EXPECT_TRUE(at_push_.downs.empty()) << at_push_.why();
  EXPECT_EQ(pull_.books().delivered, good_sent_ + evil_received_.size());
  // Nobody is left behind.
  EXPECT_SOON(pump_, pull_.peers_connected() == 1);
  for (const Seen::Gone& gone : at_pull_.downs) EXPECT_TRUE(is_readable(gone.down));
}

void EvilSender::good_messages(int count) {
  for (int i = 0; i < count; ++i) {
    const std::size_t size = i % 10 == 7 ? 200'000 : 8 + good_sent_ % 500;
    const std::vector<std::byte> message = payload(good_sent_, size);
    ASSERT_SOON(pump_, push_.send(message, good_tag) == Status::ok);
    ++good_sent_;
  }
  ASSERT_SOON(pump_, good_received_ == good_sent_ && push_.books().unsettled() == 0);
}

RawTcp EvilSender::greeted(std::uint8_t stream) {
  RawTcp raw = RawTcp::connect(address_);
  const std::size_t ups = at_pull_.ups.size();
  raw.send(hello_of(sound_hello(detail::WirePattern::push, stream)));
  EXPECT_SOON(pump_, hello_in(raw.received()).nonce != 0);
  raw.confirm();
  EXPECT_SOON(pump_, at_pull_.ups.size() == ups + 1);
  return raw;
}

const Seen::Gone& EvilSender::next_down() {
  EXPECT_SOON(pump_, at_pull_.downs.size() > downs_seen_);
  static const Seen::Gone none{};
  return at_pull_.downs.size() > downs_seen_ ? at_pull_.downs[downs_seen_++] : none;
}

SentOn::SentOn() {
  last.on_message([this](const MessageView& message) { last_bytes = message.size(); });
  onwards.connect(last.bind("tcp://127.0.0.1:0"));
  EXPECT_SOON(pump, at_last.ups.size() == 1 && onwards.peers_connected() == 1);
}

void SentOn::hold() {
  last.pause();
  const Bytes before(10'000);
  for (int i = 0; i < 100'000 && onwards.fill() < 0.2; ++i) {
    if (onwards.send(before) != Status::ok) break;
    pump.turn(std::chrono::milliseconds(0));
  }
}

void SentOn::expect_taken() {
  onwards.flush();
  last.resume();
  EXPECT_SOON(pump, onwards.books().acknowledged == onwards.books().sent);
  EXPECT_TRUE(at_last.downs.empty()) << at_last.why();
}

EvilReceiver::EvilReceiver(Mode mode) : push_(here_, in_mode(mode)) {
  pull_.on_message([this](const MessageView& message) {
    EXPECT_TRUE(is_payload(message.bytes(), number_of(message.bytes())));
    ++good_received_;
  });
}

void EvilReceiver::SetUp() {
  address_ = push_.bind(place());
  pull_.connect(address_);
  ASSERT_SOON(pump_, push_.peers_connected() == 1 && pull_.peers_connected() == 1);
  pump_.after_each_turn(BooksCheck(push_));
  pump_.after_each_turn(BooksCheck(pull_));
  good_messages();
}

void EvilReceiver::TearDown() {
  good_messages();
  EXPECT_TRUE(at_pull_.downs.empty()) << at_pull_.why();
  EXPECT_EQ(pull_.books().delivered, good_received_);
  EXPECT_EQ(pull_.books().missed, 0U);
  EXPECT_TRUE(add_up(push_.books()));
  EXPECT_EQ(push_.books().sent, sent_);
  for (const Seen::Gone& gone : at_push_.downs) EXPECT_TRUE(is_readable(gone.down));
}

void EvilReceiver::good_messages(std::uint64_t count) {
  const std::uint64_t wanted = good_received_ + count;
  std::vector<std::byte> message;
  ASSERT_SOON(pump_, [&] {
    while (good_received_ < wanted) {
      message = payload(sent_, 8 + sent_ % 1000);
      if (push_.send(message, good_tag) != Status::ok) break;
      if (++sent_ % 16 == 0) pump_.turns(1);
    }
    return good_received_ >= wanted;
  }());
}

RawTcp EvilReceiver::greeted(std::uint8_t stream) {
  RawTcp raw = RawTcp::connect(address_);
  const std::size_t ups = at_push_.ups.size();
  raw.send(hello_of(sound_hello(detail::WirePattern::pull, stream)));
  EXPECT_SOON(pump_, hello_in(raw.received()).nonce != 0);
  raw.confirm();
  EXPECT_SOON(pump_, at_push_.ups.size() == ups + 1);
  return raw;
}

const Seen::Gone& EvilReceiver::next_down() {
  EXPECT_SOON(pump_, at_push_.downs.size() > downs_seen_);
  static const Seen::Gone none{};
  return at_push_.downs.size() > downs_seen_ ? at_push_.downs[downs_seen_++] : none;
}

Seen::Gone EvilReceiver::told_of_answer(std::span<const std::byte> answer) {
  RawListener server;
  const std::size_t downs = at_push_.downs.size();
  push_.connect(server.address());
  std::optional<RawTcp> raw;
  EXPECT_SOON(pump_, [&] {
    if (!raw) raw = server.accept();
    return raw && raw->received().size() >= detail::hello_fixed_bytes;
  }());
  if (!raw) return {};
  raw->send(answer);
  // Peers of earlier answers may be tried again meanwhile, and go down once more.
  std::optional<Seen::Gone> told;
  EXPECT_SOON(pump_, [&] {
    for (std::size_t i = downs; i < at_push_.downs.size() && !told; ++i) {
      if (at_push_.downs[i].peer.address == server.address()) told = at_push_.downs[i];
    }
    return told && raw->ended();
  }());
  return told.value_or(Seen::Gone{});
}

}  // namespace netio::test
