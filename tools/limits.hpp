// What the system grants a process, and what of it matters to netio.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <netio/memory_limit.hpp>

namespace netio::cli {

struct SoftHard {
  // None: unlimited.
  std::optional<std::uint64_t> soft;
  std::optional<std::uint64_t> hard;
};

struct Limits {
  SoftHard open_files;
  SoftHard locked_bytes;
  bool locks_without_limit = false;  // CAP_IPC_LOCK
  unsigned cpus_usable = 0;          // by this process
  unsigned cpus_online = 0;
  std::uint64_t memory_bytes = 0;
  // What new processes may have of it; in a control group with a bound, at most what is left of it.
  std::optional<std::uint64_t> memory_available_bytes;
  std::optional<MemoryLimit> control_group;  // that has a limit
  // Of processes and their threads: of this user, or of the control group. None: no bound.
  std::optional<std::uint64_t> processes_max;
  // None: the system does not say.
  std::optional<std::uint64_t> huge_page_bytes;
  std::optional<std::uint64_t> huge_pages;
  std::optional<std::uint64_t> huge_pages_free;
  std::string transparent_huge_pages;  // always, madvise, never; empty: not known
  std::optional<std::uint64_t> receive_buffer_bytes_max;  // net.core.rmem_max
  std::optional<std::uint64_t> send_buffer_bytes_max;     // net.core.wmem_max
};

[[nodiscard]] Limits read_limits();

// Each connection takes a descriptor: raises the soft limit to the hard one. Never fails: what
// the system refuses stays as it was.
void raise_open_files() noexcept;

}  // namespace netio::cli
