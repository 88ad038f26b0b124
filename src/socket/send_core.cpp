// The user's calls on the data path, and the turn in which peers get their messages.
#include "socket/send_core.hpp"

#include <algorithm>
#include <utility>

#include "base/out_of_memory.hpp"
#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

SendCore::SendCore(SocketCore& socket, ContextCore& context, Mode mode, bool by_tag)
    : socket_(socket),
      mode_(mode),
      tag_peers_(by_tag ? std::make_unique<TagPeers>() : nullptr),
      lent_(context.loop) {}

template <typename Offer>
Status SendCore::offer_to(const Target& target, std::size_t bytes, Offer&& offer) noexcept {
  if (stopped_) [[unlikely]]
    return Status::closed;
  if (in_turn(target)) return offer_in_turn(bytes, offer);
  Status status = Status::ok;
  Peer* const peer = find(target, bytes, status);
  if (peer == nullptr) return status;
  status = offer(*peer);
  if (status == Status::again || status == Status::not_connected) {
    leave_turn(*peer);
    peer->behind_since_ns = socket_.context().loop.now().count();
    return refused_by(peer, target, status);
  }
  return status;
}

// The one peer that the message is for. Null, with the answer, if it cannot be offered to it now.
Peer* SendCore::find(const Target& target, std::size_t bytes, Status& status) noexcept {
  Peer* const peer = target.peer ? socket_.find_peer(*target.peer) : tag_peers_->of(target.tag);
  status = bytes > socket_.options().message_bytes_max ? Status::too_big : Status::ok;
  if (status != Status::ok) return nullptr;
  if (peer == nullptr || !peer->send_state.connected) {
    status = refused_by(peer, target, Status::not_connected);
    return nullptr;
  }
  status = peer->outgoing.sendable(bytes);
  if (status == Status::ok && !peer->send_state.ready) {
    status = refused_by(peer, target, Status::again);
  }
  return status == Status::ok ? peer : nullptr;
}

// A tag whose peer is just being lost goes to another one, if there is one: that is `again`.
Status SendCore::refused_by(Peer* peer, const Target& target, Status status) noexcept {
  ++agains_;
  socket_.touch();
  if (target.peer) {
    (peer != nullptr ? peer->send_state.owed_by_name : absent_) = true;
    return status;
  }
  (peer != nullptr ? peer->send_state.owed_to_any : wanted_) = true;
  return peer != nullptr ? Status::again : status;
}

template <typename Offer>
Status SendCore::offer_in_turn(std::size_t bytes, Offer&& offer) noexcept {
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
      leave_turn(peer);
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
  // No peer is in the turn of a socket that is closed, or that sends by tag.
  if (ready_.empty()) [[unlikely]]
    return gather({{}, tag}, message);
  const auto put = [&](Peer& peer) noexcept { return peer.outgoing.put(message, tag, mode_); };
  return sent(offer_in_turn(message.size(), put), message.size());
}

Status SendCore::gather(const Target& target, std::span<const std::byte> message) noexcept {
  const auto put = [&](Peer& peer) noexcept {
    return peer.outgoing.put(message, target.tag, mode_);
  };
  return sent(offer_to(target, message.size(), put), message.size());
}

Status SendCore::sent(Status status, std::size_t bytes) noexcept {
  if (status != Status::ok) return status;
  bytes_sent_ += bytes;
  if (mode_ == Mode::unbuffered) socket_.fill_changed();
  return status;
}

Status SendCore::put_segments(const Target& target, const SegmentList& segments) noexcept {
  if (!segments.make_sense()) return Status::invalid;
  const std::size_t bytes = segments.bytes();
  const Status status = offer_to(target, bytes, [&](Peer& peer) noexcept {
    return peer.outgoing.put(segments, target.tag, mode_);
  });
  if (status == Status::ok) {
    segments.take_messages();
    bytes_sent_ += bytes - segment_table_bytes(segments.count());
    socket_.fill_changed();
  }
  return status;
}

Status SendCore::pass(const Target& target, Message& message) noexcept {
  if (!message) return Status::invalid;
  const std::size_t bytes = message.size();
  const Status status = offer_to(target, payload_of(message).size(), [&](Peer& peer) noexcept {
    return peer.outgoing.put(message, target.tag, mode_);
  });
  if (status == Status::ok) {
    bytes_sent_ += bytes;
    socket_.fill_changed();
  }
  return status;
}

