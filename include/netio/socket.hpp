// What Push, Pull and Pair have in common: addresses, peers, books, closing. Owner thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <netio/books.hpp>
#include <netio/context.hpp>
#include <netio/export.hpp>
#include <netio/options.hpp>
#include <netio/peer.hpp>
#include <netio/status.hpp>

namespace netio {

namespace detail {
class SocketCore;
}

// Call-backs run on the owner thread inside a loop turn, never from within a call the user made.
// They may send, pause, close or destroy their own socket; they must not throw. Set them before
// bind() or connect(), or any time outside of the one being replaced.
class NETIO_API Socket {
 public:
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // Listens at `address`: "tcp://host:port" (host * for all, port 0 for any free one), "shm://name"
  // or "shm:///path" (shm://* for any free name), "inproc://name", "verbs://host:port",
  // "ofi+PROVIDER://host:port". Any number of times, mixed with connect(). Returns the address
  // bound, with the real port or name. Throws Error.
  std::string bind(std::string_view address);
  // Starts connecting; the peer need not exist yet. Failures come to on_down and are retried
  // unless they cannot change. Throws Error only for an address that makes no sense.
  void connect(std::string_view address);

  // A peer is connected and has been greeted.
  void on_up(std::function<void(const PeerInfo&)> call);
  // A connection ended, or an attempt failed (then no on_up came before it). Also called, with a
  // peer of id 0 at the bound address and DownReason::resources, when this process has no
  // descriptor for those who connect: once, until all that wait have been accepted. They wait in
  // the kernel's queue and are accepted as soon as descriptors come free; nothing has to be done
  // but that.
  void on_down(std::function<void(const PeerInfo&, const Down&)> call);

  // Stops taking messages, delivers what was taken, says good-bye, and calls on_closed when every
  // peer has acknowledged or `linger` has passed; connections that are left then are cut, without
  // on_down. Never blocks. Pull: stops delivering at once. Again: only `linger` is a new one.
  void close(std::chrono::nanoseconds linger = std::chrono::seconds(5));
  // What close() began is done; these are the final books. Once.
  void on_closed(std::function<void(const Books&)> call);
  // Whether it is done.
  [[nodiscard]] bool closed() const noexcept;

  // How many are up.
  [[nodiscard]] std::size_t peers_connected() const noexcept;
  // Each peer as it is now, by rising id: those that are connected, and those that this side dials,
  // connected or not. A peer that is gone for good is listed no more from its on_down on, whose
  // PeerInfo has its last books; an accepted one that comes back has its id and goes on with these
  // books. Allocates: for a look now and then, not for each message.
  [[nodiscard]] std::vector<PeerSnapshot> peers() const;
  // Snapshots, over all peers, present and gone:
  [[nodiscard]] Books books() const noexcept;
  [[nodiscard]] Counters counters() const noexcept;

  // How full the socket is: 0 to 1. Never blocks; takes a look at each peer.
  // Push and Pair: bytes that wait for the wire, of what may wait: of the peer with the most room,
  // as it takes the next message. 1 if no peer takes one, or there is none.
  // Publish: bytes that wait for a subscriber with Policy::block, on the wire and in its queue, of
  // what may wait there: of the subscriber with the least room. 1 if send() answers again for such
  // a subscriber or for memory; 0 if nobody can hold it up.
  // Pull and Subscribe: memory held by kept messages, of receive_bytes_max (see there).
  [[nodiscard]] double fill() const noexcept;
  // fill() reached high_watermark, or came down to low_watermark after that (SocketOptions): at the
  // end of the loop turn. A socket that is full from the start tells so in its first turn:
  void on_high_watermark(std::function<void()> call);
  void on_low_watermark(std::function<void()> call);

 protected:
  explicit Socket(std::unique_ptr<detail::SocketCore> core) noexcept;
  // Without close(): what was not handed to the wire is dropped, the connections are cut.
  ~Socket();

  std::unique_ptr<detail::SocketCore> core_;
};

}  // namespace netio
