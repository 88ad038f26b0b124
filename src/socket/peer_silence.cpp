// What a peer is told when there is nothing else to say, and what becomes of a peer that says
// nothing.
#include <array>
#include <chrono>
#include <cstdio>

#include "socket/context_core.hpp"
#include "socket/peer.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

void Peer::start_heartbeat() noexcept {
  const Silence ours = they_beat_ ? socket_.silence() : Silence();
  const std::int64_t now_ns = socket_.context().loop.now().count();
  heartbeat_.begin(ours.given_up_ms, their_silence_ms_, now_ns, outgoing.pages_posted(), heard());
  place_.begin(ours.replaced_ms, 0, now_ns, 0, taken_and_heard());
  place_is_free_ = false;
  look_at_heartbeat_again();
}

void Peer::look_at_heartbeat_again() noexcept {
  const std::int64_t next_ns = sooner(heartbeat_.period_ns(), place_.period_ns());
  if (next_ns != 0) heartbeat_timer_.start_once(std::chrono::nanoseconds(next_ns));
}

void Peer::look_at_heartbeat() noexcept {
  if (!open()) return;
  // Behind a good-bye nothing more is said, and other limits bound the end. Where something waits
  // for a peer that takes nothing, a heartbeat would only wait behind it.
  const bool ends = bye_said_ || bye_heard_;
  if (heartbeat_.due(outgoing.pages_posted()) && !ends && !link_->untaken() &&
      outgoing.post_acknowledgement() == Status::ok) {
    link_->flush();
  }
  // A wire that always has a heartbeat to send is never idle, and would tell nobody.
  if (!leaving() && outgoing.waiting()) on_writable();
  if (!open()) return;
  socket_.fill_changed();
  const std::int64_t now_ns = socket_.context().loop.now().count();
  if (heartbeat_.listen(heard(), link_->reading() && !ends, now_ns) == Heartbeat::Heard::nothing) {
    return fail_silent(heartbeat_.silent_for_ns(now_ns),
                       "its process is stopped or too busy, or the network carries nothing");
  }
  place_is_free_ =
      place_.listen(taken_and_heard(), judges_silence(), now_ns) == Heartbeat::Heard::nothing;
  look_at_heartbeat_again();
}

// A side that is paused, often because the peer takes nothing, sees only what the peer takes.
std::uint64_t Peer::taken_and_heard() const noexcept {
  return link_->reading() ? heard() : heard() + outgoing.pages_posted() - link_->queued_bytes();
}

bool Peer::judges_silence() const noexcept {
  return !bye_said_ && !bye_heard_ && (link_->reading() || link_->untaken());
}

std::int64_t Peer::silent_ns() const noexcept {
  if (!open() || !place_is_free_ || !judges_silence() || !place_.last_heard(taken_and_heard()))
    return 0;
  return place_.silent_for_ns(socket_.context().loop.now().count());
}

void Peer::give_place() noexcept { fail_silent(silent_ns(), "its place is given to a newcomer"); }

void Peer::fail_silent(std::int64_t silent_ns, const char* why) noexcept {
  std::array<char, 128> text{};
  (void)std::snprintf(text.data(), text.size(), "said nothing for %.3g s: %s",
                      static_cast<double>(silent_ns) * 1e-9, why);
  fail(DownReason::lost, text.data());
}

}  // namespace netio::detail
