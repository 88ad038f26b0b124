// Where a command reports to.
#pragma once

#include <string>

namespace netio::cli {

struct ReportArguments {
  std::string json;  // empty: none; "-": standard output; else a file
  bool quiet = false;
  // The report is what was asked for, and not a summary of it: --quiet leaves it.
  bool is_result = false;
};

}  // namespace netio::cli
