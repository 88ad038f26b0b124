// How a command ends: with which exit code, and why.
#pragma once

#include <string>
#include <utility>

#include "exit_code.hpp"
#include "progress.hpp"

namespace netio::cli {

struct Verdict {
  // The first cause is the one that counts.
  void fail(ExitCode with, std::string cause, std::string to_do) {
    if (!error.empty()) return;
    code = with;
    error = std::move(cause);
    advice = std::move(to_do);
  }
  // On standard error, if there is something to tell.
  void tell(Progress& progress) const {
    if (!error.empty()) progress.error(error, advice);
  }

  ExitCode code = ExitCode::done;
  std::string error;  // empty: none so far
  std::string advice;
};

}  // namespace netio::cli
