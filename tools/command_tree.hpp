// Commands, options and what these take, as the command line knows them: what the manual and
// completion are made of.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace netio::cli {

struct OptionEntry {
  std::vector<std::string> names;  // "-o", "--out"; of a positional its one name, "ADDRESS"
  std::string type;                // "FILE", "a|b"; empty: none, and a flag unless it is positional
  std::vector<std::string> choices;  // all that it may be; empty: anything
  std::vector<std::string> schemes;  // of an address: what it may begin with
  std::string description;
  std::string group;  // empty: no group of its own
  bool required = false;
  bool repeats = false;

  // "-o, --out"
  [[nodiscard]] std::string names_text() const;
};

struct CommandTree {
  std::string word;  // "latency"
  std::string name;  // "netio bench latency"
  std::string description;
  std::string footer;
  std::vector<OptionEntry> options;
  std::vector<OptionEntry> positionals;
  std::vector<CommandTree> commands;
};

[[nodiscard]] CommandTree read_tree(const CLI::App& app);
// What `words` name below `tree`: itself without any. Throws CLI::ValidationError.
[[nodiscard]] const CommandTree& find_command(const CommandTree& tree,
                                              const std::vector<std::string>& words);
// And all below it, itself first.
[[nodiscard]] std::vector<const CommandTree*> all_commands(const CommandTree& tree);

}  // namespace netio::cli
