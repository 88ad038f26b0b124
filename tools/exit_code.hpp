// What a command's exit code says, and the error that carries one.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace netio::cli {

enum class ExitCode : int {
  done = 0,
  failed = 1,         // at run time
  usage = 2,          // nothing was tried
  peer_lost = 3,      // a peer went in mid-stream, or messages are in doubt
  interrupted = 130,  // Ctrl-C, SIGTERM or SIGHUP
};

// As reports have it.
[[nodiscard]] inline std::string_view outcome(ExitCode code) noexcept {
  switch (code) {
    case ExitCode::done:
      return "done";
    case ExitCode::failed:
      return "failed";
    case ExitCode::usage:
      return "usage";
    case ExitCode::peer_lost:
      return "peer_lost";
    case ExitCode::interrupted:
      return "interrupted";
  }
  return "failed";
}

// Ends the command. what() is the cause, in words; `advice` is what to do about it, or empty.
class Failure : public std::runtime_error {
 public:
  explicit Failure(const std::string& cause, std::string advice = {},
                   ExitCode code = ExitCode::failed)
      : std::runtime_error(cause), advice_(std::move(advice)), code_(code) {}

  [[nodiscard]] const std::string& advice() const noexcept { return advice_; }
  [[nodiscard]] ExitCode code() const noexcept { return code_; }

 private:
  std::string advice_;
  ExitCode code_;
};

}  // namespace netio::cli
