// What a process, and the machine, still hold: counted from outside of the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

namespace netio::test {

[[nodiscard]] std::int64_t open_descriptors();  // of this process
[[nodiscard]] std::int64_t shared_mappings();   // of memfds, in this process
[[nodiscard]] std::int64_t resident_kib();      // of this process
// Lines of /proc/net/unix that speak of `token`.
[[nodiscard]] std::int64_t unix_sockets(const std::string& token);
[[nodiscard]] std::set<std::string> names_in(const std::string& folder);

}  // namespace netio::test
