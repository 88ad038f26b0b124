// An internet address and port: a sockaddr with its size, and the ways to make and print one.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <vector>

#include <netio/status.hpp>

namespace netio::detail {

struct InternetAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;

  InternetAddress() noexcept = default;
  // Of a sockaddr; unknown where there is none, or it is too long to be one.
  InternetAddress(const void* address, std::size_t address_bytes) noexcept;
  [[nodiscard]] const sockaddr* get() const noexcept {
    return reinterpret_cast<const sockaddr*>(&storage);
  }
  [[nodiscard]] int family() const noexcept { return storage.ss_family; }
  [[nodiscard]] bool operator==(const InternetAddress& other) const noexcept {
    return bytes == other.bytes && std::memcmp(&storage, &other.storage, bytes) == 0;
  }
};

// "127.0.0.1:5000", "[::1]:5000".
std::string to_string(const InternetAddress& address);
// "127.0.0.1", "::1": without the port, as look_up_number() takes it.
std::string host_number(const InternetAddress& address);
InternetAddress local_address(int fd);
InternetAddress remote_address(int fd);

struct LookUp {
  std::vector<InternetAddress> addresses;  // in the order to try; empty if it failed
  Down failure;
};
// A number or a name, as the next two.
LookUp look_up(const std::string& host, std::uint16_t port);
// For a look-up that its caller gives up.
Down name_service_late(const std::string& peer_address);
// Numbers only: never asks a name service, never blocks. Nothing if `host` is a name.
std::optional<LookUp> look_up_number(const std::string& host, std::uint16_t port);
// Asks the name service and may block for many seconds.
LookUp look_up_name(const std::string& host, std::uint16_t port);

}  // namespace netio::detail
