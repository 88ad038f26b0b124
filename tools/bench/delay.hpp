// A part of a message's way that is made longer, to see that `netio bench breakdown` finds it.
#pragma once

#include <string>

namespace netio::cli {

// Those that can be delayed, for people.
[[nodiscard]] std::string delayed_parts();
// PART=TIME as a worker wants it, PART=NANOSECONDS. Throws std::invalid_argument.
[[nodiscard]] std::string parse_delay(const std::string& text);

}  // namespace netio::cli
