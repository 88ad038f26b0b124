#include "command_tree.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "parsed_option.hpp"

namespace netio::cli {

namespace {

OptionEntry read_option(const CLI::Option& option) {
  OptionEntry entry;
  for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  if (entry.names.empty()) entry.names.push_back(option.get_name(true));
  if (option.get_type_size() != 0) entry.type = option.get_type_name();
  if (entry.type.find(between_choices) != std::string::npos) {
    entry.choices = CLI::detail::split(entry.type, between_choices);
  }
  entry.description = option.get_description();
  if (option.get_group() != "Options") entry.group = option.get_group();
  entry.required = option.get_required();
  entry.repeats = option.get_items_expected_max() > 1;
  return entry;
}

// Two commands do not meet within a process, but the ends of a measurement may.
std::vector<std::string> schemes_of(std::string_view command) {
  std::vector<std::string> schemes = {"netio://", "tcp://", "shm://", "verbs://", "ofi+tcp://"};
  if (command.starts_with("netio bench")) schemes.emplace_back("inproc://");
  return schemes;
}

bool is_address(std::string_view name) {
  return name == "ADDRESS" || name == "FROM" || name == "TO";
}

CommandTree read_command(const CLI::App& app, const std::string& before) {
  CommandTree tree;
  tree.word = app.get_name();
  tree.name = before + tree.word;
  tree.description = app.get_description();
  tree.footer = app.get_footer();
  for (const CLI::Option* const option : app.get_options({})) {
    auto& list = option->nonpositional() ? tree.options : tree.positionals;
    list.push_back(read_option(*option));
    if (list.back().type == "ADDRESS" || is_address(list.back().names.front())) {
      list.back().schemes = schemes_of(tree.name);
    }
  }
  for (const CLI::App* const one : app.get_subcommands({})) {
    tree.commands.push_back(read_command(*one, tree.name + " "));
  }
  return tree;
}

}  // namespace

std::string OptionEntry::names_text() const { return fmt::format("{}", fmt::join(names, ", ")); }

CommandTree read_tree(const CLI::App& app) { return read_command(app, {}); }

const CommandTree& find_command(const CommandTree& tree, const std::vector<std::string>& words) {
  const CommandTree* at = &tree;
  for (const std::string& word : words) {
    const auto found = std::ranges::find(at->commands, word, &CommandTree::word);
    if (found == at->commands.end()) {
      throw CLI::ValidationError("COMMAND", fmt::format("there is no {} {}", at->name, word));
    }
    at = &*found;
  }
  return *at;
}

std::vector<const CommandTree*> all_commands(const CommandTree& tree) {
  std::vector<const CommandTree*> all = {&tree};
  for (const CommandTree& one : tree.commands) {
    const auto below = all_commands(one);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

}  // namespace netio::cli
