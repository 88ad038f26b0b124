// Peers and books as C has them.
#include "c_api/call_backs.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>

namespace netio::c_api {

netio_books to_c(const Books& books) noexcept {
  netio_books c{};
  static_assert(std::size(Books{}.dropped_by) <= std::size(netio_books{}.dropped_by));
  c.sent = books.sent;
  c.acknowledged = books.acknowledged;
  c.dropped = books.dropped();
  std::copy(books.dropped_by.begin(), books.dropped_by.end(), c.dropped_by);
  c.unacknowledged = books.unacknowledged;
  c.in_doubt = books.in_doubt;
  c.delivered = books.delivered;
  c.missed = books.missed;
  return c;
}

netio_peer to_c(const PeerInfo& info) noexcept {
  netio_peer c{};
  c.id = info.id;
  c.address = info.address.c_str();
  c.message_bytes_max = info.message_bytes_max;
  c.dialed = info.dialed ? 1 : 0;
  c.retrying = info.retrying ? 1 : 0;
  c.books = to_c(info.books);
  c.restarts = info.restarts;
  c.name = info.name.c_str();
  std::copy(info.run.begin(), info.run.end(), c.run);
  c.wire = info.wire.c_str();
  c.wire_reason = info.wire_reason.c_str();
  return c;
}

netio_peer_snapshot to_c(const PeerSnapshot& snapshot) noexcept {
  const auto ns_of = [](std::chrono::nanoseconds time) {
    return static_cast<std::uint64_t>(time.count());
  };
  netio_peer_snapshot c{};
  c.id = snapshot.id;
  c.address = snapshot.address.c_str();
  c.books = to_c(snapshot.books);
  c.up_for_ns = ns_of(snapshot.up_for);
  c.behind_for_ns = ns_of(snapshot.behind_for);
  c.silent_for_ns = ns_of(snapshot.silent_for);
  c.waiting_messages = snapshot.waiting_messages;
  c.waiting_bytes = snapshot.waiting_bytes;
  c.wire_bytes = snapshot.wire_bytes;
  c.dialed = snapshot.dialed ? 1 : 0;
  c.retrying = snapshot.retrying ? 1 : 0;
  c.up = snapshot.up ? 1 : 0;
  c.behind = snapshot.behind ? 1 : 0;
  c.paused = snapshot.paused ? 1 : 0;
  c.policy = snapshot.policy ? static_cast<std::int32_t>(*snapshot.policy) : -1;
  c.demoted = snapshot.demoted ? 1 : 0;
  c.name = snapshot.name.c_str();
  std::copy(snapshot.run.begin(), snapshot.run.end(), c.run);
  c.wire = snapshot.wire.c_str();
  c.wire_reason = snapshot.wire_reason.c_str();
  return c;
}

netio_counters to_c(const Counters& counters) noexcept {
  netio_counters c{};
  c.bytes_sent = counters.bytes_sent;
  c.bytes_received = counters.bytes_received;
  c.bytes_arrived = counters.bytes_arrived;
  c.pages_sent = counters.pages_sent;
  c.pages_received = counters.pages_received;
  c.agains = counters.agains;
  c.connects = counters.connects;
  c.disconnects = counters.disconnects;
  c.rejected = counters.rejected;
  c.starved = counters.starved;
  c.published = counters.published;
  c.unwanted = counters.unwanted;
  c.bodies_encoded = counters.bodies_encoded;
  c.demoted = counters.demoted;
  c.copies = counters.copies;
  c.bytes_copied = counters.bytes_copied;
  c.resent = counters.resent;
  c.resume_given_up = counters.resume_given_up;
  c.ring_writes = counters.ring_writes;
  return c;
}

}  // namespace netio::c_api
