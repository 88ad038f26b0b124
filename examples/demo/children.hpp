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

  // Forks; so before this process has threads. Throws std::system_error.
  void start(const std::string& name, std::vector<std::string> arguments);

  // One that ended, if any did since the last call. Never blocks.
  struct Ended {
    std::string name;  // "builder 1 (process 4711)"
    std::string how;   // "was killed by signal 9 (Killed)"
    bool in_order;     // exit code 0
  };
  std::optional<Ended> reap();
  [[nodiscard]] std::size_t running() const noexcept { return children_.size(); }

 private:
  struct Child {
    std::string name;
    pid_t pid;
  };
  std::vector<Child> children_;
};

}  // namespace demo
