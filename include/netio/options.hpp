// The options of a socket. The defaults are meant to be right.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace netio {

// How messages are sent. The sender chooses, except for published messages: there each subscriber
// chooses for itself.
enum class Mode : std::uint8_t {
  buffered,    // messages are gathered in pages: the most messages per second
  unbuffered,  // each message is sent by itself: the least latency; large messages need no copy
};

// To which of its Pull peers a Push sends a message.
enum class Distribute : std::uint8_t {
  in_turn,  // the next one that is ready
  // The one that the tag belongs to. The same tag goes to the same peer as long as the same peers
  // are connected. When a peer comes, it takes over some tags, and no others move. When a peer
  // goes, only its tags move.
  by_tag,
};

// What an acknowledgement of this side says about a message.
enum class Acknowledge : std::uint8_t {
  delivered,  // the call-back was given it
  // The call-back has returned, and nobody has what was kept of it (keep()) any more: it was
  // destroyed, or sent on and not needed by that socket either. Messages of one peer are
  // acknowledged in order, so one that is kept holds back those behind it.
  released,
};

// Each side has its own options. The constructor of a socket refuses values that make no sense
// (Error): sizes must be from 1 byte to 1 TiB, times above 0 and up to 100 years, watermarks from 0
// to 1.
struct SocketOptions {
  // A name for people: printable ASCII, at most 63 bytes. The peers see it in PeerInfo::name and in
  // what they report. Several sockets may have the same name.
  std::string name{};

  Mode mode = Mode::buffered;  // without a meaning for Pull and Publish

  // Push only. With by_tag all messages with the same tag go to one peer, in the order in which
  // they were sent; a message without a tag has the tag 0. If that peer has no room, send() answers
  // again, although others may have room: messages with tags of others can be sent meanwhile.
  // on_writable follows when that peer has room, or when the tag may have moved. not_connected: no
  // peer is connected. too_big: for the peer of the tag. reserve() answers invalid, because the tag
  // is not known before commit().
  //
  // The peers share the tags about evenly, by a hash of the tag and of PeerInfo::run. So all Push
  // sockets that are connected to the same Pull sockets send a tag to the same one. A Pull that was
  // restarted is another run, and has other tags. Of two connections to the same Pull only the one
  // with the lower id is used.
  //
  // A message that was taken for a peer stays with that peer if the connection breaks, while new
  // messages with its tags go to others. So the order of a tag is kept at each peer, and not across
  // the moment when the tag moves.
  Distribute distribute = Distribute::in_turn;

  // Buffered: a page that is not full is sent at the latest after this time ...
  std::chrono::nanoseconds flush_after = std::chrono::milliseconds(1);
  // ... or at the end of the loop turn, if the wire has nothing else to send.
  bool flush_when_idle = true;

  // In bytes: the largest message that this side sends or receives. A peer that announces a larger
  // one is disconnected.
  std::size_t message_bytes_max = std::size_t{1} << 30U;
  // For each peer: the bytes that may wait for the wire. When they do, send() answers again.
  std::size_t send_bytes_max = std::size_t{1} << 20U;
  // How many bytes of the receive pool of the context the kept messages of this socket may hold. At
  // the bound the socket stops reading, and its peers are held back. The memory is counted in
  // blocks of four pages; small messages share a block with many others. Allow at least one block,
  // and two more to keep messages while others come. Messages over a page (shm: over four pages) do
  // not count here. All of these together may hold half of ContextOptions::large_bytes_max, and on
  // shm half of that of the sender. A large message may have to wait before that half is used up,
  // because up to a quarter of it is left for messages of other peers.
  std::size_t receive_bytes_max = std::size_t{16} << 20U;

  // fill() crossing these calls on_high_watermark and on_low_watermark:
  double high_watermark = 0.75;
  double low_watermark = 0.25;

  // Reconnecting: the first delay, which grows by a half each time up to the last one, until a
  // connection lasts for longer than the delay before it. Up to half of each delay is taken off at
  // random. After a connection that lasted for longer than the last delay, the first attempt is
  // made at once:
  std::chrono::nanoseconds reconnect_after_min = std::chrono::milliseconds(10);
  std::chrono::nanoseconds reconnect_after_max = std::chrono::seconds(1);

