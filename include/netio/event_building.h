// Event building in the C API (netio.h includes it): what read-out units and builder units have in
// common, as netio/event_building.hpp has it. docs/event-building.md says who says what to whom.
#ifndef NETIO_EVENT_BUILDING_H
#define NETIO_EVENT_BUILDING_H

#include <stddef.h>
#include <stdint.h>

#include <netio/export.hpp>

#ifdef __cplusplus
extern "C" {
#endif

// The number of an event within a run. It is also a position: that of all events below it, and of
// all runs below its own. This struct will not grow.
struct netio_event_id {
  uint64_t run;     // runs follow each other in the order of their numbers
  uint64_t number;  // within the run, at most UINT64_MAX - 1
};
// Gives the end of a run, a position in front of the next run.
NETIO_API struct netio_event_id netio_end_of_run(uint64_t run);

// How a fragment came from the detector: as netio::FragmentStatus.
enum netio_fragment_status {
  NETIO_FRAGMENT_GOOD = 0,
  NETIO_FRAGMENT_TRUNCATED = 1,
  NETIO_FRAGMENT_IN_ERROR = 2,
};
NETIO_API const char* netio_fragment_status_name(int status);  // "good", ...; never NULL
// Why an event has no fragment of a source: as netio::Missing.
enum netio_missing {
  NETIO_MISSING_NO = 0,             // it has one, or the unit said that there is none
  NETIO_MISSING_LATE = 1,           // the unit is connected, and did not send it in time
  NETIO_MISSING_NOT_CONNECTED = 2,  // the unit was not connected in time
  NETIO_MISSING_NOT_BEGUN = 3,      // the unit began, or began anew, behind this event
  NETIO_MISSING_DROPPED = 4,        // the unit's store was full
  NETIO_MISSING_FORGOTTEN = 5,      // an earlier manager told the unit that the event is settled
};
NETIO_API const char* netio_missing_name(int missing);  // "late", ...; never NULL

// Which builder builds an event: as netio::BuildPlan. It is the same at all units, builders and
// managers, which compare it when they meet. This struct will not grow.
struct netio_build_plan {
  uint32_t sources;       // the read-out units, which are numbered from 0; to be set
  uint32_t builders;      // they are numbered from 0
  uint64_t range_events;  // event numbers in a range: 256
  int32_t managed;        // an event manager (`netio build manager`) gives ranges to builders
  int32_t reserved_number;
};

#ifdef __cplusplus
}
#endif

#endif
