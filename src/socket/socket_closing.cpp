// How a socket lets go of its peers and listeners: of one, or of all, when it is closed or
// destroyed.
#include <algorithm>
#include <chrono>
#include <utility>

#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

// Throws Error, as bind() and connect() do.
Url SocketCore::place_at(std::string_view address) {
  (void)context_.transport(address);
  return parse_address(address);
}

bool SocketCore::unbind(std::string_view address) {
  context_.loop.require_owner("unbind", address);
  const Url place = place_at(address);
  return std::erase_if(listeners_, [&](const Bound& each) {
           return same_place(each.asked, place) || same_place(each.real, place) ||
                  each.listener->address() == address;
         }) != 0;
}

bool SocketCore::disconnect(std::uint64_t id, std::chrono::nanoseconds linger) {
  context_.loop.require_owner("disconnect");
  if (closing_) return false;
  Peer* const peer = find_peer(id);
  if (peer != nullptr) {
    let_go(*peer, linger);
    return true;
  }
  // In its on_down it is gone already, and not on record yet.
  const auto ended_now = [id](const auto& each) {
    return each->gone() && each->adopted() && !each->closing() && each->id() == id;
  };
  const auto found = std::ranges::find_if(peers_, ended_now);
  if (found == peers_.end()) return forget_stream_of(id);
  (*found)->forget_stream();
  return true;
}

std::size_t SocketCore::disconnect(std::string_view address, std::chrono::nanoseconds linger) {
  context_.loop.require_owner("disconnect", address);
  const Url place = place_at(address);
  if (closing_) return 0;
  std::size_t count = 0;
  for (const auto& peer : peers_) {
    if (peer->gone() || !peer->dials(place)) continue;
    let_go(*peer, linger);
    ++count;
  }
  return count;
}

void SocketCore::let_go(Peer& peer, std::chrono::nanoseconds linger) {
  peer.linger(linger);
  if (peer.closing()) return;
  if (pattern_.sends && peer.up()) distribution_->flush();
  distribution_->let_go(peer);
  peer.close();
  receiving.closes(peer);
  fill_changed();
  touch();
}

void SocketCore::close(std::chrono::nanoseconds linger) {
  context_.loop.require_owner("close a socket");
  if (closed_ || abandoned_) return;
  linger_timer_.start_once(std::max(linger, std::chrono::nanoseconds(0)));
  if (std::exchange(closing_, true)) return;
  listeners_.clear();
  half_open_.clear();
  crowd_timer_.stop();
  if (pattern_.sends) distribution_->flush();
  distribution_->stop();
  receiving.stop();
  for (const auto& peer : peers_) peer->close();
  for (StreamRecord& record : records_.used()) record.resend.give_up();
  records_timer_.stop();
  touch();
}

void SocketCore::give_up_lingering() {
  for (const auto& peer : peers_) cut(*peer);
  touch();
}

void SocketCore::cut(Peer& peer) {
  if (peer.up()) {
    --peers_up_;
    ++counters_.disconnects;
  }
  peer.cut();
}

void SocketCore::abandon() noexcept {
  if (abandoned_) return;
  abandoned_ = closing_ = true;
  if (context_.loop.copied_by_fork()) cut_copies();
  distribution_->stop();
  sending.lent().mute();
  receiving.stop();
  listeners_.clear();
  half_open_.clear();
  for (const auto& peer : peers_) cut(*peer);
  for (Timer* timer : {&flush_timer_, &acknowledge_timer_, &stall_timer_, &linger_timer_,
                       &crowd_timer_, &kept_timer_, &released_timer_, &records_timer_}) {
    timer->stop();
  }
  kept_memory_.close();
  cancel();
  context_.socket_closed();
}

// No descriptor and no memory that the parent's peers see is touched.
void SocketCore::freeze() noexcept {
  sending.stop();
  distribution_->freeze();
  receiving.stop();
}

// Cuts all links before anything else is released. When a peer goes, a pattern may post to others;
// in the child that must not reach their peers, which are connected to the parent, nor write to
// pages that the parent uses.
void SocketCore::cut_copies() noexcept {
  distribution_->freeze();
  for (const auto& peer : peers_) {
    if (peer->link() != nullptr) peer->link()->cut();
    peer->outgoing.detach();
  }
}

}  // namespace netio::detail
