// Where the ends of a measurement meet: over the kernel's sockets, or over a fabric.
#pragma once

#include <cstdint>
#include <string>

namespace netio::cli {

struct Meeting {
  std::string scheme;    // tcp, verbs, or ofi+ and the provider
  std::string provider;  // of libfabric; empty: sockets
  std::string host;
  std::uint16_t port = 0;

  [[nodiscard]] bool on_fabric() const noexcept { return !provider.empty(); }
};

// Throws Failure.
[[nodiscard]] Meeting meeting_of(const std::string& address);

}  // namespace netio::cli
