// Publish and subscribe in the C API (netio.h includes it): as netio::Publish and netio::Subscribe.
// All calls are for the thread of the context. None blocks.
#ifndef NETIO_PUBLISH_H
#define NETIO_PUBLISH_H

#include <stddef.h>
#include <stdint.h>

#include <netio.h>
#include <netio/export.hpp>

#ifdef __cplusplus
extern "C" {
#endif

// Tags from `first` to `last`, both included.
struct netio_tags {
  uint64_t first;  // the lowest
  uint64_t last;   // the highest
};
// Sends each message to all subscribers of its tag.
struct netio_publish_socket {
  struct netio_socket socket;  // what calls take
  // A subscriber's set gained or lost these tags: sorted, valid during the call-back. One that goes
  // loses all, before cb_connection_closed; one that may come back, once that is given up:
  void (*cb_subscribed)(struct netio_publish_socket* socket, const struct netio_peer* peer,
                        const struct netio_tags* tags, size_t count);
  void (*cb_unsubscribed)(struct netio_publish_socket* socket, const struct netio_peer* peer,
                          const struct netio_tags* tags, size_t count);
  // A subscriber is behind: messages wait in its queue above the wire. It has caught up: the queue
  // is empty again. At least 100 ms pass between two of these for one peer:
  void (*cb_behind)(struct netio_publish_socket* socket, const struct netio_peer_snapshot* peer);
  void (*cb_caught_up)(struct netio_publish_socket* socket, const struct netio_peer_snapshot* peer);
  // A subscriber has lost NETIO_POLICY_BLOCK (peer->demoted), or has it again:
  void (*cb_policy_changed)(struct netio_publish_socket*, const struct netio_peer_snapshot* peer);
  void* reserved[1];
};
// Remembers who has subscribed a tag, so that publishing it again needs no look-up. Begins as all
// zeros; fits itself to another tag or socket; needs no freeing; may be copied.
struct netio_subscription_cache {
  uint64_t tag;    // private, as all of it
  uint64_t owner;  // the socket
  void* entry[2];  // who has subscribed
};
// Makes it; `options` may be NULL, for the defaults.
NETIO_API int netio_publish_socket_init(struct netio_context* context,
                                        struct netio_publish_socket* socket,
                                        const struct netio_socket_options* options);
// Sends to all subscribers of the tag, or (any answer but NETIO_OK) to none; NETIO_OK also if
// nobody subscribed it. `cache` may be NULL.
NETIO_API int netio_publish(struct netio_publish_socket* socket, uint64_t tag, const void* data,
                            size_t bytes, struct netio_subscription_cache* cache);
// A publisher's answer to the set of tags as it is now.
struct netio_subscription {
  uint64_t revision;          // grows with each change of the set, and each return
  uint64_t from;              // the number of the first message that the set decides about
  uint64_t behind_bytes_max;  // the size of the queue that was granted
  int32_t policy;             // the policy that was granted: netio_policy
  int32_t refused;            // the set before it stays
  const char* detail;         // why it was refused, for a person
  // The publisher has kept the subscription of an earlier connection: what it published meanwhile
  // comes, or is told as a gap.
  int32_t goes_on;
};
// Receives what it asks for, from all publishers.
struct netio_subscribe_socket {
  struct netio_socket socket;  // what calls take
  // A publisher took the set as it is now, or refused it. It comes again, with the same revision,
  // when the publisher changes the policy, or is back with the set that it had.
  void (*cb_subscribed)(struct netio_subscribe_socket* socket, const struct netio_peer* peer,
                        const struct netio_subscription* subscription);
  // Messages will not come.
  void (*cb_gap)(struct netio_subscribe_socket* socket, const struct netio_peer* peer,
                 const struct netio_gap* gap);
  void* reserved[4];
};
// Makes it; `options` may be NULL, for the defaults.
NETIO_API int netio_subscribe_socket_init(struct netio_context* context,
                                          struct netio_subscribe_socket* socket,
                                          const struct netio_socket_options* options);
// Change the set of tags, at first empty: at any time, also before there is a publisher. The socket
// keeps the set, and gives it to each publisher that comes or comes back:
NETIO_API int netio_subscribe(struct netio_subscribe_socket* socket, uint64_t tag);
NETIO_API int netio_unsubscribe(struct netio_subscribe_socket* socket, uint64_t tag);
NETIO_API int netio_subscribe_range(struct netio_subscribe_socket* socket, uint64_t first,
                                    uint64_t last);
NETIO_API int netio_unsubscribe_range(struct netio_subscribe_socket* socket, uint64_t first,
                                      uint64_t last);

#ifdef __cplusplus
}
#endif

#endif
