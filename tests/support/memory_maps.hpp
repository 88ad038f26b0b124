// The mappings of this process, and what a core file would hold of them.
#pragma once

#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace netio::test {

struct MemoryMap {
  std::string name;  // of the file; empty for memory of the process alone
  bool shared = false;
  bool dumped = true;               // it was not left out by MADV_DONTDUMP
  std::size_t bytes = 0;            // of address space
  std::size_t anonymous_bytes = 0;  // of memory that is in no file
};

// Empty where the system does not tell.
inline std::vector<MemoryMap> memory_maps() {
  std::vector<MemoryMap> maps;
  std::ifstream file("/proc/self/smaps");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (first.find('-') != std::string::npos && first.back() != ':') {
      std::string rights;
      std::string skipped;
      MemoryMap map;
      words >> rights >> skipped >> skipped >> skipped >> std::ws;
      std::getline(words, map.name);
      map.shared = rights.ends_with('s');
      maps.push_back(map);
    } else if (!maps.empty() && first == "VmFlags:") {
      for (std::string flag; words >> flag;) maps.back().dumped &= flag != "dd";
    } else if (!maps.empty() && (first == "Size:" || first == "Anonymous:")) {
      std::size_t kibibytes = 0;
      words >> kibibytes;
      (first == "Size:" ? maps.back().bytes : maps.back().anonymous_bytes) = kibibytes << 10U;
    }
  }
  return maps;
}

// A dump of shared memory takes memory for all of it; of the rest it holds what was used.
inline std::size_t bytes_in_core_file(const std::vector<MemoryMap>& maps) {
  std::size_t bytes = 0;
  for (const MemoryMap& map : maps) {
    if (!map.dumped) continue;
    bytes += map.shared ? map.bytes : map.anonymous_bytes;
  }
  return bytes;
}

}  // namespace netio::test
