// Why messages were not delivered and connections ended, for the C API (netio.h includes it).
#ifndef NETIO_REASONS_H
#define NETIO_REASONS_H

#include <netio/export.hpp>

#ifdef __cplusplus
extern "C" {
#endif

// Why a message was not delivered: as netio::DropReason.
enum netio_drop_reason {
  NETIO_DROP_PEER_CLOSED = 0,
  NETIO_DROP_CONNECTION_LOST = 1,
  NETIO_DROP_NOT_SENT = 2,
  NETIO_DROP_LINGER_EXPIRED = 3,
  NETIO_DROP_NEW_ONES = 4,
  NETIO_DROP_OLD_ONES = 5,
  NETIO_DROP_SUPERSEDED = 6,
};
NETIO_API const char* netio_drop_reason_name(int reason);  // never NULL

// As netio::DownReason. What to do about each: docs/guide.md, "When a peer goes".
enum netio_down_reason {
  NETIO_DOWN_CLOSED_BY_PEER = 0,
  NETIO_DOWN_CLOSED_HERE = 1,
  NETIO_DOWN_LOST = 2,
  NETIO_DOWN_REFUSED = 3,
  NETIO_DOWN_UNREACHABLE = 4,
  NETIO_DOWN_NAME_UNKNOWN = 5,
  NETIO_DOWN_NAME_TEMPORARY = 6,
  NETIO_DOWN_FOREIGN_PROTOCOL = 7,
  NETIO_DOWN_VERSION_MISMATCH = 8,
  NETIO_DOWN_PATTERN_MISMATCH = 9,
  NETIO_DOWN_REJECTED = 10,
  NETIO_DOWN_HANDSHAKE_TIMEOUT = 11,
  NETIO_DOWN_PROTOCOL_ERROR = 12,
  NETIO_DOWN_MESSAGE_TOO_BIG = 13,
  NETIO_DOWN_TOO_SLOW = 14,
  NETIO_DOWN_STALLED = 15,
  NETIO_DOWN_RESOURCES = 16,
};
NETIO_API const char* netio_down_reason_name(int reason);  // never NULL

#ifdef __cplusplus
}
#endif

#endif
