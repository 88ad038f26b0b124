// RequestCore: a request to every peer that is up, each with an id of its own. All of them take it,
// or none.
#include <algorithm>
#include <utility>

#include "base/out_of_memory.hpp"
#include "pattern/request/request_core.hpp"
#include "socket/context_core.hpp"
#include "socket/message_to_all.hpp"
#include "socket/option_bounds.hpp"
#include "socket/socket_core.hpp"
#include "wire/request.hpp"

namespace netio::detail {

namespace {

// Whether there can ever be memory for so many copies like that of this stream, at once. All peers
// may be strangers, which may have no more of a store than their quota.
bool may_have_copies(const OutgoingStream& stream, const MessageToAll& request,
                     std::size_t copies) noexcept {
  const Supplies from = stream.supplies();
  if (request.frame_bytes() <= stream.body_max()) return copies <= from.pages.blocks();
  const std::size_t bytes = wire_padded(request.bytes().size());
  const std::size_t each = from.loans != nullptr ? RangePool::charged_bytes(loan_headroom + bytes)
                                                 : LargePool::charged_bytes(bytes);
  const Quota& strangers = from.loans != nullptr ? from.loans->strangers() : from.large.strangers();
  return each <= strangers.bytes_max() / copies;
}

}  // namespace

// Asks all peers, until one answers anything but ok. A peer that refuses says when it has room: it
// is not asked again before.
template <typename Call>
Status RequestCore::ask_each(Call&& call) noexcept {
  for (const auto& each : socket_.peers()) {
    Peer& peer = *each;
    if (!may_ask(peer)) continue;
    const Status status = call(peer);
    if (status == Status::ok) continue;
    if (status == Status::again || status == Status::not_connected) {
      ready_.leave(peer);
      peer.behind_since_ns = socket_.context().loop.now().count();
    }
    return status;
  }
  return Status::ok;
}

// Whether waiting helps is known before anybody has to make way.
Status RequestCore::prepare_for_all(MessageToAll& request, std::size_t count) noexcept {
  const std::size_t bytes = request.bytes().size();
  if (bytes > socket_.options().message_bytes_max) return Status::too_big;
  bool room = true;
  for (const auto& each : socket_.peers()) {
    Peer& peer = *each;
    if (!may_ask(peer)) continue;
    const bool too_big = peer.outgoing.sendable(bytes) == Status::too_big;
    if (too_big || !may_have_copies(peer.outgoing, request, count)) return Status::too_big;
    room = room && !full(*find(peer)) && peer.behind_since_ns == 0;
  }
  if (count == 0) return Status::not_connected;
  if (!room) return Status::again;
  const Status status =
      ask_each([&](Peer& peer) noexcept { return peer.outgoing.make_way_for(request); });
  if (status != Status::ok) return status;
  return ask_each([&](Peer& peer) noexcept {
    return peer.outgoing.take_copy(request, peer.send_state.copy_to_all);
  });
}

// What so many requests need here: their records, deadlines and copies, and room to tell of them.
// Without memory the user tries again in the next turn.
bool RequestCore::prepare_records(std::span<const std::byte> bytes, std::size_t count,
                                  const Ask& ask, std::vector<Message>& copies,
                                  std::vector<PeerRequest>& asked) noexcept {
  bool prepared =
      pending_.has_free(count) && (ask.within.count() == 0 || make_room_for_deadlines(count));
  guard_memory(
      [&] {
        asked.reserve(count);
        copies.resize(count);
        if (!prepared || !ask.idempotent) return;
        for (Message& copy : copies) copy = Message::copy_of(bytes);
      },
      [&]() noexcept { prepared = false; });
  if (prepared) return true;
  worth_trying_ = true;
  socket_.context().loop.defer(*this);
  return false;
}

ToAll RequestCore::send_to_all(std::span<const std::byte> bytes, std::vector<PeerRequest>& asked,
                               const Ask& ask) noexcept {
  asked.clear();
  if (stopped_) return {Status::closed, 0, 0};
  if (ask.within.count() < 0 || ask.within > time_most || ask.peer != 0) {
    return {Status::invalid, 0, 0};
  }
  const auto count = static_cast<std::size_t>(std::ranges::count_if(
      socket_.peers(), [](const auto& peer) noexcept { return may_ask(*peer); }));
  const std::int64_t within_ns = ask.within.count();
  const Label label = request_label(0, within_ns != 0 ? time_left_field_of_ns(within_ns) : 0);
  MessageToAll request(bytes, label, socket_.options().mode, MessageToAll::Labels::each);
  ToAll answer{prepare_for_all(request, count), 0, socket_.peers_away(may_ask)};
  std::vector<Message> copies;
  if (answer.status == Status::ok && !prepare_records(bytes, count, ask, copies, asked)) {
    answer.status = Status::again;
  }
  for (const auto& peer : socket_.peers()) {
    Lease copy = std::move(peer->send_state.copy_to_all);
    if (answer.status != Status::ok || !may_ask(*peer)) continue;
    Ask one = ask;
    one.peer = peer->id();
    const std::uint64_t id =
        put_to_all(*peer, request, std::move(copy), std::move(copies[answer.peers]), one);
    asked.push_back({peer->id(), id});
    ++answer.peers;
  }
  std::ranges::sort(asked, {}, &PeerRequest::peer);
  if (answer.status == Status::again || answer.status == Status::not_connected) {
    (void)refused(bytes.size());
  }
  return answer;
}

}  // namespace netio::detail
