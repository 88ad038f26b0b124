#include "usage_error.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command_tree.hpp"
#include "standard_error.hpp"

namespace netio::cli {

namespace {

// How many letters to add, take or change.
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t changed = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// The nearest of the words; empty if none is near.
std::string nearest(const std::string& word, const std::vector<std::string>& words) {
  std::string best;
  std::size_t least = word.size() / 3 + 1;
  for (const std::string& one : words) {
    const std::size_t far = word.size() > 2 && one.starts_with(word) ? 0 : distance(word, one);
    if (far < least) {
      least = far;
      best = one;
    }
  }
  return best;
}

struct Complaint {
  std::string cause;
  std::string advice;
};

// About a word that nothing took.
Complaint about(std::string word, const CommandTree& command) {
  std::vector<std::string> known;
  if (word.starts_with('-')) {
    word = word.substr(0, word.find('='));
    for (const OptionEntry& option : command.options) {
      known.insert(known.end(), option.names.begin(), option.names.end());
    }
  } else if (command.commands.empty()) {
    const bool writes = std::ranges::any_of(command.options, [](const OptionEntry& option) {
      return std::ranges::count(option.names, "--out") != 0;
    });
    return {fmt::format("\"{}\" is one argument too many", word),
            writes ? fmt::format("to write to a file: --out {}", word) : ""};
  }
  for (const CommandTree& one : command.commands) known.push_back(one.word);
  const std::string meant = nearest(word, known);
  const std::string_view kind = word.starts_with('-') ? "option" : "command";
  return {fmt::format("there is no {} {}", kind, word),
          meant.empty() ? "" : fmt::format("did you mean {}?", meant)};
}

}  // namespace

void say_usage_error(const CLI::App& app, const CLI::ParseError& error) {
  std::vector<std::string> path;
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    path.push_back(at->get_name());
  }
  const CommandTree tree = read_tree(app);
  const CommandTree& command = find_command(tree, path);
  Complaint complaint{error.what(), {}};
  if (const auto words = app.remaining(true); !words.empty()) {
    complaint = about(words.front(), command);
  } else if (!command.commands.empty()) {
    std::vector<std::string> names;
    for (const CommandTree& one : command.commands) names.push_back(one.word);
    complaint = {fmt::format("a command is missing: {}", fmt::join(names, ", ")), {}};
  }
  if (complaint.advice.empty()) complaint.advice = command.name + " --help says what it takes";
  say_error(command.name, complaint.cause, complaint.advice);
}

}  // namespace netio::cli
