// The socket of a read-out unit to one builder, and that of a builder to all its units; the socket
// of an event manager to all units and builders, and that of each of them to it. All send and
// receive. The classes of the public headers are made of these.
#pragma once

#include <netio/context.hpp>
#include <netio/peer.hpp>
#include <netio/receiving.hpp>
#include <netio/sending.hpp>
#include <netio/socket.hpp>

#include "build/objection.hpp"

namespace netio::detail {

class ContextCore;
class SocketCore;

// As on_down() is told of a peer that on_up() was not told of, because it was never accepted.
[[nodiscard]] PeerInfo never_up(const PeerInfo& peer) noexcept;

class BuildSocket : public Socket, public Sending, public Receiving {
 public:
  [[nodiscard]] SocketCore& core() noexcept { return *core_; }
  [[nodiscard]] ContextCore& context() noexcept;
  // Its owner is about to be destroyed: see Buriable.
  void abandon() noexcept;
  // Ends the connections that are up, for this reason.
  void fail(const Down& down) noexcept;
  // A newcomer is refused. If that is because `peer` has its number, and has been silent for too
  // long, ends the connection of that peer, and says so in the objection.
  void give_number_up(std::uint64_t peer, Objection& objection);
  // What was for peers that are not up, and is not posted: on their next connections something else
  // has to come first.
  void forget_unsent() noexcept;
  // The peer that is up, if there is one. Otherwise it has no id.
  [[nodiscard]] PeerInfo peer_up() noexcept;

 protected:
  explicit BuildSocket(std::unique_ptr<SocketCore> core);
  ~BuildSocket() = default;
};

class ReadoutSocket final : public BuildSocket {
 public:
  // Throws Error for options that make no sense.
  ReadoutSocket(Context& context, const SocketOptions& options);
};

class BuilderSocket final : public BuildSocket {
 public:
  // Throws Error for options that make no sense.
  BuilderSocket(Context& context, const SocketOptions& options);
};

class ManagerSocket final : public BuildSocket {
 public:
  // Throws Error for options that make no sense.
  ManagerSocket(Context& context, const SocketOptions& options);
};

// It connects to one manager. The hello says whether it is of a unit or of a builder.
class MemberSocket final : public BuildSocket {
 public:
  // Throws Error for options that make no sense.
  MemberSocket(Context& context, const SocketOptions& options);
};

}  // namespace netio::detail
