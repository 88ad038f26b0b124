// What the tests of `netio build` share: ports, and what builders have written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace netio::test {

// A line of an index of events.
struct EventLine {
  std::uint64_t number = 0;
  std::string state;
  std::vector<std::string> sources;
};
// Without a line that is being written.
[[nodiscard]] std::vector<EventLine> index_of(const std::string& path);

// The recordings of NETIO_TEST_DATA that are there, as datagrams.
[[nodiscard]] std::vector<std::string> recordings();

}  // namespace netio::test
