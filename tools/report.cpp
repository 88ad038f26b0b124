#include "report.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "exit_code.hpp"
#include "standard_error.hpp"

namespace netio::cli {

namespace {

// False if nobody reads it any more.
bool write_all(std::FILE* file, const std::string& text, const std::string& name) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0) {
    return true;
  }
  if (errno == EPIPE) return false;
  throw Failure(fmt::format("cannot write the report to {}: {}", name, std::strerror(errno)));
}

}  // namespace

Report::Report(const ReportArguments& arguments, bool output_carries_data)
    : arguments_(arguments), output_is_taken_(output_carries_data || arguments.json == "-") {
  if (arguments_.json.empty() || arguments_.json == "-") return;
  file_.reset(std::fopen(arguments_.json.c_str(), "we"));
  if (file_ == nullptr) {
    throw Failure(
        fmt::format("cannot open {} for writing: {}", arguments_.json, std::strerror(errno)));
  }
}

bool Report::line(const std::string& text) {
  if (arguments_.quiet) return true;
  if (!output_is_taken_) return write_all(stdout, text + "\n", "standard output");
  say_text(text + "\n");
  return true;
}

void Report::publish(const std::string& text, const std::function<std::string()>& json) {
  if (!arguments_.quiet || (arguments_.is_result && arguments_.json.empty())) {
    if (output_is_taken_) {
      say_at_the_end(text);
    } else {
      (void)write_all(stdout, text, "standard output");
    }
  }
  if (arguments_.json.empty()) return;
  if (file_ != nullptr) {
    (void)write_all(file_.get(), json(), arguments_.json);
  } else {
    (void)write_all(stdout, json(), "standard output");
  }
}

}  // namespace netio::cli
