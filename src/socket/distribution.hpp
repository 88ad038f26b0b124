// Which peer gets which message: a pattern decides, and its socket and peers ask. Owner thread
// only.
#pragma once

#include <cstdint>

#include <netio/books.hpp>
#include <netio/peer.hpp>
#include <netio/status.hpp>

#include "wire/frame.hpp"

namespace netio::detail {

class Peer;

class Distribution {
 public:
  Distribution() = default;
  Distribution(const Distribution&) = delete;
  Distribution& operator=(const Distribution&) = delete;
  virtual ~Distribution() = default;

  // From the loop: the peer came up, or its link has room again and it has been given all that was
  // taken for it.
  virtual void ready(Peer& peer) noexcept = 0;
  // The peer takes nothing until ready() is called again.
  virtual void not_ready(Peer& peer) noexcept = 0;
  // The user lets the peer go: it gets no new message any more. Never calls the user.
  virtual void let_go(Peer& peer) noexcept { not_ready(peer); }
  // The peer is still to answer what it was asked: a good-bye waits for that.
  [[nodiscard]] virtual bool expects(const Peer&) const noexcept { return false; }
  // From the loop: the connection ended. Messages that were taken for the peer and not posted stay
  // with it for the next connection, unless the pattern drops them here.
  virtual void connection_ended(Peer& peer, DropReason reason) noexcept = 0;
  // The stream of the peer will not go on, or not with what the pattern has kept for it.
  virtual void given_up(Peer&, DropReason) noexcept {}
  // Its connection ended, and the pattern keeps something for it: an accepted peer stays until the
  // stream comes back, or is given up.
  [[nodiscard]] virtual bool awaits(const Peer&) const noexcept { return false; }
  // A connection of the stream is coming up. The peer has received what stands before this
  // position, except what earlier calls told of. What is sent again begins at
  // outgoing.books().expected.
  virtual void settled(Peer&, std::uint64_t /*arrived*/) noexcept {}
  // The peer has said good-bye: it has received what it has acknowledged, and will receive nothing
  // more. connection_ended() follows.
  virtual void ended_in_order(Peer&) noexcept {}
  // The stream of the first one, which the pattern awaits, goes on with the second one.
  virtual void comes_as(Peer& /*gone*/, Peer& /*peer*/) noexcept {}
  // The peer is sent what it can do without: it does not make others wait, also for memory.
  [[nodiscard]] virtual bool may_drop(const Peer&) const noexcept { return false; }
  // From the loop: the wire has nothing left to send, and pages are to leave when it is idle.
  virtual void wire_idle(Peer& peer) noexcept = 0;
  // Takes a control frame of this pattern. Returns what is wrong with it, or null. Throws
  // std::bad_alloc; the connection must be ended then.
  virtual const char* take_control(Peer& peer, const Frame& frame) = 0;
  // `count` messages from the peer, from the number `first` on, were lost with a connection.
  virtual void lost(Peer&, std::uint64_t /*first*/, std::uint64_t /*count*/) noexcept {}
  // Messages taken for the peer that its outgoing stream does not know of yet.
  [[nodiscard]] virtual std::uint64_t gathered_for(const Peer&) const noexcept { return 0; }
  // True if the peer may hold large memory for as long as it likes, even if others lack it.
  [[nodiscard]] virtual bool bears_with(const Peer&) const noexcept { return false; }
  // Fills in what the pattern knows: the policy, and what waits that the stream does not know of.
  virtual void describe(const Peer&, PeerSnapshot&) const {}
  // From the loop: calls the user, if a call of the user was refused that may succeed now.
  virtual void tell_writable() noexcept = 0;

  // The turn is over: open pages go to wires that have nothing else to do. Returns true if a page
  // stays open; flush() must be called in time then.
  virtual bool end_turn() noexcept = 0;
  virtual void flush() noexcept = 0;
  // Closing: every call is answered with closed from now on.
  virtual void stop() noexcept = 0;
  // Of a pattern that sends: how near it is to answering again, from 0 to 1. Looks at every peer.
  [[nodiscard]] virtual double fill() const noexcept = 0;
  // In a child of fork(): calls answer closed from now on, and nothing leaves.
  virtual void freeze() noexcept = 0;
  virtual void add_to(Counters& counters) const noexcept = 0;
};

}  // namespace netio::detail
