// Where a report goes: words to standard output (standard error while that carries data or JSON),
// JSON to standard output or a file of its own.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "arguments.hpp"

namespace netio::cli {

class Report {
 public:
  // Opens the JSON file, so that it cannot be missed only at the end. Throws Failure.
  Report(const ReportArguments& arguments, bool output_carries_data);

  // A line of what is asked for, at once; nothing if --quiet. False if nobody reads it any more.
  // Throws Failure.
  [[nodiscard]] bool line(const std::string& text);

  // `json` is only made if somebody wants it. Throws Failure if it cannot be written; a standard
  // output that nobody reads any more is no failure.
  void publish(const std::string& text, const std::function<std::string()>& json);

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };

  ReportArguments arguments_;
  bool output_is_taken_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace netio::cli
