// One end of a measurement: a worker process here, or on the machine of `netio bench serve`. It is
// spoken to in lines (bench/worker/worker.hpp). Its destructor ends it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <sys/types.h>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <netio/loop.hpp>

namespace netio::cli {

// A worker failed; the others may go on.
class EndFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
// Ctrl-C.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

// What an end that is well needs far less than.
inline constexpr std::chrono::seconds answer_within{20};

class End {
 public:
  explicit End(std::string name) : name_(std::move(name)) {}
  virtual ~End() = default;
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  virtual void say(const std::string& line) = 0;
  // The next line, as it came. Runs the loop meanwhile. Throws EndFailure when there will be none,
  // or not in time; Interrupted.
  [[nodiscard]] virtual std::string hear(std::chrono::nanoseconds within) = 0;
  // A line has come that nobody has heard yet, of a process here; false of one on another machine.
  [[nodiscard]] virtual bool has_said() const noexcept { return false; }
  [[nodiscard]] virtual Loop& loop() noexcept = 0;
  // Of a process here: SIGSTOP, SIGCONT. One on another machine stays as it is.
  virtual void signal(int number) noexcept = 0;
  // Of a process here, also when it has ended; -1 of one on another machine.
  [[nodiscard]] virtual pid_t process_id() const noexcept { return -1; }
  // How the process here ended, once it has and the loop has run: "was killed by signal 9
  // (Killed)".
  [[nodiscard]] virtual std::optional<std::string> ending() const { return std::nullopt; }

  // The same for workers, who answer in JSON: an object, never an error.
  [[nodiscard]] nlohmann::json answer(std::chrono::nanoseconds within = answer_within);
  [[nodiscard]] nlohmann::json ask(const std::string& command);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  std::string name_;
};

// Where ends are started: on this machine, or another.
class Place {
 public:
  virtual ~Place() = default;
  // `name` is for people: "zmq (receiving)".
  [[nodiscard]] virtual std::unique_ptr<End> start(const std::string& name,
                                                   const std::string& system,
                                                   const std::vector<std::string>& arguments) = 0;
};

// Runs the loop for so long. Throws Interrupted.
void let_pass(Loop& loop, std::chrono::nanoseconds time);

}  // namespace netio::cli
