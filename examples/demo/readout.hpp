// The read-out: moves fragments from the card's ring to the builders, and raises "busy" before it
// is full. Everything here is a call-back of one loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include <netio/netio.hpp>

#include "card.hpp"

namespace demo {

class Readout {
 public:
  Readout(netio::Context& context, Card& card);
  Readout(const Readout&) = delete;
  Readout& operator=(const Readout&) = delete;

  // Where builders and the trigger connect to.
  [[nodiscard]] const std::string& data_address() const noexcept { return data_address_; }
  [[nodiscard]] const std::string& trigger_address() const noexcept { return trigger_address_; }
  [[nodiscard]] std::size_t builders_connected() const noexcept { return push_.peers_connected(); }
  [[nodiscard]] bool trigger_connected() const noexcept { return pair_.peers_connected() != 0; }

  // Once the card has stopped: sends what is left in the ring, says good-bye to builders and
  // trigger, and calls `on_closed` when the builders have acknowledged all of it or `linger` is
  // over.
  void finish(std::chrono::nanoseconds linger, std::function<void()> on_closed);

  [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }
  [[nodiscard]] std::uint64_t sent_bytes() const noexcept { return sent_bytes_; }
  [[nodiscard]] double fill() const noexcept { return closing_ ? 0 : push_.fill(); }
  [[nodiscard]] netio::Books books() const noexcept { return push_.books(); }
  [[nodiscard]] std::uint64_t agains() const noexcept { return push_.counters().agains; }
  [[nodiscard]] bool busy() const noexcept { return wire_full_ || ring_full_; }
  [[nodiscard]] std::uint64_t times_busy() const noexcept { return times_busy_; }

 private:
  void go_on();
  void send_fragments();
  void watch_ring();
  void tell_busy();
  void on_pulse(const netio::MessageView& message);
  void close();

  Card& card_;
  netio::Push push_;
  netio::Pair pair_;
  netio::Watch interrupt_;
  std::string data_address_;
  std::string trigger_address_;
  std::uint64_t sent_ = 0;
  std::uint64_t sent_bytes_ = 0;
  std::uint64_t times_busy_ = 0;
  bool wire_full_ = false;  // by the watermarks of the socket
  bool ring_full_ = false;  // by the same of the card's ring
  bool told_busy_ = false;
  bool finishing_ = false;
  bool closing_ = false;
  std::chrono::nanoseconds linger_{};
};

}  // namespace demo
