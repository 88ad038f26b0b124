#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "completion.hpp"

namespace netio::cli {

namespace {

// In single quotes, with what _arguments and _describe read as their own escaped.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      if (c == '\\' || c == ':' || c == '[' || c == ']') result += '\\';
      result += c;
    }
  }
  return result;
}

std::string function_of(const CommandTree& command) {
  std::string name = "_" + command.name;
  std::ranges::replace(name, ' ', '_');
  return name;
}

// ":FILE:_files"
std::string value_of(const OptionEntry& option, const std::string& name) {
  if (!option.choices.empty()) {
    return fmt::format(":{}:({})", name, fmt::join(option.choices, " "));
  }
  if (name == "FILE") return ":FILE:_files";
  if (!option.schemes.empty()) {
    return fmt::format(":{}:_netio_schemes {}", name, fmt::join(option.schemes, " "));
  }
  if (name == "FOLDER") return ":FOLDER:_files -/";
  return fmt::format(":{}: ", name);
}

std::string specification_of(const OptionEntry& option) {
  const bool takes_value = !option.type.empty();
  const std::string value =
      takes_value ? value_of(option, option.choices.empty() ? option.type : "value") : "";
  std::vector<std::string> names;
  for (const std::string& name : option.names) {
    const std::string_view joint = !takes_value ? "" : name.starts_with("--") ? "=" : "+";
    names.push_back(name + std::string(joint));
  }
  std::string text = option.repeats      ? "'*'"
                     : names.size() == 1 ? ""
                                         : fmt::format("'({})'", fmt::join(option.names, " "));
  text += names.size() == 1 ? names.front() : fmt::format("{{{}}}", fmt::join(names, ","));
  return text + fmt::format("'[{}]{}'", escaped(option.description), value);
}

std::string function_text(const CommandTree& command) {
  std::string text = fmt::format("{}() {{\n", function_of(command));
  std::string specifications;
  const auto specify = [&specifications](const std::string& one) {
    specifications += " \\\n    " + one;
  };
  for (const OptionEntry& option : command.options) specify(specification_of(option));
  for (const OptionEntry& option : command.positionals) {
    const std::string_view place = option.repeats ? "*" : option.required ? ":" : "::";
    std::string value = value_of(option, option.names.front());
    specify(fmt::format("'{}{}'", place == ":" ? "" : place == "*" ? "*" : ":", value));
  }
  if (command.commands.empty()) return text + "  _arguments -S" + specifications + "\n}\n\n";

  specify("'1:command:->command'");
  specify("'*::argument:->argument'");
  std::string descriptions;
  std::string calls;
  for (const CommandTree& one : command.commands) {
    descriptions += fmt::format("    '{}:{}'\n", one.word, escaped(one.description));
    calls += fmt::format("        {}) {} ;;\n", one.word, function_of(one));
  }
  return text + "  local context state state_descr line\n  typeset -A opt_args\n" +
         "  local -a commands=(\n" + descriptions + "  )\n  _arguments -C -S" + specifications +
         " && return\n  case $state in\n    command) _describe command commands ;;\n" +
         "    argument)\n      case $line[1] in\n" + calls + "      esac\n      ;;\n  esac\n}\n\n";
}

}  // namespace

std::string zsh_completion(const CommandTree& tree) {
  std::string text =
      "#compdef netio\n# zsh completion of netio, as `netio completion zsh` prints it.\n\n";
  // What _arguments hands on stands before the schemes, which no letter ends.
  text += "_netio_schemes() {\n  compadd \"${(@)@:#*://}\" -S '' -- \"${(M)@:#*://}\"\n}\n\n";
  for (const CommandTree* const command : all_commands(tree)) text += function_text(*command);
  // Loaded from fpath it is called at once; sourced it is only to be known.
  return text +
         "if [[ $funcstack[1] == _netio ]]; then\n  _netio \"$@\"\nelse\n  compdef _netio "
         "netio\nfi\n";
}

}  // namespace netio::cli
