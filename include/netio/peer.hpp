// The peers of a socket: what call-backs are given of them, and how they are at one moment. Plain
// structs, snapshots.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <netio/books.hpp>
#include <netio/subscription.hpp>

namespace netio {

// A peer, as call-backs are given it.
struct PeerInfo {
  // Unique within a socket, from 1 on; 0 in the on_down of a listener. A peer that this side dialed
  // keeps its id until it is let go (Socket::disconnect). A peer that connected to this side has
  // the same id again when it comes back, unless it is another run, or this side had to forget it.
  std::uint64_t id = 0;
  std::string address;  // of the other end
  std::string name;     // SocketOptions::name of the other end; empty if it has none
  // The socket object at the other end: 128 random bits. Zeros before it first came up. A program
  // that was restarted has another one.
  std::array<std::uint8_t, 16> run{};
  bool dialed = false;    // this side connected, and reconnects when the connection ends
  bool retrying = false;  // another attempt is scheduled
  bool was_up = false;    // in on_down: on_up came before it; false if an attempt failed
  Books books;            // of the messages to and from this peer
  std::uint64_t message_bytes_max = 0;  // the largest message it takes; 0 if it is not connected
  // How often another run was found under this id: the peer was restarted, or another program has
  // its address. It grows before on_up. If the run before had sent messages that this side has not
  // received, they are lost, and nobody knows how many they are. Always 0 for a peer that connected
  // to this side: there another run has another id.
  std::uint64_t restarts = 0;
  // What the connection goes over, or the last one went: "tcp", "shm", "verbs", or "verbs ring"
  // with ?engine=ring. Empty before the first one was up.
  std::string wire;
  // At the side that dialed a netio:// address: why the connection does not go over a better wire;
  // with ?engine=ring: why it has no ring. In a sentence for a person. Empty if the best one came
  // up, and for all other addresses.
  std::string wire_reason;
};

// A peer as it is at this moment, to see which one is slow: Socket::peers(), Publish::on_behind().
// Times are durations until now.
struct PeerSnapshot : PeerInfo {
  bool up = false;      // connected and greeted
  bool paused = false;  // by Receiving::pause_peer()
  // The peer takes less than it is sent. A subscriber is behind while messages wait in its queue
  // above the wire. A Pull or Pair is behind from the moment when it refused a message until it is
  // ready for another one.
  bool behind = false;

  std::chrono::nanoseconds up_for{0};      // since its connection came up; 0 if it is not up
  std::chrono::nanoseconds behind_for{0};  // since it began to be behind; 0 if it is not
  // Since bytes last came from the peer, or since its connection came up; 0 if it is not up. It is
  // as exact as the time between two looks: one is taken by peers(), and one every quarter of
  // stall_after or keep_alive_after, whichever is shorter. Silence alone is no fault.
  std::chrono::nanoseconds silent_for{0};

  // A subscriber that has subscribed: the policy that it was granted.
  std::optional<Policy> policy{};
  // The subscriber asked for `block` and has `drop_new` for now, because it or its host held the
  // publisher up for longer than PublishOptions::block_for_max allows.
  bool demoted = false;
  // Messages that were taken for the peer and are not posted to the wire: in its queue, in an open
  // page, or the rest of a large one.
  std::uint64_t waiting_messages = 0;
  std::uint64_t waiting_bytes = 0;  // the bytes of these on the wire
  // Bytes that are posted and that the wire has not taken. The bound is
  // SocketOptions::send_bytes_max.
  std::uint64_t wire_bytes = 0;
  // The memory that is kept for the peer until it has acknowledged what is in it, in whole blocks.
  // The bound is SocketOptions::resume_bytes_max, or one larger message. What waits when the
  // connection breaks may come on top.
  std::uint64_t kept_bytes = 0;
};

}  // namespace netio
