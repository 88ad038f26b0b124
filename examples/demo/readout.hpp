// The read-out: publishes fragments from the card's ring, and raises "busy" before that is full.
// Everything here is a call-back of one loop.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include <netio/netio.hpp>

#include "card.hpp"
#include "subscriptions.hpp"

namespace demo {

class Readout {
 public:
  Readout(netio::Context& context, Card& card);
  Readout(const Readout&) = delete;
  Readout& operator=(const Readout&) = delete;

  // Where subscribers and the trigger connect to.
  [[nodiscard]] const std::string& data_address() const noexcept { return data_address_; }
  [[nodiscard]] const std::string& trigger_address() const noexcept { return trigger_address_; }
  [[nodiscard]] const Subscriptions& subscriptions() const noexcept { return subscriptions_; }
  // Called when somebody has subscribed.
  void on_subscribed(std::function<void()> call) { on_subscribed_ = std::move(call); }
  [[nodiscard]] bool trigger_connected() const noexcept { return pair_.peers_connected() != 0; }

  // Once the card has stopped: publishes what is left in the ring, says good-bye to subscribers and
  // trigger, and calls `on_closed` when all of it was acknowledged or `linger` is over.
  void finish(std::chrono::nanoseconds linger, std::function<void()> on_closed);

  [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }
  [[nodiscard]] std::uint64_t sent_bytes() const noexcept { return sent_bytes_; }
  [[nodiscard]] netio::Books books() const noexcept { return publish_.books(); }
  [[nodiscard]] netio::Counters counters() const noexcept { return publish_.counters(); }
  [[nodiscard]] bool busy() const noexcept { return ring_full_; }
  [[nodiscard]] std::uint64_t times_busy() const noexcept { return times_busy_; }

 private:
  void go_on();
  void send_fragments();
  void watch_ring();
  void tell_busy();
  void on_pulse(const netio::MessageView& message);
  void close();

  Card& card_;
  netio::Publish publish_;
  netio::Pair pair_;
  netio::Watch interrupt_;
  std::array<netio::PublishTag, link_count> links_;
  Subscriptions subscriptions_;
  std::function<void()> on_subscribed_;
  std::string data_address_;
  std::string trigger_address_;
  std::uint64_t sent_ = 0;
  std::uint64_t sent_bytes_ = 0;
  std::uint64_t times_busy_ = 0;
  bool ring_full_ = false;  // by its watermarks
  bool told_busy_ = false;
  bool finishing_ = false;
  bool closing_ = false;
  std::chrono::nanoseconds linger_{};
};

}  // namespace demo
