// Where a command reports to.
#pragma once

#include <string>

namespace netio::cli {

struct ReportArguments {
  std::string json;  // empty: none; "-": standard output; else a file
  bool quiet = false;
};

}  // namespace netio::cli
