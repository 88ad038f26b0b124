// Builder units in the C API (netio.h includes it): as netio::BuilderUnit. All calls are for the
// thread of the context, unless they say "any thread". None blocks, but netio_builder_listen() to
// look up a name.
#ifndef NETIO_BUILDER_UNIT_H
#define NETIO_BUILDER_UNIT_H

#include <stddef.h>
#include <stdint.h>

#include <netio.h>
#include <netio/event_building.h>
#include <netio/export.hpp>

#ifdef __cplusplus
extern "C" {
#endif

// As netio::BuilderOptions, where each is explained. Begin with netio_builder_defaults(), then set
// plan.sources and `builder`.
struct netio_builder_options {
  struct netio_build_plan plan;  // the same at all units and builders
  uint32_t builder;              // the number of this one, below plan.builders
  int32_t settle_released;       // an event that is kept is settled when it is released
  uint64_t deadline_ns;          // how long an event waits for a unit that is able to send: 1 s
  uint64_t meet_within_ns;       // for one that this builder has not met: 10 s; no manager
  // The bytes of each unit that may be here, and be on their way, for events that are not handed
  // over. 0: what the context has room for, up to 4 MiB.
  uint64_t window_bytes;
  uint64_t keep_bytes_max;  // of events that the user keeps; 0: a quarter of the receive pool
  uint32_t turns;           // so many units may send at a time, in turn; 0: all of them
  uint32_t weight;          // with an event manager: of all builders' weights, the share of events
  uint32_t credit;          // with an event manager: how many ranges it is given at a time
  uint32_t reserved_number;
  // Of the connections to units, read by init only; NULL: the defaults. What is said there about
  // sending, tags and acknowledgements has no meaning here.
  const struct netio_socket_options* socket;
  uint64_t reserved[8];
};
NETIO_API void netio_builder_defaults(struct netio_builder_options* options);  // fills them in
// Makes the sizes of a context's options larger where a builder of these options needs more memory.
// Begin those with netio_context_defaults().
NETIO_API int netio_builder_memory(const struct netio_builder_options* options,
                                   struct netio_context_options* context);

// --- What is handed over. The fragment of one source of an event, as netio::EventFragment. This
// struct will not grow.
struct netio_event_fragment {
  struct netio_message message;  // its bytes; empty if there is none. See netio_segments()
  uint8_t status;                // as the unit said: netio_fragment_status
  uint8_t missing;               // why there is none: netio_missing
  uint8_t here;                  // 1: there is one; it may have no bytes
  uint8_t reserved_bytes[5];     // the library's
};
// An event that cb_event was given, valid until it returns; or one that was kept, which is the
// user's. This struct will not grow.
struct netio_event {
  void* memory;              // private: its fragments
  struct netio_event_id id;  // its run and its number
  size_t sources;            // the number of sources
  uint8_t complete;          // 1: every source has sent its fragment, or has none
  uint8_t again;  // 1: an earlier run of this builder, or another one, may have handed it over
  uint8_t reserved_bytes[6];
};
// Gives the fragment of one source, below `sources`, of an event that was given to a call-back or
// kept. Its bytes are valid as long as the event; to have them longer, netio_keep() its message,
// which is in no count of the builder's. NETIO_INVALID: there is no such event or source.
// That of an event that is kept: any thread.
NETIO_API int netio_event_get_fragment(const struct netio_event* event, size_t source,
                                       struct netio_event_fragment* fragment);
// Gives the bytes of all its fragments, with the tables of those that are of segments. Those of an
// event that is kept: any thread.
NETIO_API uint64_t netio_event_bytes(const struct netio_event* event);
// Makes `kept` own an event that cb_event was given, for as long as you like, within
// keep_bytes_max. Once. It needs no init, and may be copied; release it once.
NETIO_API int netio_event_keep(const struct netio_event* event, struct netio_event* kept);
// Empties it: on any thread, at any time, also after the unit or its context was freed.
NETIO_API int netio_event_release(struct netio_event* kept);

// What is said of one event of a range. This struct will not grow.
struct netio_range_event {
  struct netio_event_id id;  // its run and its number
  uint8_t complete;          // as of netio_event
  uint8_t again;             // as of netio_event
  uint8_t reserved_bytes[6];
};
// Events of one range that are handed over together, in their order: at least one. Valid until
// cb_range returns.
struct netio_event_range {
  void* memory;                            // private: their fragments
  const struct netio_range_event* events;  // `count` of them
  size_t count;                            // events
  size_t sources;                          // the number of sources
  uint64_t bytes;                          // of all fragments, as netio_event_bytes()
};
// Gives the fragments of this source, below `sources`, next to each other: one for each of the
// events, in their order. To keep one, netio_keep() its message, which is in no count of the
// builder's. NULL: there is no such source.
NETIO_API const struct netio_event_fragment* netio_range_fragments(
    const struct netio_event_range* range, size_t source);

// How many events lack the fragment of a source, by netio_missing. This struct will not grow.
struct netio_missing_counts {
  uint64_t by[16];  // that of NETIO_MISSING_NO: the unit said that it has none
};
// What one builder has handed over of a run, as netio::RunBooks.
struct netio_run_books {
  uint64_t run;         // its number
  uint64_t complete;    // events that were handed over with all that exists of them
  uint64_t incomplete;  // others
  uint64_t again;       // of both, those that an earlier run may have handed over
  uint64_t bytes;       // of their fragments, as netio_event_bytes()
  const struct netio_missing_counts* missing_by;  // by the numbers of sources
  size_t sources;                                 // the number of sources
};

// --- The unit. Builds the events of its ranges. Call-backs may be NULL. They may do everything
// except block, run the loop, free its context, or throw. They may free their own unit. Set those
// with a (*) before netio_builder_listen() or netio_builder_join(): once one of them has answered
// NETIO_OK, one that is set in place of NULL is not called.
struct netio_builder_unit {
  // (*) An event. This builder is done with it when the call has returned, or later if it was kept
  // (settle_released). If it is set to NULL later, events are discarded, as if they had been used.
  void (*cb_event)(struct netio_builder_unit* unit, const struct netio_event* event);
  // (*) In its place: events by range, those that are ready together. Not with settle_released.
  void (*cb_range)(struct netio_builder_unit* unit, const struct netio_event_range* range);
  // (*) Each event of a run that this builder has was handed over; some may be kept still. Valid
  // until it returns. Not for a plan that is `managed`. See netio::BuilderUnit::on_run_end().
  void (*cb_run_end)(struct netio_builder_unit* unit, const struct netio_run_books* books);
  // A unit is connected, has the plan of this builder, and has said where it begins.
  void (*cb_connection_established)(struct netio_builder_unit* unit, uint32_t source,
                                    const struct netio_peer* peer);
  // The connection of a unit ended, and why.
  void (*cb_connection_closed)(struct netio_builder_unit* unit, uint32_t source,
                               const struct netio_peer* peer, const struct netio_down* down);
  // Somebody cannot work with this builder, and why, for a person: another plan, a source that is
  // connected already, a breach of the rules, or another kind of socket. The connection is ended.
  void (*cb_refused)(struct netio_builder_unit* unit, const struct netio_peer* peer,
                     const char* why);
  // What netio_builder_close() began is done, or netio_context_close() has closed it.
  void (*cb_closed)(struct netio_builder_unit* unit);
  // (*) netio_builder_fill() passed a watermark of the socket options:
  void (*cb_high_watermark)(struct netio_builder_unit* unit);
  void (*cb_low_watermark)(struct netio_builder_unit* unit);
  // The event manager is connected; its connection ended; an attempt to connect failed; or it
  // cannot work with this builder, and why, in place of that. If it is gone, no event is handed
  // over when the lease is over:
  void (*cb_manager_established)(struct netio_builder_unit* unit, const struct netio_peer* peer);
  void (*cb_manager_closed)(struct netio_builder_unit* unit, const struct netio_peer* peer,
                            const struct netio_down* down);
  void (*cb_manager_failed)(struct netio_builder_unit* unit, const struct netio_peer* peer,
                            const struct netio_down* down);
  void (*cb_manager_refused)(struct netio_builder_unit* unit, const char* why);
  void* data;  // the user's
  struct netio_handle handle;
  void* reserved[8];
};
// Makes it. The options are needed, because they have the plan. NETIO_ERROR also if the context has
// too little memory for them: see netio_builder_memory().
NETIO_API int netio_builder_unit_init(struct netio_context* context,
                                      struct netio_builder_unit* unit,
                                      const struct netio_builder_options* options);
// Ends it at once: connections are cut, no call-back comes any more, and the struct may be reused
// as soon as this returns, also inside a call-back. Events that are kept stay valid.
NETIO_API int netio_builder_unit_free(struct netio_builder_unit* unit);

// Listens for units, as netio_listen() does: at several addresses, as on a host with several
// network interfaces, if it is called for each; with an event manager at most 16. NETIO_INVALID:
// neither cb_event nor cb_range is set, or both. NETIO_ERROR also for cb_range with
// settle_released, and for cb_run_end with a plan that is `managed`.
NETIO_API int netio_builder_listen(struct netio_builder_unit* unit, const char* address);
// Gives the address of the latest netio_builder_listen() with the real port, or "". Valid until the
// next.
NETIO_API const char* netio_builder_address(const struct netio_builder_unit* unit);
// Connects to the event manager, which gives this builder its ranges, and tells units where it
// listens. For a plan that is `managed`; once, after the calls of netio_builder_listen(). It needs
// cb_event or cb_range as those do.
NETIO_API int netio_builder_join(struct netio_builder_unit* unit, const char* manager);
// Hands nothing over, and does not tell of the end of runs, until netio_builder_resume(). Units go
// on as far as their windows allow. To end in order with events that are kept, pause, release them
// on whatever thread they are, and close.
NETIO_API int netio_builder_pause(struct netio_builder_unit* unit);
// Goes on, in another turn of the loop.
NETIO_API int netio_builder_resume(struct netio_builder_unit* unit);
// Takes no more fragments, and tells units what is settled. When they know it, or `linger_ms` has
// passed, cb_closed comes. What is not handed over stays with the units, and so does what is kept
// with settle_released, which is not waited for. A second call sets a new linger time, and
// cb_closed comes once more if it has come.
NETIO_API int netio_builder_close(struct netio_builder_unit* unit, uint64_t linger_ms);

// Of fragments of one source, as netio::BuilderBooks::Source: received == built + incomplete + late
// + open, always.
struct netio_builder_source {
  uint64_t received;                       // that came
  uint64_t built;                          // handed over in complete events
  uint64_t incomplete;                     // handed over in others
  uint64_t late;                           // came when their event was handed over or settled
  uint64_t open;                           // of open events
  struct netio_missing_counts missing_by;  // events that were handed over without a fragment of it
  int32_t connected;                       // the unit is
  int32_t busy;                            // its store is full, so it is not late; no manager
  uint64_t reserved[4];
};
// As netio::BuilderBooks.
struct netio_builder_books {
  uint64_t complete;                           // events handed over with all that exists of them
  uint64_t incomplete;                         // others
  uint64_t again;                              // of both, those that may have been handed over
  uint64_t open;                               // events that wait
  uint64_t bytes;                              // of what was handed over, as netio_event_bytes()
  uint64_t open_bytes;                         // of open events, as window_bytes counts them
  uint64_t open_bytes_max;                     // the most it was
  uint64_t kept_bytes;                         // of events that are kept
  uint64_t kept_bytes_max;                     // the most it was
  const struct netio_builder_source* sources;  // by their numbers
  size_t source_count;                         // the number of sources
  uint64_t reserved[6];
};
// Takes a snapshot. The list of sources is the unit's, and valid until the next such call for it,
// or its free:
NETIO_API int netio_builder_get_books(struct netio_builder_unit* unit,
                                      struct netio_builder_books* books);
// Tells how full the memory for kept events is, from 0 to 1; 0 for what is no unit, and on another
// thread.
NETIO_API double netio_builder_fill(const struct netio_builder_unit* unit);
// Gives the position below which everything is settled; {0, 0} with an event manager:
NETIO_API int netio_builder_get_settled(const struct netio_builder_unit* unit,
                                        struct netio_event_id* below);
// Lists the connections to units, by the numbers of sources. That of a unit that is not connected
// is not `up`. The list is the builder's, and valid until the next such call for it, or its free:
NETIO_API int netio_builder_get_peers(struct netio_builder_unit* unit,
                                      const struct netio_peer_snapshot** peers, size_t* count);
// Takes a snapshot of what its connections counted:
NETIO_API int netio_builder_get_counters(const struct netio_builder_unit* unit,
                                         struct netio_counters* counters);

#ifdef __cplusplus
}
#endif

#endif
