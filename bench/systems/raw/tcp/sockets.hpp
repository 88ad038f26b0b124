// The sockets of the floor: non-blocking TCP, and nothing between them and the messages
// but an 8-byte length in front of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "worker/descriptors.hpp"

namespace netio::bench::raw::tcp {

inline constexpr std::size_t length_bytes = 8;

inline void write_length(std::byte* at, std::size_t bytes) noexcept {
  const std::uint64_t length = bytes;
  std::memcpy(at, &length, sizeof length);
}
[[nodiscard]] inline std::uint64_t read_length(const std::byte* at) noexcept {
  std::uint64_t length = 0;
  std::memcpy(&length, at, sizeof length);
  return length;
}

// These throw std::system_error.
int listen_at(const std::string& host, std::uint16_t port);
[[nodiscard]] std::uint16_t port_of(int fd);
int connect_to(const std::string& host, std::uint16_t port);
// Waits for it, then makes it non-blocking. -1 if `stop` was told first.
int accept_one(int listener, int stop);

}  // namespace netio::bench::raw::tcp
