// See paths.hpp.
#include "support/paths.hpp"

namespace netio::test {

const std::string& source_folder() {
  static const std::string folder = NETIO_SOURCE_DIR;
  return folder;
}

const std::string& netio_program() {
  static const std::string program = NETIO_CLI_PATH;
  return program;
}

}  // namespace netio::test
