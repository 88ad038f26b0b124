#include <fmt/format.h>
#include <fmt/ranges.h>

#include "completion.hpp"

namespace netio::cli {

namespace {

constexpr std::string_view opening =
    R"(# bash completion of netio, as `netio completion bash` prints it.
_netio() {
  local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]}
  local command=netio words='' options='' paths='' i
  # --option=value comes as three words.
  if [[ $word == = ]]; then
    word='' paths='file'
  elif [[ $option == = ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]} paths='file'
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command ${COMP_WORDS[i]}" in
)";

constexpr std::string_view ending =
    R"(  esac
  if [[ $word == -* || -z $words$paths ]]; then words=$options; fi
  mapfile -t COMPREPLY < <(
    compgen -W "$words" -- "$word"
    if [[ -n $paths ]]; then compgen -A "$paths" -- "$word"; fi
  )
  if [[ ${COMPREPLY[0]} == *:// ]]; then
    compopt -o nospace 2>/dev/null
  elif [[ -n $paths ]]; then
    compopt -o filenames 2>/dev/null
  fi
}
complete -F _netio netio
)";

// What the script does for one that takes a value.
std::string action_for(const OptionEntry& option) {
  if (!option.choices.empty()) {
    return fmt::format("words='{}' paths=''", fmt::join(option.choices, " "));
  }
  if (option.type == "FILE") return "paths='file'";
  if (option.type == "FOLDER") return "paths='directory'";
  return "return";  // Anything: there is nothing to offer.
}

std::string patterns_of(const CommandTree& command, const OptionEntry& option) {
  std::vector<std::string> patterns;
  for (const std::string& name : option.names) {
    patterns.push_back(fmt::format("'{} {}'", command.name, name));
  }
  return fmt::format("{}", fmt::join(patterns, " | "));
}

// What may stand in the next place of a command that is not an option's.
std::string offers_of(const CommandTree& command) {
  std::vector<std::string> words;
  std::vector<std::string> options;
  std::string paths;
  for (const CommandTree& one : command.commands) words.push_back(one.word);
  for (const OptionEntry& one : command.positionals) {
    words.insert(words.end(), one.choices.begin(), one.choices.end());
    if (one.names.front() == "FILE") paths = " paths='file'";
    words.insert(words.end(), one.schemes.begin(), one.schemes.end());
  }
  for (const OptionEntry& one : command.options) {
    options.insert(options.end(), one.names.begin(), one.names.end());
  }
  return fmt::format("words='{}' options='{}'{}", fmt::join(words, " "), fmt::join(options, " "),
                     paths);
}

}  // namespace

std::string bash_completion(const CommandTree& tree) {
  const auto commands = all_commands(tree);
  std::string text(opening);
  for (const CommandTree* const command : commands) {
    if (command == &tree) continue;
    text += fmt::format("      '{}') command='{}' ;;\n", command->name, command->name);
  }
  text += "    esac\n  done\n  case \"$command $option\" in\n";
  std::string offers;
  for (const CommandTree* const command : commands) {
    for (const OptionEntry& option : command->options) {
      if (option.type.empty()) continue;
      text += fmt::format("    {}) {} ;;\n", patterns_of(*command, option), action_for(option));
    }
    offers += fmt::format("        '{}') {} ;;\n", command->name, offers_of(*command));
  }
  text += "    *)\n      case $command in\n" + offers + "      esac\n      ;;\n";
  return text.append(ending);
}

}  // namespace netio::cli
