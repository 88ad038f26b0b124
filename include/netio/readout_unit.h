// Read-out units in the C API (netio.h includes it): as netio::ReadoutUnit. All calls are for the
// thread of the context. None blocks.
#ifndef NETIO_READOUT_UNIT_H
#define NETIO_READOUT_UNIT_H

#include <stddef.h>
#include <stdint.h>

#include <netio.h>
#include <netio/event_building.h>
#include <netio/export.hpp>
#include <netio/segments.h>

#ifdef __cplusplus
extern "C" {
#endif

// Where netio/segments.h is the file that brought this one, it declares this later:
struct netio_segment;

// What a read-out unit does with a fragment when its store is full: as netio::WhenFull.
enum netio_when_full {
  NETIO_WHEN_FULL_AGAIN = 0,  // sending answers NETIO_AGAIN: the detector has to wait
  NETIO_WHEN_FULL_DROP = 1,   // the fragment is dropped, counted, and the builder is told
};
// As netio::ReadoutOptions. Begin with netio_readout_defaults(), then set plan.sources and
// `source`.
struct netio_readout_options {
  struct netio_build_plan plan;  // the same at all units and builders
  uint32_t source;               // the number of this unit, below plan.sources
  int32_t when_full;             // netio_when_full
  // The bound of what is held until its event is settled: 64 MiB. Each fragment counts 64 bytes
  // more than it has, and one of segments the table of their sizes, too.
  uint64_t store_bytes_max;
  // Of the connections to builders, read by init only; NULL: the defaults. What is said there about
  // sending, tags and acknowledgements has no meaning here.
  const struct netio_socket_options* socket;
  uint64_t reserved[8];
};
NETIO_API void netio_readout_defaults(struct netio_readout_options* options);  // fills them in

// Holds the fragments of one source until their events are settled, and sends each to the builder
// of its event. Call-backs may be NULL. They may do everything except block, run the loop, free its
// context, or throw. They may free their own unit. Set those with a (*) before
// netio_readout_connect() or netio_readout_join(): they cost something when they are set.
struct netio_readout_unit {
  // Send again: the store, or the memory that messages are made in, has room. It comes once after
  // NETIO_AGAIN.
  void (*cb_buffer_available)(struct netio_readout_unit* unit);
  // What netio_readout_lend() was given with this key is the caller's again.
  void (*cb_send_completed)(struct netio_readout_unit* unit, uint64_t key);
  // (*) Nothing below this position is held any more. It comes at the end of a turn, once for all
  // that was settled in it.
  void (*cb_settled)(struct netio_readout_unit* unit, struct netio_event_id below);
  // A builder is connected, and has the plan of this unit.
  void (*cb_connection_established)(struct netio_readout_unit* unit, uint32_t builder,
                                    const struct netio_peer* peer);
  // The connection to a builder ended, and why.
  void (*cb_connection_closed)(struct netio_readout_unit* unit, uint32_t builder,
                               const struct netio_peer* peer, const struct netio_down* down);
  // An attempt to connect to a builder failed. If one was refused, cb_refused comes in its place.
  void (*cb_connection_failed)(struct netio_readout_unit* unit, uint32_t builder,
                               const struct netio_peer* peer, const struct netio_down* down);
  // A builder cannot work with this unit, and why, for a person: another plan, another number, or a
  // breach of the rules. The connection is ended, and tried again. A reason that is the same again
  // is not told, until one of the two above has told of another.
  void (*cb_refused)(struct netio_readout_unit* unit, uint32_t builder, const char* why);
  // What netio_readout_finish() began is done, or netio_context_close() has made it finish.
  void (*cb_finished)(struct netio_readout_unit* unit);
  // (*) netio_readout_fill() passed a watermark of the socket options:
  void (*cb_high_watermark)(struct netio_readout_unit* unit);
  void (*cb_low_watermark)(struct netio_readout_unit* unit);
  // The same of the event manager, as of a builder:
  void (*cb_manager_established)(struct netio_readout_unit* unit, const struct netio_peer* peer);
  void (*cb_manager_closed)(struct netio_readout_unit* unit, const struct netio_peer* peer,
                            const struct netio_down* down);
  void (*cb_manager_failed)(struct netio_readout_unit* unit, const struct netio_peer* peer,
                            const struct netio_down* down);
  void (*cb_manager_refused)(struct netio_readout_unit* unit, const char* why);
  // A manager has greeted this unit before it has begun: it may begin with this position, or above.
  // {0, 0}: nothing was given to a builder yet. See netio::ReadoutUnit::on_begin().
  void (*cb_begin)(struct netio_readout_unit* unit, struct netio_event_id produced);
  // The manager wants this unit to end in front of this event: say netio_readout_advance() up to
  // there, and netio_readout_finish().
  void (*cb_stop)(struct netio_readout_unit* unit, struct netio_event_id at);
  void* data;  // the user's
  struct netio_handle handle;
  void* reserved[8];
};
// Makes it. The options are needed, because they have the plan.
NETIO_API int netio_readout_unit_init(struct netio_context* context,
                                      struct netio_readout_unit* unit,
                                      const struct netio_readout_options* options);
// Ends it at once: what is held is lost, no call-back comes any more (lent memory is the caller's
// again), and the struct may be reused as soon as this returns, also inside a call-back.
NETIO_API int netio_readout_unit_free(struct netio_readout_unit* unit);

// Begins to connect to the builder of this number; it need not exist yet. To be called for each
// builder of the plan. NETIO_BAD_ADDRESS: the address makes no sense. NETIO_ERROR: there is no
// builder of this number, or it was named before.
NETIO_API int netio_readout_connect(struct netio_readout_unit* unit, uint32_t builder,
                                    const char* address);
// The same with a builder that is bound at `count` addresses, as on a host with several network
// interfaces. This unit begins with number `source` modulo `count`. Where it does not reach the
// builder, it tries the next one. NETIO_ERROR also without an address.
NETIO_API int netio_readout_connect_any(struct netio_readout_unit* unit, uint32_t builder,
                                        const char* const* addresses, size_t count);
// For a plan that is `managed`, in place of netio_readout_connect(): connects to the event manager,
// which says where the builders are. Once.
NETIO_API int netio_readout_join(struct netio_readout_unit* unit, const char* manager);

// Holds and sends the fragment of this event. The bytes are copied once, and are the caller's again
// on return. Events come in ascending order; some may be left out. `status` is a
// netio_fragment_status.
//
// NETIO_AGAIN: the store is full, or memory is short; cb_buffer_available follows. NETIO_TOO_BIG:
// the fragment never fits the store, or is larger than message_bytes_max. NETIO_INVALID: the event
// does not lie above those before it, or its number is UINT64_MAX; or there is no such status.
// NETIO_CLOSED: netio_readout_finish() was called.
NETIO_API int netio_readout_send(struct netio_readout_unit* unit, struct netio_event_id event,
                                 const void* data, size_t bytes, int status);
// The same with a message that was kept or allocated, without a copy where the wire sends from its
// memory: emptied on NETIO_OK, else left as it is. Its tag is not sent.
NETIO_API int netio_readout_send_message(struct netio_readout_unit* unit,
                                         struct netio_event_id event, struct netio_message* message,
                                         int status);
// The same with up to NETIO_SEGMENTS_MAX segments as one fragment, of which the builder reads
// netio_segments(). They are copied once, unless the last one is a message of
// netio_readout_allocate() with room for the others in front. Messages among them are emptied on
// NETIO_OK, else left as they are.
NETIO_API int netio_readout_send_segments(struct netio_readout_unit* unit,
                                          struct netio_event_id event,
                                          const struct netio_segment* segments, size_t count,
                                          int status);
// Lends the bytes instead: they must stay unchanged until cb_send_completed with `key`, which comes
// once for every NETIO_OK, when the event is settled, or the fragment is dropped or too late; or
// until the unit is freed. What is lent counts in the store.
NETIO_API int netio_readout_lend(struct netio_readout_unit* unit, struct netio_event_id event,
                                 const void* data, size_t bytes, uint64_t key, int status);
// Makes a message of `bytes` for the fragment of this event, to be written at `room`: in memory
// that the wire of its builder sends from, if there is plenty of it. Then
// netio_readout_send_message() it; or netio_readout_send_segments() with it as the last segment,
// behind others whose sizes, each rounded up to a multiple of 8, add up to at most `head_bytes`; or
// netio_release() it. NETIO_AGAIN: there is no memory now; cb_buffer_available follows.
// NETIO_TOO_BIG and NETIO_CLOSED: as of netio_readout_send().
NETIO_API int netio_readout_allocate(struct netio_readout_unit* unit, struct netio_event_id event,
                                     size_t head_bytes, size_t bytes, struct netio_message* message,
                                     void** room);
// Says that this unit has nothing more below this position, so builders need not wait for it. The
// first call of this or of sending says with which event the unit begins. At the end of a run:
// netio_readout_advance(&unit, netio_end_of_run(run)). After netio_readout_finish() it does
// nothing.
NETIO_API int netio_readout_advance(struct netio_readout_unit* unit, struct netio_event_id below);
// Hands to the wire now what would go at the end of the loop turn.
NETIO_API int netio_readout_flush(struct netio_readout_unit* unit);
// Takes no more fragments. When everything is settled that is built, or `linger_ms` has passed,
// cb_finished comes. What is held then is lost when the unit is freed. At the end of a run, say
// netio_readout_advance() first, so that builders need not wait for more. Without it, events that
// others send later are incomplete. A second call sets a new linger time, and
// cb_finished comes once more if it has come.
NETIO_API int netio_readout_finish(struct netio_readout_unit* unit, uint64_t linger_ms);

// As netio::ReadoutBooks. Of fragments: sent == settled + dropped + late + held, always.
struct netio_readout_books {
  uint64_t sent;        // NETIO_OK was answered
  uint64_t settled;     // forgotten, because their builder has used them
  uint64_t built;       // of them, handed over in complete events; with a manager 0
  uint64_t incomplete;  // of them, handed over in others; with a manager 0
  uint64_t dropped;     // because the store was full (NETIO_WHEN_FULL_DROP)
  uint64_t late;        // not used: their events were handed over without them, or passed over
  uint64_t held;        // in the store
  uint64_t held_bytes;  // of the store, as store_bytes_max counts them
  uint64_t resent;      // put on a wire once more, to the same builder
  uint64_t reserved[7];
};
// Takes a snapshot:
NETIO_API int netio_readout_get_books(const struct netio_readout_unit* unit,
                                      struct netio_readout_books* books);
// Tells how full the store is, from 0 to 1; 0 for what is no unit, and on another thread.
NETIO_API double netio_readout_fill(const struct netio_readout_unit* unit);
// Gives the number of builders that are connected, and have the plan of this unit.
NETIO_API size_t netio_readout_builders_connected(const struct netio_readout_unit* unit);
// Gives the position below which everything was sent, or does not exist:
NETIO_API int netio_readout_get_advanced(const struct netio_readout_unit* unit,
                                         struct netio_event_id* below);
// Gives the position below which nothing is held:
NETIO_API int netio_readout_get_settled(const struct netio_readout_unit* unit,
                                        struct netio_event_id* below);
// What a unit holds for one builder: it says which builder fills the store. As
// netio::HeldForBuilder.
struct netio_held_for_builder {
  uint64_t fragments;            // in the store; with a manager, of what it has assigned
  uint64_t bytes;                // of the store, as store_bytes_max counts them
  struct netio_event_id oldest;  // if there are fragments: of the first one that is sent
  uint64_t window_bytes;         // so many may be sent before the builder is done with more
  int32_t connected;             // cb_connection_established came, and cb_connection_closed did not
  int32_t reserved_number;
  uint64_t reserved[4];
};
// Lists these by the numbers of builders. It looks at each fragment that is held. The list is the
// unit's, and valid until the next such call for it, or its free:
NETIO_API int netio_readout_get_held(struct netio_readout_unit* unit,
                                     const struct netio_held_for_builder** held, size_t* count);
// Lists the connections to builders in the same way. One that does not exist is not `up`:
NETIO_API int netio_readout_get_peers(struct netio_readout_unit* unit,
                                      const struct netio_peer_snapshot** peers, size_t* count);
// Takes a snapshot of what the connections to this builder counted. A builder that is dialed at
// another address is counted anew. NETIO_INVALID: there is no builder of this number.
NETIO_API int netio_readout_get_counters(const struct netio_readout_unit* unit, uint32_t builder,
                                         struct netio_counters* counters);

#ifdef __cplusplus
}
#endif

#endif
