// A number of bytes as people read it.
#pragma once

#include <cstdint>
#include <string>

namespace netio::detail {

// In whole MiB, rounded down, or in bytes below one.
[[nodiscard]] inline std::string amount_text(std::uint64_t bytes) {
  const std::uint64_t mebibytes = bytes >> 20U;
  return mebibytes != 0 ? std::to_string(mebibytes) + " MiB" : std::to_string(bytes) + " bytes";
}

}  // namespace netio::detail
