// Where `bench-netio-points` keeps the times at which its threads reach points: the last messages
// of each thread, in memory that was taken before. The last line of the worker says them.
#pragma once

#include "worker/worker.hpp"

namespace netio::bench {

// Before the system runs, on the thread that it runs on. The worker outlives what is recorded.
// Throws for a delay (Options::delay) that cannot be had.
void record_points(Worker& worker);

}  // namespace netio::bench
