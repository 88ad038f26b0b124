// What makes a shell complete netio's commands, options, and the values of options: words where
// there is a choice of them, files and folders where one is wanted.
#pragma once

#include <string>

#include "command_tree.hpp"

namespace netio::cli {

using Completion = std::string (*)(const CommandTree& tree);

[[nodiscard]] std::string bash_completion(const CommandTree& tree);
[[nodiscard]] std::string zsh_completion(const CommandTree& tree);

}  // namespace netio::cli
