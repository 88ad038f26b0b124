// The number of an event within a run, which is also a position.
#pragma once

#include <netio/event_building.hpp>

namespace netio::detail {

// Above every event.
inline constexpr EventId end_of_all{UINT32_MAX, UINT64_MAX};

}  // namespace netio::detail
