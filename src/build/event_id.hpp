// The number of an event within a run, which is also a position. In a system with a manager, units
// and builders talk in positions whose `run` is the number of an assignment (see
// manager_messages.hpp).
#pragma once

#include <netio/event_building.hpp>

namespace netio::detail {

using netio::end_of_run;
using netio::event_number_max;
using netio::EventId;
using netio::FragmentStatus;
using netio::Missing;
using netio::WhenFull;

// Above every event.
inline constexpr EventId end_of_all{UINT64_MAX, UINT64_MAX};

}  // namespace netio::detail
