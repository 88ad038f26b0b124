// The end of a program that has misused the library where no exception can say so: in destructors.
#pragma once

namespace netio::detail {

// Writes "netio: ", what was done and what to do instead, to standard error, and terminates.
[[noreturn]] void die(const char* what) noexcept;

}  // namespace netio::detail
