#include "bench/csv.hpp"

#include <fmt/format.h>

#include "exit_code.hpp"

namespace netio::cli {

std::ofstream open_csv(const std::string& path, const std::string& header) {
  std::ofstream file;
  if (path.empty()) return file;
  file.open(path);
  file << header << std::flush;
  check_csv(file, path);
  return file;
}

void check_csv(const std::ofstream& file, const std::string& path) {
  if (!file && !path.empty()) throw Failure(fmt::format("cannot write {}", path));
}

}  // namespace netio::cli
