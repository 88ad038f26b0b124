// A child process under test: what it is fed, what it says, how it ends. Output is collected by a
// thread from the start, so a child never blocks on us. Killed and reaped when destroyed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <thread>
#include <utility>
#include <vector>

namespace netio::test {

class Process {
 public:
  struct Options {
    std::vector<std::string> arguments;  // the first is the program's path
    // Its standard input: a file; else a pipe that feed() and end_input() serve.
    std::string stdin_path;
    // Its standard output: a file opened for writing; else collected.
    std::string stdout_path;
    // Its standard error is collected, and so is that of a terminal of 100 columns.
    // unread_pipe: nobody has the other end; full_pipe: somebody has, and does not read.
    enum class Stderr : std::uint8_t { pipe, terminal, closed, unread_pipe, full_pipe, full_disk };
    Stderr standard_error = Stderr::pipe;
  };
  using Clock = std::chrono::steady_clock;

  // Throws std::system_error.
  explicit Process(Options options);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Blocks until the child has taken it all (or reads no more: then false).
  bool feed(std::string_view bytes);
  void end_input();
  // Stops reading what it writes to standard output, and closes that pipe.
  void close_output();

  void signal(int signo) const;
  // The exit code, or minus the signal that ended it. Nothing if it still runs after `within`.
  std::optional<int> wait(std::chrono::milliseconds within = std::chrono::seconds(30));
  [[nodiscard]] bool running();

  // What it wrote so far; all of it after wait().
  [[nodiscard]] std::string out();
  [[nodiscard]] std::string err();
  // Of a full pipe: throws away what is in there, and collects what comes from now on.
  void read_err();
  // Waits until standard error holds `text`. False if that does not happen in time.
  bool wait_for_err(std::string_view text,
                    std::chrono::milliseconds within = std::chrono::seconds(30));
  // The same, but what it wrote before the call does not count, and the text comes so many times.
  bool wait_for_new_err(std::string_view text, int times,
                        std::chrono::milliseconds within = std::chrono::seconds(30));
  // Waits for a line on standard error that begins with `prefix`; what follows it on that line.
  std::optional<std::string> line_after(
      std::string_view prefix, std::chrono::milliseconds within = std::chrono::seconds(30));
  bool wait_for_out_bytes(std::size_t bytes,
                          std::chrono::milliseconds within = std::chrono::seconds(30));

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

 private:
  void collect();

  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
  int err_ = -1;
  int unread_ = -1;  // the other end of a full pipe
  int wake_ = -1;    // ends collect()
  std::optional<int> code_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string out_text_;
  std::string err_text_;
  bool close_out_ = false;
  bool read_err_ = false;
  bool ended_ = false;
  bool out_open_ = false;
  bool err_open_ = false;
  std::thread collector_;
};

}  // namespace netio::test
