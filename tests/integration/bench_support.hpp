// The fixture of the tests of `netio bench`, and its ends run by hand.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <sys/types.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "integration/cli_support.hpp"
#include "support/time_limit.hpp"

namespace netio::test {

namespace fs = std::filesystem;

inline fs::path build_folder() { return fs::path(netio_program()).parent_path(); }

// The processes named `name` that this one's children have started.
inline std::vector<pid_t> processes_below(pid_t parent, const std::string& name) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string number;
    std::string command;
    std::string state;
    pid_t its_parent = 0;
    if (!(file >> number >> command >> state >> its_parent) || its_parent != parent) continue;
    if (command == "(" + name + ")") found.push_back(std::stoi(number));
  }
  return found;
}

inline pid_t await_process_below(pid_t parent, const std::string& name) {
  for (int i = 0; i < 1000; ++i) {
    const std::vector<pid_t> found = processes_below(parent, name);
    if (!found.empty()) return found.front();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ADD_FAILURE() << "no process " << name;
  return -1;
}

class Bench : public testing::Test {
 protected:
  Bench() { extend_time_limit(4); }

  void SetUp() override {
    if (!fs::exists(build_folder() / "bench/bench-raw"))
      GTEST_SKIP() << "built without NETIO_BENCH";
  }
  // One short round of each system.
  static Words quick(Words words) {
    words.insert(words.begin(), "bench");
    words.insert(words.end(), {"--seconds", "100ms"});
    return words;
  }
  nlohmann::json result_of(Words words, int code = 0) {
    words = quick(std::move(words));
    words.push_back("--json=" + folder_.path("result.json"));
    Process bench(netio_command(words));
    EXPECT_EQ(bench.wait(std::chrono::seconds(120)), code) << bench.err() << bench.out();
    said_ = bench.out();
    noted_ = bench.err();
    return read_json(folder_.path("result.json"));
  }

  Folder folder_;
  std::string said_;
  std::string noted_;
};

inline Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// An end, run by hand.
class WorkerEnd {
 public:
  explicit WorkerEnd(const std::string& system, Words words)
      : process_([&] {
          Process::Options options;
          options.arguments = std::move(words);
          options.arguments.insert(options.arguments.begin(),
                                   (build_folder() / ("bench/bench-" + system)).string());
          return options;
        }()) {}

  nlohmann::json hear() {
    for (int i = 0; i < 2000; ++i) {
      const std::string said = process_.out();
      if (const std::size_t end = said.find('\n', heard_); end != std::string::npos) {
        const std::string line = said.substr(heard_, end - heard_);
        heard_ = end + 1;
        return nlohmann::json::parse(line);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ADD_FAILURE() << "nothing said";
    return {};
  }
  nlohmann::json ask(const std::string& command) {
    process_.feed(command + "\n");
    return hear();
  }
  std::string port() { return std::to_string(hear().at("port").get<int>()); }
  // Until it has counted so many more.
  void await_messages(std::uint64_t more) {
    const auto count = [this] { return ask("snap").at("messages").get<std::uint64_t>(); };
    const std::uint64_t first = count();
    for (int i = 0; i < 1000; ++i) {
      if (count() >= first + more) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "fewer than " << more << " messages came";
  }
  void expect_ends_well() {
    EXPECT_EQ(ask("stop").at("faults"), 0);
    EXPECT_EQ(process_.wait(), 0);
  }
  Process& process() noexcept { return process_; }

 private:
  Process process_;
  std::size_t heard_ = 0;
};

// An end in shared memory; without more said, the floor's.
class MemoryEnd : public WorkerEnd {
 public:
  explicit MemoryEnd(Words words, const std::string& system = "raw")
      : WorkerEnd(system, words + Words{"--name", "test-" + std::to_string(::getpid())}) {}
};

}  // namespace netio::test
