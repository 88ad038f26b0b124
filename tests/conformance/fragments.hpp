// What the conformance tests of event building have in common: memory, and fragments by source and
// event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "conformance/conformance.hpp"

namespace netio::test {

[[nodiscard]] inline ContextOptions memory_to_build() {
  ContextOptions options;
  options.send_pool_bytes = std::size_t{8} << 20U;
  options.receive_pool_bytes = std::size_t{8} << 20U;
  return options;
}

// Who is back is met at once.
[[nodiscard]] inline SocketOptions hasty_socket() {
  SocketOptions options;
  options.reconnect_after_min = 1ms;
  options.reconnect_after_max = 20ms;
  return options;
}

// Some are empty, most are small, some fill pages, and some are larger than a page.
[[nodiscard]] inline std::vector<std::byte> fragment_bytes(std::uint32_t source, EventId event) {
  const std::uint64_t drawn = mix(event.number * 64 + source);
  const std::size_t bytes = drawn % 64 == 0 ? 100'000 : drawn % 16 == 1 ? 20'000 : drawn % 400;
  return payload(drawn ^ event.run, bytes);
}

}  // namespace netio::test
