// The number of an event within a run, which is also a position.
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
inline constexpr EventId end_of_all{UINT32_MAX, UINT64_MAX};

}  // namespace netio::detail
