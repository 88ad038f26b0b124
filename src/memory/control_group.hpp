// The control groups (cgroup version 2 or 1) that bound the memory of this process: its own and
// those around it. A file that cannot be read, or makes no sense, bounds nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace netio::detail {

class ControlGroup {
 public:
  struct Bound {
    std::string_view group;  // its path, as long as the object lives
    std::uint64_t limit_bytes = 0;
    std::uint64_t left_bytes = 0;  // what the kernel can still give
  };

  // Finds the groups of the calling process. `root` stands in front of every path: for tests.
  explicit ControlGroup(const std::string& root = {});

  // Reads the files anew, and answers for the group that leaves least; nothing if none has a limit.
  // Page cache that the kernel would drop first is looked at only where less than `enough` bytes
  // are left beside it. Takes no memory. Any thread.
  [[nodiscard]] std::optional<Bound> bound(std::uint64_t enough = UINT64_MAX) const noexcept;
  // The same for the group with the lowest limit, which need not leave least.
  [[nodiscard]] std::optional<Bound> lowest_limit() const noexcept;

 private:
  struct Level {
    std::string group;
    std::string limit;
    std::string throttle;  // above it the kernel holds the processes back; empty: none
    std::string usage;
    std::string stat;
    std::string_view inactive;
    std::string_view active;
  };
  void add_levels(const std::string& mount, const std::string& group, bool version_2);
  [[nodiscard]] static std::optional<Bound> read(const Level& level, std::uint64_t enough) noexcept;

  std::vector<Level> levels_;  // the process's own first
};

}  // namespace netio::detail
