// See build_socket.hpp.
#include "units/build_socket.hpp"

#include <memory>
#include <utility>

#include "base/out_of_memory.hpp"
#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"
#include "units/manager_codec.hpp"

namespace netio::detail {

static constexpr Pattern readout_facts{
    WirePattern::readout, WirePattern::builder, true, true, 1, false, false, true};
static constexpr Pattern builder_facts{
    WirePattern::builder, WirePattern::readout, true, true, SIZE_MAX, true, true, true};
static constexpr Pattern manager_facts{
    WirePattern::manager, WirePattern::member, true, true, SIZE_MAX, false, true, true};
static constexpr Pattern member_facts{
    WirePattern::member, WirePattern::manager, true, true, 1, false, false, true};

// The store of the unit is the copy that counts.
static SocketOptions without_resume(SocketOptions options) {
  options.mode = Mode::buffered;
  options.distribute = Distribute::in_turn;
  options.resume_bytes_max = 0;
  options.acknowledge = Acknowledge::delivered;
  return options;
}

// Messages of a manager are bounded, so that a peer that lies cannot make it take more memory.
static SocketOptions to_manager(SocketOptions options) {
  options.message_bytes_max = manager_message_bytes_max;
  return without_resume(std::move(options));
}

BuildSocket::BuildSocket(std::unique_ptr<SocketCore> core)
    : Socket(std::move(core)), Sending(core_->sending), Receiving(core_->receiving) {}

ContextCore& BuildSocket::context() noexcept { return core_->context(); }

void BuildSocket::abandon() noexcept { core_->abandon(); }

void BuildSocket::fail(const Down& down) noexcept {
  for (const auto& peer : core_->peers()) {
    if (!peer->up()) continue;
    guard_memory([&] { peer->fail(down); },
                 [&]() noexcept { peer->fail(out_of_memory(down.reason)); });
  }
}

void BuildSocket::give_number_up(std::uint64_t peer, Objection& objection) {
  Peer* const silent = objection.number_taken ? core_->find_peer(peer) : nullptr;
  if (silent == nullptr || silent->silent_ns() == 0) return;
  silent->give_place();
  objection.why += "; that process is silent and given up now: come again";
}

void BuildSocket::forget_unsent() noexcept {
  for (const auto& peer : core_->peers()) {
    if (!peer->up()) peer->outgoing.drop_pending(DropReason::not_sent);
  }
}

PeerInfo BuildSocket::peer_up() noexcept {
  for (const auto& peer : core_->peers()) {
    if (peer->up()) return peer->info(true);
  }
  return {};
}

PeerInfo never_up(const PeerInfo& peer) noexcept {
  PeerInfo info;
  guard_memory([&] { info = peer; }, []() noexcept {});
  info.was_up = false;
  return info;
}

ReadoutSocket::ReadoutSocket(Context& context, const SocketOptions& options)
    : BuildSocket(
          std::make_unique<SocketCore>(context.core(), without_resume(options), readout_facts)) {}

BuilderSocket::BuilderSocket(Context& context, const SocketOptions& options)
    : BuildSocket(
          std::make_unique<SocketCore>(context.core(), without_resume(options), builder_facts)) {}

ManagerSocket::ManagerSocket(Context& context, const SocketOptions& options)
    : BuildSocket(
          std::make_unique<SocketCore>(context.core(), to_manager(options), manager_facts)) {}

MemberSocket::MemberSocket(Context& context, const SocketOptions& options)
    : BuildSocket(std::make_unique<SocketCore>(context.core(), to_manager(options), member_facts)) {
}

}  // namespace netio::detail
