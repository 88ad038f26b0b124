// Files of comma-separated values that results are written into as they come.
#pragma once

#include <fstream>
#include <string>

namespace netio::cli {

// Writes the header. Without a path the file is not open. Throws Failure.
[[nodiscard]] std::ofstream open_csv(const std::string& path, const std::string& header);
// After all was written. Throws Failure.
void check_csv(const std::ofstream& file, const std::string& path);

}  // namespace netio::cli
