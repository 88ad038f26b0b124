#include "conformance/evil_subscriber.hpp"

#include <algorithm>

namespace netio::test {

EvilSubscriber::EvilSubscriber(const PublishOptions& publishing,
                               const SubscribeOptions& subscription, const SocketOptions& options)
    : publish_(here_, publishing, options), good_(there_, subscription, wary_options()) {
  good_.on_message([this](const MessageView& message) {
    const bool right = message.tag() == good_tag && is_payload(message.bytes(), good_received_);
    if (!right) ++good_wrong_;
    ++good_received_;
  });
  good_.on_subscribed([this](const PeerInfo&, const Subscribed&) { ++answers_at_good_; });
}

void EvilSubscriber::SetUp() {
  address_ = publish_.bind("tcp://127.0.0.1:0");
  good_.subscribe(good_tag);
  good_.connect(address_);
  ASSERT_SOON(pump_, answers_at_good_ == 1);
  pump_.after_each_turn(BooksCheck(publish_));
  pump_.after_each_turn(BooksCheck(good_));
  good_messages();
}

void EvilSubscriber::TearDown() {
  good_messages();
  EXPECT_EQ(good_wrong_, 0U);
  EXPECT_EQ(good_.books().delivered, good_sent_);
  EXPECT_EQ(good_.books().missed, 0U);
  EXPECT_TRUE(at_good_.downs.empty()) << at_good_.why();
  EXPECT_TRUE(add_up(publish_.books()));
  EXPECT_GE(publish_.books().acknowledged, good_sent_);
  for (const Seen::Gone& gone : at_publish_.downs) {
    EXPECT_TRUE(is_readable(gone.down));
    EXPECT_TRUE(add_up(gone.peer.books));
  }
}

Status EvilSubscriber::publish_good(std::size_t bytes) {
  const std::size_t size = bytes != 0 ? bytes : 8 + good_sent_ % 1000;
  const Status status = publish_.send(payload(good_sent_, size), good_tag);
  if (status == Status::ok) ++good_sent_;
  return status;
}

void EvilSubscriber::good_messages(std::uint64_t count) {
  const std::uint64_t wanted = good_sent_ + count;
  ASSERT_SOON(pump_,
              [&] {
                while (good_sent_ < wanted) {
                  if (publish_good() != Status::ok) return false;
                  if (good_sent_ % 16 == 0) pump_.turns(1);
                }
                return good_received_ == good_sent_;
              }())
      << good_received_ << " of " << good_sent_ << " received, " << wanted << " to be sent";
  ASSERT_SOON(pump_, publish_.books().acknowledged >= good_sent_);
}

detail::Hello EvilSubscriber::alike_hello(std::uint8_t session) {
  detail::Hello hello = sound_hello(detail::WirePattern::subscribe, session);
  hello.message_bytes_max = wary_message_bytes_max;
  return hello;
}

RawTcp EvilSubscriber::greeted(std::uint8_t session) {
  return greeted(sound_hello(detail::WirePattern::subscribe, session));
}

RawTcp EvilSubscriber::greeted(const detail::Hello& hello, std::uint8_t host, std::uint64_t got) {
  RawTcp raw = RawTcp::connect(address_, host);
  const std::size_t ups = at_publish_.ups.size();
  raw.send(hello_of(hello));
  EXPECT_SOON(pump_, hello_in(raw.received()).nonce != 0);
  raw.confirm(0, got);
  EXPECT_SOON(pump_, at_publish_.ups.size() == ups + 1);
  return raw;
}

Heard EvilSubscriber::answered(RawTcp& raw, std::size_t answers) {
  Heard now;
  EXPECT_SOON(pump_, (now = heard(raw.received())).answers.size() >= answers || raw.ended());
  EXPECT_GE(now.answers.size(), answers) << at_publish_.why();
  now.answers.resize(std::max(now.answers.size(), answers));
  return now;
}

const Seen::Gone& EvilSubscriber::next_down() {
  EXPECT_SOON(pump_, at_publish_.downs.size() > downs_seen_);
  static const Seen::Gone none{};
  return at_publish_.downs.size() > downs_seen_ ? at_publish_.downs[downs_seen_++] : none;
}

}  // namespace netio::test
