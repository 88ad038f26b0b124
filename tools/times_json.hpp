// The times of round trips for a program.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "round_trips.hpp"

namespace netio::cli {

// In microseconds: min, p50, mean, p99, max; null if nothing was answered.
[[nodiscard]] nlohmann::ordered_json times_json(const RoundTrips& trips);

}  // namespace netio::cli
