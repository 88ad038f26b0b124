// A child process whose standard input and output are ours, line by line.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include <netio/loop.hpp>

#include "descriptor.hpp"

namespace netio::cli {

class Process {
 public:
  // `on_line` and `on_end` (once, with how it ended) are called in the loop. Throws Failure.
  Process(Loop& loop, const std::string& program, const std::vector<std::string>& arguments,
          std::function<void(std::string)> on_line, std::function<void(std::string)> on_end);
  // Closes its input, which asks it to end; kills it if it does not. Leaves no zombie.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // It had this id when it began.
  [[nodiscard]] pid_t id() const noexcept { return id_; }
  void say(const std::string& line);
  void signal(int number) const noexcept;

 private:
  void on_readable();
  // How it ended, once it has.
  [[nodiscard]] std::optional<std::string> reap(int options) noexcept;

  std::function<void(std::string)> on_line_;
  std::function<void(std::string)> on_end_;
  pid_t pid_ = -1;  // until it has ended
  pid_t id_ = -1;
  Descriptor input_;
  Descriptor output_;
  std::string partial_;
  std::optional<Watch> watch_;
};

}  // namespace netio::cli
