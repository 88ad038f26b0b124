// See manager_core.hpp. Here: the connections of units and builders, what comes over them, and who
// is refused.
#include <type_traits>
#include <utility>

#include "base/out_of_memory.hpp"
#include "socket/socket_core.hpp"
#include "units/manager_core.hpp"

namespace netio::detail {

void ManagerCore::came_up(const PeerInfo& peer) {
  guard_memory(
      [&] {
        Member member;
        member.info = peer;
        members_.insert_or_assign(peer.id, std::move(member));
      },
      [&]() noexcept { fail(peer.id, out_of_memory()); });
  // Who was not told, because a wire lost it with the connection, comes back and hears it then.
  if (end_told_) refuse(peer.id, end_text(), ": ");
}

void ManagerCore::went_down(const PeerInfo& peer, const Down& down) {
  const auto found = members_.find(peer.id);
  if (found == members_.end()) {
    return tell(on_refused, peer, down.detail);
  }
  const Kind kind = found->second.kind;
  const std::uint32_t number = found->second.number;
  members_.erase(found);
  if (kind == Kind::none) return;
  look_at_time();
  std::uint64_t& connected = kind == Kind::unit ? unit_peers_[number] : builder_peers_[number];
  if (connected == peer.id) {
    connected = 0;
    kind == Kind::unit ? protocol_.unit_disconnected(number)
                       : protocol_.builder_disconnected(number);
  }
  tell(kind == Kind::unit ? on_unit_down : on_builder_down, number, peer, down);
}

void ManagerCore::take(const Batch& batch) noexcept {
  const std::uint64_t peer = socket_.sender_id();
  look_at_time();
  for (const MessageView message : batch) {
    const auto found = members_.find(peer);
    if (found == members_.end() || found->second.ending || closing_ || end_ != End::none) return;
    Member& member = found->second;
    guard_memory(
        [&] {
          SaidToManager said;
          const char* wrong = decode(message.bytes(), said);
          if (wrong == nullptr) wrong = take(peer, member, said);
          if (wrong != nullptr) refuse(peer, wrong);
        },
        [&]() noexcept {
          member.ending = true;
          fail(peer, out_of_memory());
        });
  }
}

// Null, or what is wrong with it.
const char* ManagerCore::take(std::uint64_t peer, Member& member, const SaidToManager& said) {
  return std::visit(
      [&]<typename Message>(const Message& each) -> const char* {
        if constexpr (std::is_same_v<Message, UnitJoins> || std::is_same_v<Message, BuilderJoins>) {
          return take_hello(peer, member, each);
        } else if constexpr (std::is_same_v<Message, Refused>) {
          refuse(peer,
                 "refuses this manager: " + std::string(each.why.substr(0, refused_bytes_max)));
        } else if (member.kind == Kind::none) {
          return "did not begin with a hello";
        } else if constexpr (std::is_same_v<Message, UnitProduced>) {
          if (member.kind != Kind::unit) return "sent what only a read-out unit sends";
          static_cast<void>(done([&] { protocol_.received(member.number, each); }));
        } else if constexpr (std::is_same_v<Message, BuilderReports>) {
          if (member.kind != Kind::builder) return "sent what only a builder unit sends";
          protocol_.received(member.number, each);
        } else {
          return take_addresses(member, each);
        }
        return nullptr;
      },
      said);
}

const char* ManagerCore::take_hello(std::uint64_t peer, Member& member, const UnitJoins& hello) {
  return join(peer, member, Kind::unit, hello.source,
              [&] { return protocol_.unit_connected(hello); });
}

const char* ManagerCore::take_hello(std::uint64_t peer, Member& member, const BuilderJoins& hello) {
  return join(peer, member, Kind::builder, hello.builder,
              [&] { return protocol_.builder_connected(hello); });
}

// `connect` answers with the protocol's objection.
template <typename Connect>
const char* ManagerCore::join(std::uint64_t peer, Member& member, Kind kind, std::uint32_t number,
                              Connect&& connect) {
  if (member.kind != Kind::none) return "said hello twice";
  std::vector<std::uint64_t>& peers = kind == Kind::unit ? unit_peers_ : builder_peers_;
  // The protocol says something from within the call, so the peer has its place before.
  std::uint64_t nowhere = 0;
  std::uint64_t& place = number < peers.size() ? peers[number] : nowhere;
  const std::uint64_t before = place;
  if (before == 0) place = peer;
  Objection objection;
  if (!done([&] { objection = connect(); })) return nullptr;
  if (objection) {
    place = before;
    socket_.give_number_up(before, objection);
    refuse(peer, objection.why, ": ");
    return nullptr;
  }
  place = peer;
  member.kind = kind;
  member.number = number;
  if (kind == Kind::unit) tell_addresses(peer, member);
  tell(kind == Kind::unit ? on_unit_up : on_builder_up, number, member.info);
  return nullptr;
}

// --- Who is refused.

void ManagerCore::refuse_unit(std::uint32_t source, std::string why) {
  refuse(unit_peers_[source], why);
}

void ManagerCore::refuse_builder(std::uint32_t builder, std::string why) {
  refuse(builder_peers_[builder], why);
}

// The connection ends at the end of the turn.
void ManagerCore::refuse(std::uint64_t peer, std::string_view why, const char* joint) noexcept {
  const auto found = members_.find(peer);
  if (found == members_.end() || std::exchange(found->second.ending, true)) return;
  Member& member = found->second;
  guard_memory(
      [&] {
        // If it does not get there, the connection ends all the same.
        static_cast<void>(socket_.send_to(peer, bytes_.of(Refused{why})));
        const std::string number = std::to_string(member.number);
        const std::string who = member.kind == Kind::none   ? "a unit or builder"
                                : member.kind == Kind::unit ? "unit " + number
                                                            : "builder " + number;
        member.refused = (who + joint).append(why);
      },
      [&]() noexcept { fail(peer, out_of_memory()); });
  loop_.defer(*this);
}

void ManagerCore::fail(std::uint64_t peer, Down down) noexcept {
  if (abandoned()) return;
  Peer* const found = socket_.core().find_peer(peer);
  if (found != nullptr) found->fail(std::move(down));
}

void ManagerCore::end_refused() noexcept {
  for (auto& each : members_) {
    Member& member = each.second;
    if (member.refused.empty()) continue;
    const std::string why = std::move(member.refused);
    member.refused.clear();
    fail(each.first, rejected(why));
    tell(on_refused, member.info, why);
  }
}

}  // namespace netio::detail
