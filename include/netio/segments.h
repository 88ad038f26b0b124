// Messages of several segments in the C API (netio.h includes it): as netio::Segment. All calls are
// for the thread of the context, but netio_segments(). None blocks.
#ifndef NETIO_SEGMENTS_H
#define NETIO_SEGMENTS_H

#include <stddef.h>
#include <stdint.h>

#include <netio.h>
#include <netio/export.hpp>
#include <netio/requests.h>

#ifdef __cplusplus
extern "C" {
#endif

// Where netio/requests.h is the file that brought this one, it declares these later:
struct netio_ask;
struct netio_reply_to;
struct netio_request_socket;

// The most segments that a message may have.
enum { NETIO_SEGMENTS_MAX = 64 };
// One segment of a message. To be sent: bytes, which are the caller's again on return; or, if
// `message` is not NULL, a message that was kept or allocated, and `data` and `size` are not looked
// at. Such a message is emptied on NETIO_OK, else left as it is; its tag is not sent.
struct netio_segment {
  const void* data;               // received: a multiple of 8
  size_t size;                    // in bytes
  struct netio_message* message;  // received: NULL
};
// Sends one message of `count` segments (send, pair and publish sockets). All of them are received,
// or none. They are copied once, behind each other; but not the last one, if that is a message of
// netio_allocate_behind() with room for the others, or, on tcp and fabrics, another message that is
// larger than a quarter of a page. NETIO_INVALID: more than NETIO_SEGMENTS_MAX, or a message that
// is not owned, or that stands there twice. NETIO_TOO_BIG: with their table, 8 bytes for each and 8
// more, they are larger than a message may be; or no peer takes segments. Other answers are as of
// netio_send().
NETIO_API int netio_send_segments(struct netio_socket* socket, uint64_t tag,
                                  const struct netio_segment* segments, size_t count);
// The same, with the last segment, which is bytes and no message, lent: it must stay unchanged
// until cb_send_completed with `key`, as of netio_lend(). On tcp and fabrics it is not copied if it
// is larger than a quarter of a page (publish sockets: it is). NETIO_INVALID also without a
// segment, and if the last one is a message.
NETIO_API int netio_lend_segments(struct netio_socket* socket, uint64_t tag,
                                  const struct netio_segment* segments, size_t count, uint64_t key);
// The same with a request: see netio_request_send().
NETIO_API int netio_request_send_segments(struct netio_request_socket* socket,
                                          const struct netio_segment* segments, size_t count,
                                          const struct netio_ask* ask, uint64_t* id);
// The same with an answer: see netio_reply_to_send().
NETIO_API int netio_reply_to_send_segments(struct netio_reply_to* to,
                                           const struct netio_segment* segments, size_t count);
// As netio_allocate(), with room in front for other segments, whose sizes, each rounded up to a
// multiple of 8, add up to no more than `head_bytes`. Then netio_send_segments() with the message
// as the last segment; or netio_pass_on(), or netio_release() it.
NETIO_API int netio_allocate_behind(struct netio_socket* socket, uint64_t tag, size_t head_bytes,
                                    size_t bytes, struct netio_message* message, void** room);
// The same for a request: see netio_request_allocate().
NETIO_API int netio_request_allocate_behind(struct netio_request_socket* socket, size_t head_bytes,
                                            size_t bytes, struct netio_message* message,
                                            void** room);
// The same for an answer: see netio_reply_to_allocate().
NETIO_API int netio_reply_to_allocate_behind(struct netio_reply_to* to, size_t head_bytes,
                                             size_t bytes, struct netio_message* message,
                                             void** room);
// Gives the segments of a message that was received or kept, the first `most` of them, and returns
// how many there are: 1 if it was not sent in segments. `to` may be NULL if `most` is 0. The bytes
// are valid as long as the message; between two segments there are up to 7 bytes of zeros. Any
// thread.
NETIO_API size_t netio_segments(const struct netio_message* message, struct netio_segment* to,
                                size_t most);

#ifdef __cplusplus
}
#endif

#endif
