// Where the groups are mounted, and their files. See control_group.hpp.
#include "memory/control_group.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

#include <netio/memory_limit.hpp>

#include "base/file_descriptor.hpp"

namespace netio::detail {

namespace {

// Version 1 says "no limit" by a number near 2^63.
constexpr std::uint64_t no_limit = std::uint64_t{1} << 60U;

// memory.stat is the longest of these files, and has two to four KiB.
using FileText = std::array<char, 16384>;

std::string_view read_file(const std::string& path, FileText& text) noexcept {
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::size_t filled = 0;
  while (fd && filled < text.size()) {
    const ssize_t got = ::read(fd.get(), text.data() + filled, text.size() - filled);
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
  }
  return {text.data(), filled};
}

std::optional<std::uint64_t> to_number(std::string_view text) noexcept {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || (end != text.data() + text.size() && *end != '\n')) return {};
  return value;
}

std::optional<std::uint64_t> read_number(const std::string& path) noexcept {
  FileText text;
  return to_number(read_file(path, text));
}

// The number behind this name at the beginning of a line; 0 without it.
std::uint64_t number_of(std::string_view text, std::string_view name) noexcept {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ' ') {
      return to_number(line.substr(name.size() + 1)).value_or(0);
    }
    at = end + 1;
  }
  return 0;
}

bool has_word(const std::string& words, std::string_view word) {
  std::istringstream list(words);
  for (std::string each; std::getline(list, each, ',');) {
    if (each == word) return true;
  }
  return false;
}

// A mount of control groups: what of their tree is seen there (root), and where.
struct GroupMount {
  std::string root;
  std::string place;
  bool version_2 = false;
};

// "\040" is how mountinfo writes a blank.
std::string without_escapes(const std::string& text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned value = 0;
    if (text[at] == '\\' && at + 3 < text.size() &&
        std::from_chars(&text[at + 1], &text[at + 4], value, 8).ptr == &text[at + 4]) {
      plain += static_cast<char>(value);
      at += 3;
    } else {
      plain += text[at];
    }
  }
  return plain;
}

// A line reads "36 35 98:0 /inside /place options ... - type source super-options".
std::vector<GroupMount> read_mounts(const std::string& root) {
  std::vector<GroupMount> mounts;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream front(line);
    std::istringstream back(line.substr(dash + 3));
    std::string skipped;
    std::string type;
    std::string options;
    GroupMount mount;
    front >> skipped >> skipped >> skipped >> mount.root >> mount.place;
    back >> type >> skipped >> options;
    mount.root = without_escapes(mount.root);
    mount.place = without_escapes(mount.place);
    mount.version_2 = type == "cgroup2";
    if (mount.version_2 || (type == "cgroup" && has_word(options, "memory"))) {
      mounts.push_back(std::move(mount));
    }
  }
  return mounts;
}

// Below the mount; nothing if the group lies elsewhere in the tree, as in a container whose own
// group is mounted, or whose groups have a namespace. What is mounted there is its group then.
std::string below(const GroupMount& mount, const std::string& group) {
  if (group.find("/..") != std::string::npos) return {};
  if (mount.root == "/") return group == "/" ? std::string() : group;
  const bool inside = group.starts_with(mount.root + "/");
  return inside ? group.substr(mount.root.size()) : std::string();
}

bool is_folder(const std::string& path) noexcept {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

// A line of /proc/self/cgroup reads "hierarchy:controllers:/path"; of version 2 "0::/path".
ControlGroup::ControlGroup(const std::string& root) {
  const std::vector<GroupMount> mounts = read_mounts(root);
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t controllers = line.find(':') + 1;
    const std::size_t path = line.find(':', controllers) + 1;
    if (controllers == 0 || path == 0) continue;
    const std::string names = line.substr(controllers, path - 1 - controllers);
    const bool version_2 = names.empty();
    if (!version_2 && !has_word(names, "memory")) continue;
    for (const GroupMount& mount : mounts) {
      if (mount.version_2 != version_2) continue;
      const std::string place = root + mount.place;
      std::string group = below(mount, line.substr(path));
      if (!is_folder(place + group)) group.clear();
      add_levels(place, group, version_2);
      break;
    }
  }
}

void ControlGroup::add_levels(const std::string& mount, const std::string& group, bool version_2) {
  for (std::string at = group;; at.resize(at.rfind('/'))) {
    const std::string files = mount + at + '/';
    Level level;
    level.group = at.empty() ? "/" : at;
    level.stat = files + "memory.stat";
    if (version_2) {
      level.limit = files + "memory.max";
      level.throttle = files + "memory.high";
      level.usage = files + "memory.current";
      level.inactive = "inactive_file";
      level.active = "active_file";
    } else {
      level.limit = files + "memory.limit_in_bytes";
      level.usage = files + "memory.usage_in_bytes";
      level.inactive = "total_inactive_file";
      level.active = "total_active_file";
    }
    // Without the file there is no such controller, or this is the root of all groups. A group of
    // version 1 that is not hierarchical does not count what its children take.
    const bool counts =
        version_2 || at == group || read_number(files + "memory.use_hierarchy").value_or(0) != 0;
    if (counts && ::access(level.limit.c_str(), R_OK) == 0) levels_.push_back(std::move(level));
    if (at.empty()) return;
  }
}

std::optional<ControlGroup::Bound> ControlGroup::read(const Level& level,
                                                      std::uint64_t enough) noexcept {
  const std::uint64_t limit =
      std::min(read_number(level.limit).value_or(no_limit),
               level.throttle.empty() ? no_limit : read_number(level.throttle).value_or(no_limit));
  if (limit >= no_limit) return {};
  const std::optional<std::uint64_t> usage = read_number(level.usage);
  if (!usage) return {};
  Bound bound{level.group, limit, limit - std::min(*usage, limit)};
  if (bound.left_bytes >= enough) return bound;
  // What was read from files and not used again goes first. Half of the rest may be the programs
  // that run.
  FileText text;
  const std::string_view stat = read_file(level.stat, text);
  const std::uint64_t cache = number_of(stat, level.inactive) + number_of(stat, level.active) / 2;
  bound.left_bytes = limit - std::min(*usage - std::min(cache, *usage), limit);
  return bound;
}

std::optional<ControlGroup::Bound> ControlGroup::bound(std::uint64_t enough) const noexcept {
  std::optional<Bound> least;
  for (const Level& level : levels_) {
    const std::optional<Bound> one = read(level, enough);
    if (one && (!least || one->left_bytes < least->left_bytes)) least = one;
  }
  return least;
}

std::optional<ControlGroup::Bound> ControlGroup::lowest_limit() const noexcept {
  std::optional<Bound> lowest;
  for (const Level& level : levels_) {
    const std::optional<Bound> one = read(level, UINT64_MAX);
    if (one && (!lowest || one->limit_bytes < lowest->limit_bytes)) lowest = one;
  }
  return lowest;
}

}  // namespace netio::detail

namespace netio {

std::optional<MemoryLimit> memory_limit() {
  const detail::ControlGroup groups;
  const auto bound = groups.bound();
  if (!bound) return {};
  return MemoryLimit{std::string(bound->group), bound->limit_bytes, bound->left_bytes};
}

}  // namespace netio
