#include "parsed_option.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace netio::cli {

std::string choices_type(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, std::string_view(&between_choices, 1)));
}

std::invalid_argument no_choice(const std::vector<std::string>& words, const std::string& text) {
  if (words.size() == 2) {
    return std::invalid_argument(fmt::format("is {} or {}, not \"{}\"", words[0], words[1], text));
  }
  return std::invalid_argument(fmt::format("\"{}\" is none of {}", text, fmt::join(words, ", ")));
}

Choices<Mode> modes() { return {{"buffered", Mode::buffered}, {"unbuffered", Mode::unbuffered}}; }

Choices<Policy> policies() {
  Choices<Policy> choices;
  for (const Policy policy :
       {Policy::block, Policy::drop_new, Policy::drop_old, Policy::sample, Policy::disconnect}) {
    choices.emplace_back(to_string(policy), policy);
  }
  return choices;
}

void add_wait(CLI::App& app, IdlePolicy& wait) {
  add_choice_to<IdlePolicy>(
      app, "--wait",
      {{"sleep", IdlePolicy::sleep},
       {"spin", IdlePolicy::spin},
       {"adaptive", IdlePolicy::adaptive}},
      wait, "When idle: sleep (default), spin (lowest latency, one core), adaptive");
}

namespace {

void add_json(CLI::App& app, ReportArguments& report) {
  app.add_flag("--json", report.json,
               "Report as JSON on standard output, or with --json=FILE in a file");
}

}  // namespace

void add_quiet(CLI::App& app, ReportArguments& report) {
  app.add_flag("-q,--quiet", report.quiet, "No notes; errors remain");
}

void add_summary(CLI::App& app, ReportArguments& report) {
  add_json(app, report);
  app.add_flag("-q,--quiet", report.quiet, "No progress, notes or summary; errors and JSON remain");
}

void add_result(CLI::App& app, ReportArguments& report) {
  report.is_result = true;
  add_json(app, report);
  app.add_flag("-q,--quiet", report.quiet,
               "No progress or notes; errors and the result remain, with --json as JSON alone");
}

}  // namespace netio::cli
