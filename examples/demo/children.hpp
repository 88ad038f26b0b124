// The demo's other processes: this same program, started with a hidden command. They cannot be left
// behind: the kernel kills them with their parent, and the destructor kills and awaits them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace demo {

class Children {
 public:
  Children() = default;
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  // Forks and execs; the name is for what people read. Throws std::system_error.
  void start(std::size_t index, const std::string& name, std::vector<std::string> arguments);
  // Nothing for one that has ended.
  void signal(std::size_t index, int signal) noexcept;

  // One that ended, if any did since the last call. Never blocks.
  struct Ended {
    std::size_t index;
    std::string name;  // "builder 1 (process 4711)"
    std::string how;   // "was killed by signal 9 (Killed)"
    bool in_order;     // exit code 0
  };
  std::optional<Ended> reap();
  [[nodiscard]] std::size_t running() const noexcept { return children_.size(); }

 private:
  struct Child {
    std::size_t index;
    std::string name;
    pid_t pid;
  };
  std::vector<Child> children_;
};

}  // namespace demo