Status SendCore::send(MessageCursor& messages, const PageOptions& options) noexcept {
  // What a peer may change is copied frame by frame, and each word of it read once.
  const Block* const memory = messages.page().block();
  bool as_it_is =
      messages.framed() && !tag_peers_ && memory != nullptr && !memory->owner()->peer_writes();
  Status status = Status::ok;
  while (status == Status::ok && messages.left() != 0) {
    status = pass_page(messages, options, as_it_is);
  }
  if (status == Status::ok) socket_.fill_changed();
  return status;
}

// All of them at once, if the peer whose turn it is takes them as they are; or the first one.
Status SendCore::pass_page(MessageCursor& messages, const PageOptions& options,
                           bool& as_it_is) noexcept {
  const std::span<const std::byte> frames = messages.rest();
  FrameSums sums;
  if (as_it_is) {
    const bool known = options.sums != nullptr && options.sums->messages == messages.left();
    sums = known ? *options.sums : sum_frames(frames, messages.left());
  }
  MessageCursor next = messages;
  MessageCursor::Place first;
  if (!next.next(first)) {  // the peer has changed its page
    messages = {};
    return Status::ok;
  }
  Lease page;
  const Target target{{}, first.tag};
  const Status status = offer_to(target, first.bytes, [&](Peer& peer) noexcept {
    Status answer = Status::ok;
    as_it_is = peer.outgoing.takes_page(sums, frames.size());
    if (as_it_is) {
      if (!page) page = Lease::adopt(messages.page().share().release_block());
      answer = peer.outgoing.put_page(page, frames, sums.messages, mode_, options.copies);
      if (answer == Status::ok) bytes_sent_ += sums.bytes;
    } else {
      answer = pass_first(peer, next.view(first), options.copies);
    }
    if (answer == Status::ok && options.takers != nullptr) options.takers->took(peer);
    return answer;
  });
  if (status == Status::ok) messages = as_it_is ? MessageCursor() : next;
  return status;
}

Status SendCore::pass_first(Peer& peer, const MessageView& view, bool copies) noexcept {
  OutgoingStream& stream = peer.outgoing;
  const bool gathers = mode_ == Mode::buffered && !view.segmented() && stream.gathers(view.size());
  // What is gathered needs no count on its memory.
  if (gathers && stream.gather_at_once(view.bytes(), view.tag())) {
    socket_.copies().add(view.size());
    bytes_sent_ += view.size();
    return Status::ok;
  }
  Message message = view.share();
  const Status status =
      copies ? stream.put_copy(message, view.tag(), mode_) : stream.put(message, view.tag(), mode_);
  if (status == Status::ok) bytes_sent_ += view.size();
  return status;
}

// Allocates for the peer that the message is for, or whose turn it is. A user who gets no memory
// here can still send messages that need none.
Message SendCore::allocate_by(const Target& target, std::size_t bytes, Status& status,
                              std::size_t head_bytes) noexcept {
  if (stopped_) {
    status = Status::closed;
    return {};
  }
  Peer* peer = nullptr;
  if (!in_turn(target)) {
    peer = find(target, bytes, status);
  } else if (ready_.empty()) {
    status = refused(bytes);
  } else {
    peer = &ready_.next();
  }
  if (peer == nullptr) return {};
  Message message = peer->outgoing.allocate_message(bytes, target.tag, status, head_bytes);
  if (status == Status::again && !in_turn(target)) {
    status = refused_by(peer, target, status);
  } else if (status == Status::again) {
    wanted_ = true;
    ++agains_;
  }
  return message;
}

Status SendCore::lend_by(const Target& target, std::span<const std::byte> message,
                         std::uint64_t token) noexcept {
  Lease lease = lent_.lend(message, token);
  if (!lease) return Status::again;
  const Status status = offer_to(target, message.size(), [&](Peer& peer) noexcept {
    return peer.outgoing.pass(lease, message, target.tag);
  });
  if (status == Status::ok) {
    bytes_sent_ += message.size();
    socket_.fill_changed();
  } else {
    lent_.take_back(std::move(lease));
  }
  return status;
}

