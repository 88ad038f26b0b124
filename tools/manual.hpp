// The manual, in roff: what --help says of a command and of all below it.
#pragma once

#include <string>

#include "command_tree.hpp"

namespace netio::cli {

[[nodiscard]] std::string manual_page(const CommandTree& command);

}  // namespace netio::cli
