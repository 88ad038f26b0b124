// Peers and books as C has them.
#include "c_api/call_backs.hpp"

#include <algorithm>
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
  return c;
}

}  // namespace netio::c_api