Status SendCore::lend(std::span<const Segment> segments, std::uint64_t token,
                      std::uint64_t tag) noexcept {
  if (segments.empty() || segments.back().message() != nullptr) return Status::invalid;
  Lease lease = lent_.lend(segments.back().bytes(), token);
  if (!lease) return Status::again;
  Block* lent = lease.release();
  const Status status = put_segments({{}, tag}, SegmentList(segments, &lent));
  lease = Lease::adopt(lent);
  if (status != Status::ok) lent_.take_back(std::move(lease));
  return status;
}

std::span<std::byte> SendCore::reserve(std::size_t bytes, Status& status) noexcept {
  std::span<std::byte> room;
  reserved_ = nullptr;
  if (mode_ != Mode::buffered || tag_peers_) {
    status = Status::invalid;
    return room;
  }
  status = offer_to({}, bytes, [&](Peer& peer) noexcept {
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
  if (!stopped_) socket_.flush_streams();
}

// The socket may be one that receives, and sends nothing.
void SendCore::lost(Peer& peer, std::uint64_t first, std::uint64_t count) noexcept {
  socket_.receiving.tell_gap(peer, {first, count, DropReason::connection_lost});
}

bool SendCore::end_turn() noexcept { return socket_.end_turn_of_streams(); }

// Of the peer with the most room; by tag, of the one with the least.
double SendCore::fill() const noexcept {
  if (tag_peers_) {
    double most = tag_peers_->empty() ? 1.0 : 0.0;
    for (const TagPeers::Member& member : tag_peers_->members()) {
      const Peer& peer = *member.peer;
      most = std::max(most, peer.send_state.ready ? peer.outgoing.link_fill() : 1.0);
    }
    return most;
  }
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
  if (stopped_ || peer.closing()) return;
  guard_memory([&] { join(peer); }, [&]() noexcept { peer.fail(out_of_memory()); });
}

// If this peer was named, or has the tag, in calls that were refused, the user is called at the end
// of the turn: once for all such peers.
void SendCore::join(Peer& peer) {
  SendState& state = peer.send_state;
  if (!tag_peers_) {
    ready_.join(peer);
  } else if (!state.connected) {
    tag_peers_->join({peer.stream().peer_run, peer.id(), &peer});
  }
  // A newcomer may be the peer that was named, or have taken over a tag that was refused.
  bool due = !std::exchange(state.connected, true) &&
             (std::exchange(absent_, false) || a_tag_was_refused());
  state.ready = true;
  if (std::exchange(state.owed_by_name, false)) due = true;
  if (std::exchange(state.owed_to_any, false)) due = true;
  if (due) socket_.context().loop.defer(*this);
}

bool SendCore::a_tag_was_refused() const noexcept {
  if (!tag_peers_) return false;
  const auto owed = [](const TagPeers::Member& member) {
    return member.peer->send_state.owed_to_any;
  };
  return wanted_ || std::ranges::any_of(tag_peers_->members(), owed);
}

void SendCore::tell_writable() noexcept {
  if (wanted_ && !stopped_ && !ready_.empty()) tell();
}

void SendCore::tell() noexcept {
  cancel();
  if (stopped_) return;
  // If nobody takes anything now, what was sent to nobody in particular would be refused again.
  wanted_ = wanted_ && (tag_peers_ ? tag_peers_->empty() : ready_.empty());
  writable.call();
}

void SendCore::leave_turn(Peer& peer) noexcept {
  if (reserved_ == &peer) reserved_ = nullptr;
  ready_.leave(peer);
  peer.send_state.ready = false;
}

// Its connection ends. A refusal by name is answered by the next connection, if there will be one.
// The tags of the peer are those of others from now on.
void SendCore::not_ready(Peer& peer) noexcept {
  leave_turn(peer);
  SendState& state = peer.send_state;
  if (std::exchange(state.connected, false) && tag_peers_) tag_peers_->leave(peer.id());
  bool due = std::exchange(state.owed_to_any, false);
  if (peer.gone() && std::exchange(state.owed_by_name, false)) due = true;
  if (due && !stopped_) socket_.context().loop.defer(*this);
}

void SendCore::stop() noexcept {
  stopped_ = true;
  cancel();
  reserved_ = nullptr;
  ready_.clear();
}

}  // namespace netio::detail
