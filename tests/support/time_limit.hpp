// Each test has so long to end, or it hangs: the process prints the stacks of its threads and of
// its child processes (where gdb is installed), kills those, and ends with 1. NETIO_TEST_LIMIT, in
// seconds, is in place of it; 0 is no limit, for a debugger. What a test forks has no limit of its
// own.
#pragma once

#include "support/sanitized.hpp"

namespace netio::test {

// A sanitizer makes slower what waits for nothing.
inline constexpr int time_limit_seconds = sanitized ? 180 : 60;

// So many times the limit, from now, for the test that runs.
void extend_time_limit(int times);

}  // namespace netio::test
