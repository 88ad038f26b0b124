#include "limits.hpp"

#include <algorithm>
#include <fstream>
#include <linux/capability.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

namespace netio::cli {

namespace {

SoftHard read_limit(decltype(RLIMIT_NOFILE) resource) {
  rlimit limit{};
  SoftHard result;
  if (::getrlimit(resource, &limit) != 0) return result;
  if (limit.rlim_cur != RLIM_INFINITY) result.soft = limit.rlim_cur;
  if (limit.rlim_max != RLIM_INFINITY) result.hard = limit.rlim_max;
  return result;
}

std::optional<std::uint64_t> read_number(const char* path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

void read_memory(Limits& limits) {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::uint64_t value = 0;
  std::string rest;
  while (file >> name >> value && std::getline(file, rest)) {
    if (name == "MemAvailable:") limits.memory_available_bytes = value * 1024;
    if (name == "HugePages_Total:") limits.huge_pages = value;
    if (name == "HugePages_Free:") limits.huge_pages_free = value;
    if (name == "Hugepagesize:") limits.huge_page_bytes = value * 1024;
  }
}

bool read_capability(unsigned bit) {
  std::ifstream file("/proc/self/status");
  for (std::string name; file >> name;) {
    std::uint64_t effective = 0;
    if (name == "CapEff:" && file >> std::hex >> effective) return ((effective >> bit) & 1U) != 0;
  }
  return false;
}

void lower(std::optional<std::uint64_t>& bound, std::optional<std::uint64_t> other) {
  if (other) bound = bound ? std::min(*bound, *other) : *other;
}

// The bounds of the group that a container is in, and of the user, which a privileged one has not.
void read_control_group(Limits& limits) {
  limits.control_group = memory_limit();
  if (limits.control_group) {
    lower(limits.memory_available_bytes, limits.control_group->left_bytes);
  }
  lower(limits.processes_max, read_number("/sys/fs/cgroup/pids.max"));
  lower(limits.processes_max, read_number("/sys/fs/cgroup/pids/pids.max"));  // cgroup version 1
  if (!read_capability(CAP_SYS_RESOURCE)) {
    lower(limits.processes_max, read_limit(RLIMIT_NPROC).soft);
  }
}

// The file reads "always [madvise] never".
std::string read_transparent_huge_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string word;
  while (file >> word) {
    if (word.size() > 2 && word.front() == '[') return word.substr(1, word.size() - 2);
  }
  return {};
}

}  // namespace

Limits read_limits() {
  Limits limits;
  limits.open_files = read_limit(RLIMIT_NOFILE);
  limits.locked_bytes = read_limit(RLIMIT_MEMLOCK);
  limits.locks_without_limit = read_capability(CAP_IPC_LOCK);
  cpu_set_t cpus;
  if (::sched_getaffinity(0, sizeof cpus, &cpus) == 0) {
    limits.cpus_usable = static_cast<unsigned>(CPU_COUNT(&cpus));
  }
  if (const long online = ::sysconf(_SC_NPROCESSORS_ONLN); online > 0) {
    limits.cpus_online = static_cast<unsigned>(online);
  }
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_bytes > 0) {
    limits.memory_bytes =
        static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
  }
  read_memory(limits);
  read_control_group(limits);
  limits.transparent_huge_pages = read_transparent_huge_pages();
  limits.receive_buffer_bytes_max = read_number("/proc/sys/net/core/rmem_max");
  limits.send_buffer_bytes_max = read_number("/proc/sys/net/core/wmem_max");
  return limits;
}

void raise_open_files() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace netio::cli
