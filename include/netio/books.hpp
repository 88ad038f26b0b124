// What became of each message: the books and counters of a socket. Plain structs, snapshots.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <netio/export.hpp>

namespace netio {

// Why a message that send() took was not delivered.
enum class DropReason : std::uint8_t {
  peer_closed,      // the peer ended in order before it took the message
  connection_lost,  // the connection broke, and the peer that came back had not received it
  not_sent,         // its peer went for good before it was handed to the wire, or cannot take it
  linger_expired,   // close() gave up before it was handed to the wire
  dropped_new,      // it was published while the subscriber's queue was full (Policy::drop_new)
  dropped_old,      // it had waited longest in a queue that was full (Policy::drop_old)
  superseded,       // a later message with the same tag took its place (Policy::sample)
  count_            // the number of reasons
};
// Its name, as it is written here.
[[nodiscard]] NETIO_API std::string_view to_string(DropReason reason) noexcept;

// sent == acknowledged + dropped() + in_doubt + unacknowledged, always.
struct Books {
  std::uint64_t sent = 0;          // send() answered ok
  std::uint64_t acknowledged = 0;  // by the peer: see SocketOptions::acknowledge
  // The messages dropped, by DropReason; dropped() is the sum.
  std::array<std::uint64_t, static_cast<std::size_t>(DropReason::count_)> dropped_by{};
  // Sent on a connection that broke, and not kept: they may have arrived. The peer says it when it
  // is back; if it never is, they stay here.
  std::uint64_t in_doubt = 0;
  std::uint64_t unacknowledged = 0;  // on their way, or kept until the connection is back
  std::uint64_t delivered = 0;       // received, and given to this socket's call-back
  // Messages for this socket that will not come: they were lost with a connection, or dropped by a
  // publisher.
  std::uint64_t missed = 0;

  // The sum of dropped_by.
  [[nodiscard]] std::uint64_t dropped() const noexcept {
    std::uint64_t sum = 0;
    for (const std::uint64_t n : dropped_by) sum += n;
    return sum;
  }
  // Nobody knows yet whether they arrive, or have arrived.
  [[nodiscard]] std::uint64_t unsettled() const noexcept { return in_doubt + unacknowledged; }
};

// What happened so far, for monitoring. The counters only grow.
struct Counters {
  std::uint64_t bytes_sent = 0;      // payload that send() took
  std::uint64_t bytes_received = 0;  // payload delivered
  std::uint64_t bytes_arrived = 0;   // of whole and begun pages: grows while a large message comes
  std::uint64_t pages_sent = 0;      // handed to the wire; an unbuffered message is a page
  std::uint64_t pages_received = 0;  // a large message counts as one
  std::uint64_t agains = 0;          // send() answered again or not_connected
  std::uint64_t connects = 0;        // connections that came up
  std::uint64_t disconnects = 0;     // connections that came up and have ended
  // Connections that never came up (refused, foreign, mismatched, late), and times that a listener
  // had no descriptor for new connections. Each of these is an on_down with PeerInfo::was_up false.
  // One case has no on_down: a peer that knew this side before this side was restarted. It comes
  // back by itself, as a new peer.
  std::uint64_t rejected = 0;
  std::uint64_t starved = 0;  // times that lack of memory stopped reading, or refused a send
  // Times that payload was copied out of memory that it could have been sent, or handed out, from:
  // that of a Message, lent memory, or a page. Gathering the bytes of send(bytes) is not counted,
  // and neither is keep(). The table in ARCHITECTURE.md, "Memory", says when there is a copy.
  std::uint64_t copies = 0;
  // The bytes of these; of a page of several messages with their frames.
  std::uint64_t bytes_copied = 0;
  // Messages that were sent again because a connection had broken
  // (SocketOptions::resume_bytes_max).
  std::uint64_t resent = 0;
  // Messages that were kept for that and given up: the peer was away for longer than resume_within,
  // other peers needed the memory, the user of a Pair took no messages, or a subscriber with
  // another policy than block took too few.
  std::uint64_t resume_given_up = 0;
  // With ?engine=ring: writes into the rings of peers, of one page each, or of several small ones.
  // Over such a connection no page goes otherwise; the peer reads messages that are larger than a
  // slot.
  std::uint64_t ring_writes = 0;
  // Publish only.
  std::uint64_t published = 0;       // send() answered ok
  std::uint64_t unwanted = 0;        // published messages that nobody had subscribed
  std::uint64_t demoted = 0;         // times that a subscriber lost Policy::block (demoted)
  std::uint64_t bodies_encoded = 0;  // times that a message was written for the wire: once for all
                                     // subscribers with the same set of tags and the same mode
};

// Messages that were sent to this side and will never come: the numbers `first` to
// `first + count - 1`.
struct Gap {
  // Each sender numbers what it sends to this side from 0 on (Subscribed::from is such a number).
  std::uint64_t first = 0;
  std::uint64_t count = 0;  // how many
  // Why they were dropped, all for this reason. If messages in a row were dropped for several
  // reasons, there is a gap for each reason.
  DropReason reason = DropReason::connection_lost;
};

}  // namespace netio
