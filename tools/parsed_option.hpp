// Options of the command line whose text becomes a value, and those that several commands share.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include <netio/loop.hpp>
#include <netio/options.hpp>

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

inline Mode parse_mode(std::string_view text) {
  if (text == "buffered") return Mode::buffered;
  if (text == "unbuffered") return Mode::unbuffered;
  throw std::invalid_argument("is buffered or unbuffered");
}

inline IdlePolicy parse_wait(std::string_view text) {
  if (text == "sleep") return IdlePolicy::sleep;
  if (text == "spin") return IdlePolicy::spin;
  if (text == "adaptive") return IdlePolicy::adaptive;
  throw std::invalid_argument("is one of sleep, spin, adaptive");
}

inline void add_wait(CLI::App& app, IdlePolicy& wait) {
  add_parsed_to(app, "--wait", "HOW", parse_wait, wait,
                "When idle: sleep (default), spin (lowest latency, one core), adaptive");
}

inline void add_report(CLI::App& app, ReportArguments& report) {
  app.add_flag("--json", report.json,
               "Report as JSON on standard output, or with --json=FILE in a file");
  app.add_flag("-q,--quiet", report.quiet, "No progress, notes or summary; errors and JSON remain");
}

}  // namespace netio::cli
