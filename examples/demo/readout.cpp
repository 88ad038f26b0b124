// The idiom of event-driven read-out: publish until the socket says "again", remember where, go on
// when it calls.
#include "readout.hpp"

#include <sys/epoll.h>
#include <utility>

#include "pulse.hpp"

namespace demo {

namespace {

// Fragments published in one go before others get their turn: about 0.2 ms.
constexpr int fragments_per_call = 1024;

// Early: it takes a while until "busy" holds the card off.
constexpr double ring_high_watermark = 0.35;
constexpr double ring_low_watermark = 0.1;

netio::SocketOptions unbuffered() {
  netio::SocketOptions options;
  options.mode = netio::Mode::unbuffered;
  return options;
}

}  // namespace

Readout::Readout(netio::Context& context, Card& card)
    : card_(card),
      publish_(context),
      pair_(context, unbuffered()),
      interrupt_(context.loop(), card.interrupt_fd(), EPOLLIN, [this](std::uint32_t) { go_on(); }) {
  for (std::size_t i = 0; i < links_.size(); ++i) links_[i] = publish_.tag(i);
  publish_.on_writable([this] {
    interrupt_.set_events(EPOLLIN);
    go_on();
  });
  publish_.on_subscribe(
      [this](const netio::PeerInfo& peer, std::span<const netio::TagRange> ranges) {
        subscriptions_.add(peer, ranges);
        if (on_subscribed_) on_subscribed_();
      });
  publish_.on_down([this](const netio::PeerInfo& peer, const netio::Down& down) {
    subscriptions_.end(peer, down);
  });
  pair_.on_message([this](const netio::MessageView& message) { on_pulse(message); });
  data_address_ = publish_.bind("tcp://127.0.0.1:0");
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
    // A builder is behind: the ring takes what comes until on_writable.
    if (links_[link_of(fragment)].send(fragment) != netio::Status::ok) {
      interrupt_.set_events(0);
      return;
    }
    sent_bytes_ += fragment.size();
    ++sent_;
    card_.pop();
  }
  // The interrupt is still raised: the next turn goes on.
}

// Full for either reason: a builder is behind, or this process does not keep up with the card.
void Readout::watch_ring() {
  const double fill = card_.fill();
  if (fill < (ring_full_ ? ring_low_watermark : ring_high_watermark)) {
    if (std::exchange(ring_full_, false)) tell_busy();
  } else if (!std::exchange(ring_full_, true)) {
    tell_busy();
  }
}

void Readout::tell_busy() {
  // Not before it begins, and not when it ends.
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
  publish_.on_closed([call = std::move(on_closed)](const netio::Books&) { call(); });
  // The card raised a last interrupt when it stopped; send_fragments() finds the ring empty.
}

void Readout::close() {
  if (std::exchange(closing_, true)) return;
  publish_.close(linger_);
  pair_.close(linger_);
}

}  // namespace demo
