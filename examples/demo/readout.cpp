// The idiom of event-driven read-out: send until the socket says "again", remember where, go on
// when it calls.
#include "readout.hpp"

#include <sys/epoll.h>
#include <utility>

#include "pulse.hpp"

namespace demo {

namespace {

// Fragments sent in one go before others get their turn: about 0.2 ms.
constexpr int fragments_per_call = 1024;

constexpr double ring_high_watermark = 0.5;
constexpr double ring_low_watermark = 0.25;

netio::SocketOptions unbuffered() {
  netio::SocketOptions options;
  options.mode = netio::Mode::unbuffered;
  return options;
}

}  // namespace

Readout::Readout(netio::Context& context, Card& card)
    : card_(card),
      push_(context),
      pair_(context, unbuffered()),
      interrupt_(context.loop(), card.interrupt_fd(), EPOLLIN, [this](std::uint32_t) { go_on(); }) {
  push_.on_writable([this] {
    interrupt_.set_events(EPOLLIN);
    go_on();
  });
  push_.on_high_watermark([this] {
    wire_full_ = true;
    tell_busy();
  });
  push_.on_low_watermark([this] {
    wire_full_ = false;
    tell_busy();
  });
  pair_.on_message([this](const netio::MessageView& message) { on_pulse(message); });
  data_address_ = push_.bind("tcp://127.0.0.1:0");
  trigger_address_ = pair_.bind("tcp://127.0.0.1:0");
}

// Called for the card's interrupt, and when the socket can take more.
void Readout::go_on() {
  send_fragments();
  watch_ring();
}

// Where to go on is where the ring stands: a fragment leaves it only when the socket has taken it.
void Readout::send_fragments() {
  for (int i = 0; i < fragments_per_call; ++i) {
    const std::span<const std::byte> fragment = card_.front();
    if (fragment.empty()) {
      // Looked at again after the interrupt is cleared, lest one that came between is lost.
      card_.clear_interrupt();
      if (!card_.front().empty()) continue;
      if (finishing_) close();
      return;
    }
    if (push_.send(fragment) != netio::Status::ok) {
      interrupt_.set_events(0);  // until on_writable
      return;
    }
    sent_bytes_ += fragment.size();
    ++sent_;
    card_.pop();
  }
  // The interrupt is still raised: the next turn goes on.
}

// Sending may keep up with the wire, and this process not with the card.
void Readout::watch_ring() {
  const double fill = card_.fill();
  if (fill < (ring_full_ ? ring_low_watermark : ring_high_watermark)) {
    if (std::exchange(ring_full_, false)) tell_busy();
  } else if (!std::exchange(ring_full_, true)) {
    tell_busy();
  }
}

void Readout::tell_busy() {
  // Not before there are builders, and not when they go.
  if (busy() && !told_busy_ && card_.made() != 0 && !closing_) ++times_busy_;
  told_busy_ = busy();
  const Pulse pulse{PulseKind::level, told_busy_, 0, 0};
  // If the wire is full, the next echo says it.
  (void)pair_.send(bytes_of(pulse));
}

void Readout::on_pulse(const netio::MessageView& message) {
  auto pulse = pulse_in(message.bytes());
  if (!pulse) return;
  card_.hold(pulse->level != 0);
  if (pulse->kind != PulseKind::trigger) return;
  pulse->kind = PulseKind::echo;
  pulse->level = busy();
  (void)pair_.send(bytes_of(*pulse));
}

void Readout::finish(std::chrono::nanoseconds linger, std::function<void()> on_closed) {
  linger_ = linger;
  finishing_ = true;
  push_.on_closed([call = std::move(on_closed)](const netio::Books&) { call(); });
  // The card raised a last interrupt when it stopped; send_fragments() finds the ring empty.
}

void Readout::close() {
  if (std::exchange(closing_, true)) return;
  push_.close(linger_);
  pair_.close(linger_);
}

}  // namespace demo
