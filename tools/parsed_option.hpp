// Options of the command line whose text becomes a value, and those that several commands share.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <netio/loop.hpp>
#include <netio/options.hpp>
#include <netio/subscription.hpp>

#include "report_arguments.hpp"

namespace netio::cli {

// An option whose text `parse` turns into a value, or throws std::invalid_argument.
template <typename Parse, typename Take>
CLI::Option* add_parsed(CLI::App& app, const std::string& name, const std::string& type,
                        Parse parse, Take take, const std::string& description) {
  return app
      .add_option_function<std::string>(
          name,
          [name, parse, take](const std::string& text) {
            try {
              take(parse(text));
            } catch (const std::invalid_argument& error) {
              throw CLI::ValidationError(name.substr(0, name.find(',')), error.what());
            }
          },
          description)
      ->type_name(type);
}

template <typename Parse, typename Target>
CLI::Option* add_parsed_to(CLI::App& app, const std::string& name, const std::string& type,
                           Parse parse, Target& target, const std::string& description) {
  return add_parsed(
      app, name, type, parse, [&target](const auto& value) { target = value; }, description);
}

// What an option may be, and the value of each.
template <typename Value>
using Choices = std::vector<std::pair<std::string, Value>>;

// "a|b|c": the type name of an option of which these are all that it may be. Help, the man page and
// completion show it.
inline constexpr char between_choices = '|';
[[nodiscard]] std::string choices_type(const std::vector<std::string>& words);
// "is a or b, not "x"", "x" is none of a, b, c"
[[nodiscard]] std::invalid_argument no_choice(const std::vector<std::string>& words,
                                              const std::string& text);

template <typename Value, typename Take>
CLI::Option* add_choice(CLI::App& app, const std::string& name, const Choices<Value>& choices,
                        Take take, const std::string& description) {
  std::vector<std::string> words;
  for (const auto& [word, value] : choices) words.push_back(word);
  return add_parsed(
      app, name, choices_type(words),
      [choices, words](const std::string& text) -> Value {
        for (const auto& [word, value] : choices) {
          if (word == text) return value;
        }
        throw no_choice(words, text);
      },
      take, description);
}

template <typename Value, typename Target>
CLI::Option* add_choice_to(CLI::App& app, const std::string& name, const Choices<Value>& choices,
                           Target& target, const std::string& description) {
  return add_choice(
      app, name, choices, [&target](const Value& value) { target = value; }, description);
}

void add_wait(CLI::App& app, IdlePolicy& wait);

[[nodiscard]] Choices<Mode> modes();
[[nodiscard]] Choices<Policy> policies();

// --quiet; and --json with it where there is anything to report.
void add_quiet(CLI::App& app, ReportArguments& report);
// At the end of work that was asked for, a summary; or what was asked for itself.
void add_summary(CLI::App& app, ReportArguments& report);
void add_result(CLI::App& app, ReportArguments& report);

}  // namespace netio::cli
