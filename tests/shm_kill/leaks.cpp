// From /proc, as the kernel has it.
#include "shm_kill/leaks.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <unistd.h>

namespace netio::test {

namespace {
std::int64_t lines_with(const char* path, std::string_view text) {
  std::ifstream file(path);
  std::int64_t count = 0;
  for (std::string line; std::getline(file, line);) count += line.find(text) != std::string::npos;
  return count;
}
}  // namespace

std::int64_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all)) - 1;  // without the one that reads the folder
}

std::int64_t shared_mappings() { return lines_with("/proc/self/maps", "/memfd:"); }

std::int64_t resident_kib() {
  std::ifstream file("/proc/self/statm");
  std::int64_t size = 0;
  std::int64_t resident = 0;
  file >> size >> resident;
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

std::int64_t unix_sockets(const std::string& token) { return lines_with("/proc/net/unix", token); }

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

}  // namespace netio::test
