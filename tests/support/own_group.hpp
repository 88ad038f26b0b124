// A control group of the test's own, with a limit on memory, that commands run in.
#pragma once

#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "support/process.hpp"

namespace netio::test {

class OwnGroup {
 public:
  explicit OwnGroup(std::uint64_t limit_bytes) {
    static int number = 0;
    const std::string name =
        "/netio-test-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
    const std::string root = "/sys/fs/cgroup";
    const bool version_1 = ::access((root + "/memory/memory.limit_in_bytes").c_str(), F_OK) == 0;
    folder_ = root + (version_1 ? "/memory" : "") + name;
    if (!version_1) (void)write(root + "/cgroup.subtree_control", "+memory");
    made_ = ::mkdir(folder_.c_str(), 0755) == 0;
    usable_ = made_ && write(folder_ + (version_1 ? "/memory.limit_in_bytes" : "/memory.max"),
                             std::to_string(limit_bytes));
  }
  // Whatever runs in it must have ended.
  ~OwnGroup() {
    for (int attempt = 0; made_ && attempt < 1000 && ::rmdir(folder_.c_str()) != 0; ++attempt) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  OwnGroup(const OwnGroup&) = delete;
  OwnGroup& operator=(const OwnGroup&) = delete;

  // False if this machine lets the test have none: skip it.
  [[nodiscard]] bool usable() const noexcept { return usable_; }

  // The same command, in the group from its beginning.
  [[nodiscard]] Process::Options inside(Process::Options command) const {
    command.arguments.insert(
        command.arguments.begin(),
        {"/bin/sh", "-c", "echo 0 >\"$0\"/cgroup.procs && exec \"$@\"", folder_});
    return command;
  }

 private:
  static bool write(const std::string& path, const std::string& text) {
    std::ofstream file(path);
    file << text;
    return static_cast<bool>(file.flush());
  }

  std::string folder_;
  bool made_ = false;
  bool usable_ = false;
};

}  // namespace netio::test
