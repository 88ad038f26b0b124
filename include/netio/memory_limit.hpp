// What the control groups of this process, for example those of a container, leave of the memory of
// the machine. `netio info` shows it. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <netio/export.hpp>

namespace netio {

// A control group that bounds the memory of this process.
struct MemoryLimit {
  std::string group;              // the path of the control group, as far as this process sees it
  std::uint64_t limit_bytes = 0;  // for all processes of the group together
  std::uint64_t left_bytes = 0;   // now, with what the kernel holds of files and can drop
};

// The control group that leaves least to this process, of its own group and those around it; of
// cgroup version 1 or 2. Nothing if none of them has a limit. Reads some files of the system.
[[nodiscard]] NETIO_API std::optional<MemoryLimit> memory_limit();

}  // namespace netio
