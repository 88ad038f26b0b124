// Where the ends of a measurement meet: over the kernel's sockets, over a fabric, in shared memory,
// or in one process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace netio::cli {

// Of a ring, as netio has it.
inline constexpr std::uint64_t slots_max = 500;
inline constexpr std::uint64_t slots_default = 16;
inline constexpr std::uint64_t slot_bytes_default = std::uint64_t{64} << 10U;

struct Meeting {
  std::string scheme;    // tcp, shm, inproc, verbs, or ofi+ and the provider
  std::string provider;  // of libfabric; empty: none
  std::string name;      // in memory; else empty
  std::string host;
  std::uint16_t port = 0;
  // Of ?engine=ring on a fabric. If one is 0, it is netio's default; if both are, there is no ring.
  std::uint64_t slots = 0;
  std::uint64_t slot_bytes = 0;

  [[nodiscard]] bool has_ring() const noexcept { return slots != 0 || slot_bytes != 0; }
  // For people: the scheme, and the ring.
  [[nodiscard]] std::string wire() const;
  [[nodiscard]] bool on_fabric() const noexcept { return !provider.empty(); }
  [[nodiscard]] bool in_memory() const noexcept { return !name.empty(); }
  [[nodiscard]] bool in_one_process() const noexcept { return scheme == "inproc"; }
};

// On a fabric with ?engine=ring, and slots=N and slot_bytes=BYTES or netio's defaults of them. In
// memory, * is a name that no other measurement has. Throws Failure.
[[nodiscard]] Meeting meeting_of(const std::string& address);
// The same, of a measurement (such as "a fanout") that is not made of rings.
[[nodiscard]] Meeting meeting_without_ring(const std::string& address, std::string_view of);

}  // namespace netio::cli
