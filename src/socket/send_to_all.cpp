// SendCore: a message to every peer that is up. All of them take it, or none.
#include <utility>

#include "socket/context_core.hpp"
#include "socket/message_to_all.hpp"
#include "socket/send_core.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

template <typename Call>
void SendCore::each_connected(Call&& call) noexcept {
  for (const auto& peer : socket_.peers()) {
    if (peer->send_state.connected) call(*peer);
  }
}

// Asks all connected peers, until one answers anything but ok. What has to wait for a peer is
// refused as a message by its tag is: the user is called when the peer takes something again, and
// also when it is lost, because the others may take the message then.
template <typename Ask>
Status SendCore::ask_all(const MessageToAll& message, Ask&& ask) noexcept {
  Status status = Status::ok;
  each_connected([&](Peer& peer) noexcept {
    if (status != Status::ok) return;
    status = ask(peer);
    if (status != Status::again && status != Status::not_connected) return;
    if (peer.send_state.ready) {
      leave_turn(peer);
      peer.behind_since_ns = socket_.context().loop.now().count();
    }
    status = refused_by(&peer, {{}, message.label().number}, status);
  });
  return status;
}

// Whether waiting helps is known before anybody has to make way.
Status SendCore::prepare_for_all(MessageToAll& message) noexcept {
  const std::size_t bytes = message.bytes().size();
  if (bytes > socket_.options().message_bytes_max) return Status::too_big;
  bool anybody = false;
  bool too_big = false;
  each_connected([&](const Peer& peer) noexcept {
    anybody = true;
    too_big = too_big || peer.outgoing.sendable(bytes) == Status::too_big;
  });
  if (too_big) return Status::too_big;
  if (!anybody) return refused_by(nullptr, {{}, message.label().number}, Status::not_connected);
  const Status status = ask_all(message, [&](Peer& peer) noexcept {
    return peer.send_state.ready ? peer.outgoing.make_way_for(message) : Status::again;
  });
  if (status != Status::ok) return status;
  return ask_all(message, [&](Peer& peer) noexcept {
    return peer.outgoing.take_copy(message, peer.send_state.copy_to_all);
  });
}

ToAll SendCore::send_to_all(std::span<const std::byte> bytes, std::uint64_t tag) noexcept {
  if (stopped_) return {Status::closed, 0, 0};
  ToAll answer;
  {
    MessageToAll message(bytes, tag, mode_);
    answer.status = prepare_for_all(message);
    each_connected([&](Peer& peer) noexcept {
      Lease copy = std::move(peer.send_state.copy_to_all);
      if (answer.status != Status::ok) return;
      peer.outgoing.put_to_all(message, message.label(), std::move(copy));
      ++answer.peers;
    });
  }
  answer.away =
      socket_.peers_away([](const Peer& peer) noexcept { return peer.send_state.connected; });
  if (answer.status == Status::ok) {
    bytes_sent_ += bytes.size() * answer.peers;
    socket_.fill_changed();
  }
  return answer;
}

}  // namespace netio::detail
