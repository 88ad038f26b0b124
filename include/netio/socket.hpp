// What all sockets have in common: addresses, peers, books, closing. Owner thread only.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <netio/books.hpp>
#include <netio/context.hpp>
#include <netio/export.hpp>
#include <netio/not_there_yet.hpp>
#include <netio/options.hpp>
#include <netio/peer.hpp>
#include <netio/status.hpp>

namespace netio {

namespace detail {
class SocketCore;
}

// Call-backs run on the owner thread, inside a loop turn, and never from inside a call that the
// user made. They may send, pause, close or destroy their own socket, and any other object of the
// context. They must not throw: an exception that leaves one ends the process (std::terminate). Set
// them before bind() or connect(), or at any time later. If a call-back is replaced while it runs,
// the new one is called from the next time on.
class NETIO_API Socket {
 public:
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // Listens at `address`: "tcp://host:port" (host * for all, port 0 for any free one), "shm://name"
  // or "shm:///path" (shm://* for any free name), "inproc://name", "verbs://host:port",
  // "ofi+PROVIDER://host:port", or "netio://host:port", the best wire that both ends have. May be
  // called any number of times, mixed with connect(). Returns the address with the real port or
  // name. Throws Error: NotThereYet, if the address may be there later.
  std::string bind(std::string_view address);
  // Begins to connect; the peer need not exist yet, nor its host name. An attempt that fails is
  // told by on_down, and repeated unless it can never succeed. Throws Error only if the address
  // makes no sense.
  void connect(std::string_view address);

  // Lets one peer go (PeerInfo::id). No later message is sent to the peer, and a connection attempt
  // is given up at once. Messages that were taken for the peer are delivered; if this side dialed
  // the peer, and the connection breaks, also on the next connection. Then the socket says
  // good-bye, dials no more, forgets the peer, and calls on_down with DownReason::closed_here (or
  // what its connection ended for before that) and the last books. After `linger` the peer is given
  // up, as by close(). Never blocks; calls no call-back before the loop turns. May be called in all
  // of them. A second call sets a new `linger`. False: no such peer, or the socket was closed.
  //
  // Messages from the peer are not delivered any more; the peer counts them as dropped, by
  // DropReason::peer_closed. A Request still takes the answers of the peer: the good-bye waits for
  // all requests that are under way there. After `linger` they end as if the peer were gone for
  // good. A Reply ends the peer's open requests, as Outcome::not_answered. A peer that connected to
  // this side may connect again by itself, and is a new peer then. If it is away, it is given up at
  // once; a Push, a Pull or a Pair calls nothing then.
  bool disconnect(std::uint64_t peer, std::chrono::nanoseconds linger = std::chrono::seconds(5));
  // The same for all peers that connect() was told to dial at this address, whether they were ever
  // connected or not. Options behind a '?' are not compared. Returns how many there are. Throws
  // Error only if the address makes no sense.
  std::size_t disconnect(std::string_view address,
                         std::chrono::nanoseconds linger = std::chrono::seconds(5));
  // Stops listening at the address that bind() returned, or at all addresses that bind() was given
  // in these words (with port 0, say). Anybody can bind them again as soon as this returns.
  // Connections that were accepted there stay; so do those that have not greeted yet, but at a
  // netio:// address they come up over tcp. Returns false if this socket does not listen there.
  // Throws Error only if the address makes no sense.
  bool unbind(std::string_view address);

  // Sets the call for a peer that is connected and has been greeted.
  void on_up(std::function<void(const PeerInfo&)> call);
  // Sets the call for a connection that ended, or for an attempt that failed or was given up; then
  // no on_up came before it. It is also called if a listener has no descriptor for a connection:
  // with the id 0, the bound address, and DownReason::resources. That is told once, until all that
  // waited have been accepted. They wait in the queue of the kernel, and are accepted as soon as
  // descriptors are free; the user need not do anything else.
  void on_down(std::function<void(const PeerInfo&, const Down&)> call);

  // Takes no more messages, delivers those that it has taken, says good-bye, and calls on_closed
  // when every peer has acknowledged, or when `linger` has passed. Connections that are left then
  // are cut, without on_down. A socket that receives stops delivering at once. Never blocks. A
  // second call only sets a new `linger`.
  void close(std::chrono::nanoseconds linger = std::chrono::seconds(5));
  // Sets the call for the end of close(). It gets the final books, and is called once.
  void on_closed(std::function<void(const Books&)> call);
  // Whether close() was called and has come to its end.
  [[nodiscard]] bool closed() const noexcept;

  // The 128 random bits that peers see as PeerInfo::run.
  [[nodiscard]] std::array<std::uint8_t, 16> run() const noexcept;
  // The number of peers that are connected and greeted.
  [[nodiscard]] std::size_t peers_connected() const noexcept;
  // The peers as they are now, by rising id: those that are connected, those that this side dials,
  // connected or not, and subscribers that are away and may come back. A peer that will not come
  // back is not listed any more from its on_down on; the PeerInfo of that call has its last books.
  // An accepted peer that comes back has the same id and goes on with these books. Allocates
  // memory: call it now and then, not for each message.
  [[nodiscard]] std::vector<PeerSnapshot> peers() const;
  // Snapshots over all peers, those that are gone included:
  [[nodiscard]] Books books() const noexcept;
  [[nodiscard]] Counters counters() const noexcept;

  // How full the socket is, from 0 to 1. Never blocks; looks at each peer.
  //
  // Push and Pair: the bytes that wait for the wire, as a share of send_bytes_max, of the peer with
  // the most room, because that peer takes the next message. 1 if no peer takes a message, or if
  // there is none. A Push with Distribute::by_tag: of the connected peer with the least room,
  // because any message may be for that one. 1 if one of them takes no message, or if there is
  // none.
  //
  // Request: the same as Push, where a peer that has RequestOptions::pending_max requests takes
  // none. Reply: the bytes of answers that wait, as a share of twice send_bytes_max, of the
  // requester for which most waits.
  //
  // Publish: the bytes that wait for a subscriber with Policy::block, on the wire and in its queue,
  // as a share of what may wait there, of the subscriber with the least room. 1 if send() answers
  // again for such a subscriber or for lack of memory. 0 if no subscriber can hold the publisher
  // up.
  //
  // Pull and Subscribe: the memory that kept messages hold, as a share of what they may hold of
  // receive_bytes_max. 1 at the bound: no more memory can be had, and reading stops. 0 if nothing
  // is kept.
  [[nodiscard]] double fill() const noexcept;
  // The memory that kept messages of this socket hold, in bytes: the size of each block of the
  // receive pool, and of each larger buffer, in which a message lies that keep() has returned and
  // that is not released. A block counts as a whole, and once, however many messages lie in it. It
  // may count a little longer than that: while a message is being read into the rest of it; if it
  // was released on another thread, until the loop turns; and with Acknowledge::released until this
  // side looks (SocketOptions::acknowledge). Messages of connections on shm that have ended do not
  // count.
  [[nodiscard]] std::uint64_t kept_bytes() const noexcept;
  // Set the calls for fill() reaching high_watermark, and for fill() falling to low_watermark after
  // that (SocketOptions). Both are called at the end of a loop turn. A socket that is full from the
  // start is told of in its first turn:
  void on_high_watermark(std::function<void()> call);
  void on_low_watermark(std::function<void()> call);

 protected:
  explicit Socket(std::unique_ptr<detail::SocketCore> core) noexcept;
  // Without a close() before: messages that were not handed to the wire are dropped, and the
  // connections are cut.
  ~Socket();

  std::unique_ptr<detail::SocketCore> core_;
};

}  // namespace netio
