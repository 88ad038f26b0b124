// What two runs share over all their connections: which stream it is, and the books of both
// directions. A peer has one at a time; a socket remembers those whose peers went.
#pragma once

#include <cstdint>
#include <string>

#include <netio/books.hpp>

#include "socket/receive_books.hpp"
#include "socket/resend_queue.hpp"
#include "socket/send_books.hpp"
#include "wire/hello.hpp"

namespace netio::detail {

// Who is who on a stream (docs/wire.md).
struct StreamIdentity {
  StreamId id{};            // zeros: none yet
  RunId peer_run{};         // the run that was met on it; zeros: none yet
  std::uint64_t epoch = 0;  // of the latest connection, as far as it is confirmed or was begun here
};

// A stream of an accepted peer that went, in case it comes back.
struct StreamRecord {
  StreamIdentity identity;
  std::uint64_t peer_id = 0;  // its PeerInfo::id, which it keeps
  SendBooks sent;
  ReceiveBooks received;
  ResendQueue resend;                // what was posted and is not acknowledged
  std::int64_t resume_until_ns = 0;  // of the loop; then it is given up

  void add_to(Books& books) const noexcept {
    sent.add_to(books, 0, resend.oldest(sent.next_sequence));
    received.add_to(books);
  }
};

}  // namespace netio::detail
