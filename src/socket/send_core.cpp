// The user's calls on the data path, and the turn in which peers get their messages.
#include "socket/send_core.hpp"

#include <algorithm>
#include <utility>

#include "base/out_of_memory.hpp"
#include "memory/copy_thresholds.hpp"
#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

SendCore::SendCore(SocketCore& socket, ContextCore& context, Mode mode)
    : socket_(socket),
      copied_bytes_max_(context.options().page_bytes / gathered_page_part),
      mode_(mode),
      lent_(context.loop) {}

template <typename Offer>
Status SendCore::offer_in_turn(std::size_t bytes, Offer&& offer) noexcept {
  if (stopped_) [[unlikely]]
    return Status::closed;
  for (std::size_t too_small = 0; too_small < ready_.size();) {
    Peer& peer = ready_.next();
    const Status status = offer(peer);
    if (status == Status::ok) [[likely]] {
      ready_.next_turn();
      return status;
    }
    if (status == Status::too_big) {
      // For this peer; another may take it.
      ready_.next_turn();
      ++too_small;
    } else if (status == Status::again || status == Status::not_connected) {
      not_ready(peer);
      peer.behind_since_ns = socket_.context().loop.now().count();
    } else {
      return status;
    }
  }
  return refused(bytes);
}

// No peer that is ready takes a message of this size.
Status SendCore::refused(std::size_t bytes) noexcept {
  const bool all_ready = ready_.size() == socket_.peers_connected();
  if (bytes > socket_.options().message_bytes_max || (all_ready && !ready_.empty())) {
    return Status::too_big;
  }
  wanted_ = true;
  ++agains_;
  socket_.touch();
  return socket_.peers_connected() != 0 ? Status::again : Status::not_connected;
}

Status SendCore::send_slow(std::span<const std::byte> message, std::uint64_t tag) noexcept {
  const Status status = offer_in_turn(message.size(), [&](Peer& peer) noexcept {
    return mode_ == Mode::buffered ? peer.outgoing.gather(message, tag)
                                   : peer.outgoing.post_now(message, tag);
  });
  if (status == Status::ok) {
    bytes_sent_ += message.size();
    if (mode_ == Mode::unbuffered) socket_.fill_changed();
  }
  return status;
}

Status SendCore::send(Message& message) noexcept {
  if (!message) return Status::invalid;
  if (mode_ == Mode::buffered && message.size() <= copied_bytes_max_) {
    const Status status = send(message.bytes(), message.tag());
    if (status != Status::ok) return status;
    socket_.copies().add(message.size());
    message = Message();
    return status;
  }
  const std::span<const std::byte> bytes = message.bytes();
  Lease lease = Lease::adopt(message.release_block());
  const Status status = offer_in_turn(bytes.size(), [&](Peer& peer) noexcept {
    OutgoingStream& stream = peer.outgoing;
    if (!stream.copies_to_resend(*lease.get(), bytes.size())) {
      return stream.pass(lease, bytes, message.tag());
    }
    const Status copied = stream.post_now(bytes, message.tag());
    if (copied == Status::ok) {
      socket_.copies().add(bytes.size());
      lease.reset();
    }
    return copied;
  });
  if (status == Status::ok) {
    bytes_sent_ += bytes.size();
    socket_.fill_changed();
    message = Message();
  } else {
    message.take_back(lease.release());
  }
  return status;
}

// Allocates for the peer whose turn it is. A user who gets no memory here can still send messages
// that need none.
Message SendCore::allocate(std::size_t bytes, std::uint64_t tag, Status& status) noexcept {
  if (stopped_ || ready_.empty()) {
    status = stopped_ ? Status::closed : refused(bytes);
    return {};
  }
  Lease lease = ready_.next().outgoing.allocate(bytes, status);
  if (!lease) {
    if (status == Status::again) {
      wanted_ = true;
      ++agains_;
    }
    return {};
  }
  std::byte* const payload = lease->data() + loan_headroom;
  return Message::writable(lease.release(), {payload, bytes}, tag);
}

Status SendCore::lend(std::span<const std::byte> message, std::uint64_t token,
                      std::uint64_t tag) noexcept {
  Lease lease = lent_.lend(message, token);
  if (!lease) return Status::again;
  const Status status = offer_in_turn(
      message.size(), [&](Peer& peer) noexcept { return peer.outgoing.pass(lease, message, tag); });
  if (status == Status::ok) {
    bytes_sent_ += message.size();
    socket_.fill_changed();
  } else {
    lent_.take_back(std::move(lease));
  }
  return status;
}

std::span<std::byte> SendCore::reserve(std::size_t bytes, Status& status) noexcept {
  std::span<std::byte> room;
  reserved_ = nullptr;
  if (mode_ != Mode::buffered) {
    status = Status::invalid;
    return room;
  }
  status = offer_in_turn(bytes, [&](Peer& peer) noexcept {
    Status answer = Status::ok;
    room = peer.outgoing.reserve(bytes, answer);
    if (answer == Status::ok) reserved_ = &peer;
    return answer;
  });
  return room;
}

Status SendCore::commit(std::size_t bytes, std::uint64_t tag) noexcept {
  if (stopped_) return Status::closed;
  if (reserved_ == nullptr) return Status::invalid;
  const Status status = std::exchange(reserved_, nullptr)->outgoing.commit(bytes, tag);
  if (status == Status::ok) bytes_sent_ += bytes;
  return status;
}

void SendCore::flush() noexcept {
  if (stopped_) return;
  for (const auto& peer : socket_.peers()) peer->outgoing.flush();
}

// The socket may be one that receives, and sends nothing.
void SendCore::lost(Peer& peer, std::uint64_t first, std::uint64_t count) noexcept {
  socket_.receiving.tell_gap(peer, {first, count, DropReason::connection_lost});
}

// Returns whether a page stays open. If the wire keeps up, none does, and no timer is needed.
bool SendCore::end_turn() noexcept {
  if (mode_ != Mode::buffered) return false;
  bool pending = false;
  for (const auto& peer : socket_.peers()) {
    peer->outgoing.end_turn(socket_.options().flush_when_idle);
    pending = pending || peer->outgoing.pending();
  }
  return pending;
}

// Of the peer with the most room.
double SendCore::fill() const noexcept {
  double least = 1.0;
  for (const Peer* const peer : ready_) least = std::min(least, peer->outgoing.link_fill());
  return least;
}

void SendCore::add_to(Counters& counters) const noexcept {
  counters.bytes_sent += bytes_sent_;
  counters.agains += agains_;
}

void SendCore::ready(Peer& peer) noexcept {
  peer.behind_since_ns = 0;
  if (stopped_) return;
  guard_memory([&] { ready_.join(peer); }, [&]() noexcept { peer.fail(out_of_memory()); });
}

void SendCore::tell_writable() noexcept {
  if (!wanted_ || stopped_ || ready_.empty()) return;
  wanted_ = false;
  if (on_writable) on_writable();
}

void SendCore::not_ready(Peer& peer) noexcept {
  if (reserved_ == &peer) reserved_ = nullptr;
  ready_.leave(peer);
}

void SendCore::stop() noexcept {
  stopped_ = true;
  reserved_ = nullptr;
  ready_.clear();
}

}  // namespace netio::detail
