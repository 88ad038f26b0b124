// What Push, Pull and Pair have in common: addresses, peers, books, closing. Owner thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <netio/books.hpp>
#include <netio/context.hpp>
#include <netio/export.hpp>
#include <netio/options.hpp>
#include <netio/status.hpp>

namespace netio {

namespace detail {
class SocketCore;
}

// One end of a connection, as call-backs see it. Ids are unique within a socket.
struct PeerInfo {
  std::uint64_t id = 0;   // from 1 on
  std::string address;    // of the other end
  bool dialed = false;    // this side connected, and reconnects when it goes
  bool retrying = false;  // in on_down: another attempt is scheduled
  bool was_up = false;    // in on_down: on_up came before; false for an attempt that failed
  Books books;            // of the streams shared with this peer
  std::uint64_t message_bytes_max = 0;  // the largest message it takes; 0 unless it is connected
  // How often this id was found to be another run of the peer than the last time: the peer was
  // restarted, or another one has its address. It grows before on_up. What the run before had sent
  // and this side had not received is lost, and nobody knows how much that was. 0 for a peer that
  // returns, and for each that connected to this side: of those, another run has another id.
  std::uint64_t restarts = 0;
};

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
  // A connection ended, or an attempt failed (then no on_up came before it).
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
  // Snapshots, over all peers, present and gone:
  [[nodiscard]] Books books() const noexcept;
  [[nodiscard]] Counters counters() const noexcept;

  // 0 to 1. Sending: bytes waiting for the wire, of what may wait, over all connected peers; 1 with
  // none, and from a send() that answered again until on_writable. Receiving only: memory held by
  // kept messages, of receive_bytes_max (see there).
  [[nodiscard]] double fill() const noexcept;
  // fill() reached high_watermark, or came down to low_watermark after that (SocketOptions):
  void on_high_watermark(std::function<void()> call);
  void on_low_watermark(std::function<void()> call);

 protected:
  explicit Socket(std::unique_ptr<detail::SocketCore> core) noexcept;
  // Without close(): what was not handed to the wire is dropped, the connections are cut.
  ~Socket();

  std::unique_ptr<detail::SocketCore> core_;
};

}  // namespace netio