  // Push, Pair and Publish, on tcp and fabrics: what was sent and is not acknowledged is kept, up
  // to so many bytes for each peer, and sent again when a connection that broke is back. So nothing
  // is lost while both processes live, the peer comes back within resume_within, and the memory is
  // not needed for others. The memory is that of the messages themselves, mostly pages of the send
  // pool: it is counted in whole blocks. When there is as much, send() answers again. A single
  // message may be larger. Lent memory is released when its message is acknowledged, or given up.
  // 0: nothing is kept, and what was on its way is lost. Pull, Pair and Subscribe: if it is not 0,
  // this side acknowledges every 256 KiB, so that little has to be kept.
  //
  // Publish: a subscriber that is away is one that takes nothing, and its policy applies: with
  // Policy::block it holds the publisher up. With another policy nothing waits for what is kept for
  // it: the oldest is given up.
  //
  // While the user of a Pair takes no messages, acknowledgements may not be read either. Then it
  // does not wait for them, but gives up the oldest of what it keeps (Counters::resume_given_up).
  std::size_t resume_bytes_max = 0;
  // If a peer is away for longer, what is kept for it is given up.
  std::chrono::nanoseconds resume_within = std::chrono::seconds(60);

  // The time limit for each of these: an attempt to connect, the greeting after it, and the end of
  // a connection that a publisher ends (Policy::disconnect). A host name may be looked up for 60 s
  // before that.
  std::chrono::nanoseconds handshake_within = std::chrono::seconds(5);
  // How many accepted connections may be without a complete greeting. If there are more, the oldest
  // are ended (handshake_timeout): a silent one 10 ms after it was accepted, one whose hello has
  // begun half a second after the first part was seen. If there are twice as many, listeners accept
  // no more until some of these times are over, and new connections wait in the queue of the
  // kernel.
  std::size_t half_open_max = 64;
  // How many peers may be connected. A peer that connects beyond that is refused and told so; it is
  // counted in Counters::rejected, and may try again. Peers that this socket connects to are
  // counted too, but never refused.
  std::size_t peers_max = 4096;
  // A peer that would be refused because all places are taken (a Pair has one, other sockets have
  // peers_max) is given the place of a peer that has been silent for longer than this. The silent
  // peer is given up (lost), and refused while the place is taken when it comes back. Only a
  // newcomer takes a place: while none comes, a silent peer keeps it. Event building: the same
  // holds for the connection of a unit or builder whose number another process comes with; that
  // process is refused once, and let in when it tries again.
  //
  // A peer whose call-back takes longer than this, or whose blocking socket is not called for so
  // long, may lose its place; so may one that takes nothing of what waits for it, while this side
  // is paused. Otherwise no silence is counted while this side is paused.
  //
  // So that idle peers are not silent, they are asked to say something three times in this period:
  // by a Pair, by a socket of at most 64 places, and in event building. Other sockets replace
  // nobody. 10 ms to a day; 0: never, and nobody is asked.
  std::chrono::nanoseconds replace_silent_after = std::chrono::seconds(10);
  // A message that was begun has to go on. A sender is disconnected in two cases. Either nothing of
  // the message comes for this long. Or a large message comes too slowly: less than 64 KiB in this
  // time (or 1/64 of the message, if that is less), or less than a quarter of the message while
  // others lack memory.
  //
  // A receiver is disconnected if others lack the memory that large messages to it hold, and it
  // takes less than a quarter of what it held in this time. In shared memory a receiver holds a
  // message until it has released it, on a fabric until it has fetched all of it. If
  // PublishOptions::block_for_max is 0, no subscriber with Policy::block is disconnected for this.
  std::chrono::nanoseconds stall_after = std::chrono::seconds(30);
  // tcp: how long a connection may be idle before the kernel probes the peer's host. A host that
  // answers nothing for twice this time is taken for dead, whether the connection is idle or has
  // data under way.
  std::chrono::seconds keep_alive_after = std::chrono::seconds(10);
  // Each peer is asked to say something at least so often, and its connection is given up (lost)
  // when nothing was heard for three times as long, which is at most a day. So a
  // process that is stopped and a network that swallows everything are found as well. But so is a
  // peer whose call-back takes longer, and a blocking socket that is not called for so long. Not
  // while this side is paused, or a good-bye was said. 10 ms or more; 0: never.
  std::chrono::nanoseconds heartbeat_after = std::chrono::nanoseconds(0);
  // Delivered messages are acknowledged at the latest after this time, or sooner with the next page
  // that is sent to the peer.
  std::chrono::nanoseconds acknowledge_after = std::chrono::milliseconds(5);
  // Pull, Pair and Subscribe: what that means. With `released` this side looks after
  // acknowledge_after whether messages were released, and then more and more seldom: after an
  // eighth of the time since anything was released, up to every 50 ms. Small messages that were
  // kept are released together with others that lie in the same memory (MessageView::keep()). A
  // sender that keeps what is not acknowledged (its resume_bytes_max) waits when that is full: do
  // not keep messages until more have come than it keeps. When a connection that broke is back,
  // what had come before counts as acknowledged, kept or not; and so does what had come when this
  // side closes.
  Acknowledge acknowledge = Acknowledge::delivered;
};

}  // namespace netio
