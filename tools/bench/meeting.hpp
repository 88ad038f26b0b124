// Where the ends of a measurement meet: over the kernel's sockets, over a fabric, in shared memory,
// or in one process.
#pragma once

#include <cstdint>
#include <string>

namespace netio::cli {

struct Meeting {
  std::string scheme;    // tcp, shm, inproc, verbs, or ofi+ and the provider
  std::string provider;  // of libfabric; empty: none
  std::string name;      // in memory; else empty
  std::string host;
  std::uint16_t port = 0;

  [[nodiscard]] bool on_fabric() const noexcept { return !provider.empty(); }
  [[nodiscard]] bool in_memory() const noexcept { return !name.empty(); }
  [[nodiscard]] bool in_one_process() const noexcept { return scheme == "inproc"; }
};

// In memory * is a name that no other measurement has. Throws Failure.
[[nodiscard]] Meeting meeting_of(const std::string& address);

}  // namespace netio::cli
