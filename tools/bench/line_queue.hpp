// Lines that came in the loop, for somebody who waits for them.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>

#include <netio/loop.hpp>

namespace netio::cli {

class LineQueue {
 public:
  void add(std::string line) { lines_.push_back(std::move(line)); }
  void end(std::string how) { ending_ = std::move(how); }
  [[nodiscard]] bool empty() const noexcept { return lines_.empty(); }
  [[nodiscard]] const std::optional<std::string>& ending() const noexcept { return ending_; }

  // Runs the loop until there is one. Throws EndFailure (`name` ended, or is late), Interrupted.
  [[nodiscard]] std::string next(Loop& loop, const std::string& name,
                                 std::chrono::nanoseconds within);

 private:
  std::deque<std::string> lines_;
  std::optional<std::string> ending_;
};

}  // namespace netio::cli
