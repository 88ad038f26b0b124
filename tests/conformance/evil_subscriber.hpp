// The fixture of the bad-subscriber tests: a Publish under attack, and a good Subscribe that must
// get all that is published for it, before, during and after.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "conformance/evil.hpp"
#include "conformance/raw_control.hpp"

namespace netio::test {

class EvilSubscriber : public testing::Test {
 protected:
  explicit EvilSubscriber(const PublishOptions& publishing = {},
                          const SubscribeOptions& subscription = {.policy = Policy::block},
                          const SocketOptions& options = wary_options());
  ~EvilSubscriber() override { pump_.forget_checks(); }
  void SetUp() override;
  // Checks that the good subscriber is still served, and has missed nothing.
  void TearDown() override;

  [[nodiscard]] const std::string& address() const { return address_; }
  // So many are published for the good subscriber, in turns of 16, and arrive.
  void good_messages(std::uint64_t count = 20);
  // One more, if the answer is ok. A good one has its number in front.
  Status publish_good(std::size_t bytes = 0);
  // A raw connection that said a sound hello and was answered.
  RawTcp greeted(std::uint8_t stream);
  RawTcp greeted() { return greeted(++streams_); }  // one that nobody has used yet
  // From 127.0.0.`host`, having received so many messages. What a subscriber costs is charged to
  // its host, and the good one is on 127.0.0.1.
  RawTcp greeted(const detail::Hello& hello, std::uint8_t host = 2, std::uint64_t got = 0);
  // A hello in which the subscriber is of one kind with the good one: pages may be shared.
  [[nodiscard]] static detail::Hello alike_hello(std::uint8_t session);
  // Waits until the raw subscriber has been answered so often; what it has heard.
  Heard answered(RawTcp& raw, std::size_t answers = 1);
  // Waits for the next on_down of the publisher.
  const Seen::Gone& next_down();

  Context here_{wary_context()};
  Context there_{wary_context()};
  Pump pump_{&here_, &there_};
  Publish publish_;
  Seen at_publish_{publish_};
  Subscribe good_;
  Seen at_good_{good_};
  std::uint64_t good_sent_ = 0;
  std::uint64_t good_received_ = 0;
  std::uint64_t good_wrong_ = 0;
  std::uint64_t answers_at_good_ = 0;

 private:
  std::string address_;
  std::size_t downs_seen_ = 0;
  std::uint8_t streams_ = 199;
};

}  // namespace netio::test
