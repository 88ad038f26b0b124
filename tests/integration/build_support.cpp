#include "integration/build_support.hpp"

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <unistd.h>

#include <gtest/gtest.h>

#include "integration/cli_support.hpp"

namespace netio::test {

std::vector<EventLine> index_of(const std::string& path) {
  std::vector<EventLine> lines;
  std::istringstream text(read_file(path));
  std::string line;
  std::getline(text, line);
  EXPECT_TRUE(line.starts_with("run\tevent\tstate\tsource-0")) << line;
  while (std::getline(text, line) && !text.eof()) {
    std::istringstream cells(line);
    std::string run;
    std::string number;
    EventLine one;
    std::getline(cells, run, '\t');
    std::getline(cells, number, '\t');
    std::getline(cells, one.state, '\t');
    one.number = std::stoull(number);
    for (std::string cell; std::getline(cells, cell, '\t');) one.sources.push_back(cell);
    lines.push_back(one);
  }
  return lines;
}

std::vector<std::string> recordings() {
  std::vector<std::string> files;
  const char* const folder = std::getenv("NETIO_TEST_DATA");
  if (folder == nullptr) return files;
  for (const char* const name : {"lcls2-timetool.xtc2", "lcls2-epix.xtc2"}) {
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    if (std::filesystem::exists(path)) files.push_back(path.string());
  }
  return files;
}

}  // namespace netio::test
