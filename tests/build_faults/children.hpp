// The processes that the test starts, and how it ends if one of them does what it should not.
#pragma once

#include <functional>
#include <string>
#include <sys/types.h>

namespace netio::test {

// Says why, and ends the test. Its children end with it.
[[noreturn]] void give_up(const std::string& what);

// A process whose life this is; it ends with the status that is returned.
[[nodiscard]] pid_t start_child(const std::function<int()>& life);
void kill_child(pid_t child);
// Until it ends by itself, with status 0.
void await_end(pid_t child);
// Gives up if a child has ended by itself.
void look_for_deaths();

}  // namespace netio::test
