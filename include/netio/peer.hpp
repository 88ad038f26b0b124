// The peers of a socket: as call-backs are told of them, and as they stand at a moment. Plain
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

// One end of a connection, as call-backs see it.
struct PeerInfo {
  // Unique within a socket, from 1 on; 0 in on_down of a listener. A peer that this side dialed
  // keeps its id for as long as the socket lives. One that connected to this side has the same id
  // again when it comes back, unless it is another run, or this side has had to forget it.
  std::uint64_t id = 0;
  std::string address;  // of the other end
  std::string name;     // SocketOptions::name of the other end; empty if it has none
  // Which socket object is at the other end: 128 random bits. Zeros before it first came up. A
  // program that was restarted has another one.
  std::array<std::uint8_t, 16> run{};
  bool dialed = false;    // this side connected, and reconnects when it goes
  bool retrying = false;  // another attempt is scheduled
  bool was_up = false;    // in on_down: on_up came before; false for an attempt that failed
  Books books;            // of the streams shared with this peer
  std::uint64_t message_bytes_max = 0;  // the largest message it takes; 0 unless it is connected
  // How often this id was found to be another run than the last time: the peer was restarted, or
  // another one has its address. It grows before on_up. What the run before had sent and this side
  // had not received is lost, and nobody knows how much that was. Always 0 for a peer that
  // connected to this side: another run has another id.
  std::uint64_t restarts = 0;
};

// A peer as it stands at this moment, to see who is slow: Socket::peers(), Publish::on_behind().
// Times are durations until now.
struct PeerSnapshot : PeerInfo {
  bool up = false;      // connected and greeted
  bool paused = false;  // Receiving::pause_peer()
  // It is sent more than it takes. A subscriber: messages wait in its queue above the wire. Who
  // pulls: the latest message it was offered was refused, and it is not ready for another.
  bool behind = false;

  std::chrono::nanoseconds up_for{0};      // since its connection came up; 0 unless it is up
  std::chrono::nanoseconds behind_for{0};  // since it began to be behind; 0 unless it is
  // Since bytes last came from it, or its connection came up; 0 unless it is up. Known to the time
  // between two looks (peers(), and every quarter of stall_after or of keep_alive_after, of the
  // shorter one). Silence alone is no fault.
  std::chrono::nanoseconds silent_for{0};

  // Of a subscriber, once it has subscribed: what was granted.
  std::optional<Policy> policy{};
  // It asked for `block` and has `drop_new` for now, because it or its host held the publisher up
  // for longer than PublishOptions::block_for_max allows.
  bool demoted = false;
  // What was taken for it and is not posted: in its queue, an open page, the rest of a large one.
  std::uint64_t waiting_messages = 0;
  std::uint64_t waiting_bytes = 0;  // of these, as they will be on the wire
  // What is posted and the wire has not taken: of SocketOptions::send_bytes_max.
  std::uint64_t wire_bytes = 0;
};

}  // namespace netio
