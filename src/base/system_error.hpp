// Turns errno into netio::Error. Any thread; set-up only.
#pragma once

#include <string>

#include <netio/status.hpp>

namespace netio::detail {

// The text of an errno value; safe in any thread, unlike strerror().
[[nodiscard]] std::string errno_text(int error);

// An Error whose cause is that text. Without advice, says what there is to say about the
// errors that every system call shares: out of descriptors, out of memory, no permission.
[[nodiscard]] Error system_error(std::string operation, int error, std::string advice = {});

// The result of a system call, or its Error thrown: `opened([] { return checked(::socket(...),
// ...); })`.
int checked(int result, const char* operation);

}  // namespace netio::detail
