// What can be chosen for a socket. The defaults are meant to be right.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace netio {

// How messages leave: the sender chooses, but for published ones the subscriber.
enum class Mode : std::uint8_t {
  buffered,    // messages are gathered in pages: most messages per second
  unbuffered,  // one message, one post: least latency; large messages without a copy
};

// Each side has its own. What makes no sense is refused by the socket's constructor (Error): sizes
// are 1 byte to 1 TiB, times above 0 and up to 100 years, watermarks shares of 1.
struct SocketOptions {
  // What people call this socket: printable ASCII, at most 63 bytes. The peers see it in
  // PeerInfo::name and in what they report. Several sockets may have the same name.
  std::string name{};

  Mode mode = Mode::buffered;  // Pull and Publish: no matter

  // Buffered: a page that is not full leaves after this long at the latest ...
  std::chrono::nanoseconds flush_after = std::chrono::milliseconds(1);
  // ... or at the end of the loop turn, when the wire has nothing else to send.
  bool flush_when_idle = true;

  // The largest message sent or taken. A peer that announces a larger one is disconnected.
  std::size_t message_bytes_max = std::size_t{1} << 30U;
  // Per peer: bytes handed to the wire and not yet written to it; then send() answers again.
  std::size_t send_bytes_max = std::size_t{1} << 20U;
  // Received memory this socket may hold in kept messages before it stops reading, of the
  // context's receive pool. Messages over a page (shm: over four) do not count here: of these it
  // may hold half of ContextOptions::large_bytes_max, and on shm half of the sender's. The larger
  // they are, the sooner it stops: up to a quarter of that half is left for messages of others.
  std::size_t receive_bytes_max = std::size_t{16} << 20U;

  // fill() crossing these calls on_high_watermark and on_low_watermark:
  double high_watermark = 0.75;
  double low_watermark = 0.25;

  // Reconnecting: the first delay, doubled up to the last; each is jittered by half:
  std::chrono::nanoseconds reconnect_after_min = std::chrono::milliseconds(10);
  std::chrono::nanoseconds reconnect_after_max = std::chrono::seconds(1);

  // A connection attempt, the hello that must follow it, and the end of a connection that a
  // publisher ends (Policy::disconnect): each within this.
  std::chrono::nanoseconds handshake_within = std::chrono::seconds(5);
  // So many accepted connections may be without a whole greeting for handshake_within. If there are
  // more, the oldest are ended (handshake_timeout): a silent one 10 ms after it was accepted, one
  // whose hello has begun half a second after that was seen. With twice as many, listeners accept
  // no more until some of these times are over: the rest waits in the kernel's queue.
  std::size_t half_open_max = 64;
  // So many peers may be connected. Who connects beyond that is refused and told so; it is counted
  // in Counters::rejected, and may try again. Those that this socket connects to itself count, and
  // are not refused.
  std::size_t peers_max = 4096;
  // A message that was begun has to go on. Its sender is disconnected if nothing of it comes for
  // this long. A large message has to come at a least rate: 64 KiB in this time (1/64 of the
  // message, if that is less), or a quarter of the message while others lack memory. A receiver is
  // disconnected if others lack the memory that large messages to it hold, and in this time it
  // takes less than a quarter of what it held. In shared memory a receiver holds a message until it
  // has released it, and on a fabric until it has fetched all of it. If
  // PublishOptions::block_for_max is 0, no subscriber with Policy::block is disconnected for this.
  std::chrono::nanoseconds stall_after = std::chrono::seconds(30);
  // Idle time before the kernel probes whether the peer's host is still there. A host that answers
  // nothing for twice as long, idle or with data under way, is taken for gone (tcp).
  std::chrono::seconds keep_alive_after = std::chrono::seconds(10);
  // Delivered messages are acknowledged within this, if no page goes back sooner.
  std::chrono::nanoseconds acknowledge_after = std::chrono::milliseconds(5);
};

}  // namespace netio
