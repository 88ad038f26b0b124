// The demo as people and scripts run it: in a pipe, to its end, interrupted, and with a process of
// it killed that should not be.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/types.h>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/paths.hpp"
#include "support/process.hpp"
#include "support/sanitized.hpp"

namespace netio::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::string demo_path() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "demo").string();
}

// The processes that this one has started and that still run.
std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> found;
  const std::string folder = "/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent);
  std::ifstream file(folder + "/children");
  for (pid_t child = 0; file >> child;) found.push_back(child);
  return found;
}

bool runs(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string number;
  std::string name;
  std::string state;
  return file >> number >> name >> state && state != "Z";
}

class Demo : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(demo_path())) GTEST_SKIP() << "built without NETIO_EXAMPLES";
  }
  static Process::Options demo(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), demo_path());
    Process::Options options;
    options.arguments = std::move(arguments);
    return options;
  }
  // The card works once the first line with a rate is out.
  static bool working(Process& process) {
    const auto end = Process::Clock::now() + std::chrono::seconds(30);
    while (process.running() && Process::Clock::now() < end) {
      if (process.out().find(" MB/s, ring ") != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }
};

TEST_F(Demo, its_script_prints_the_help_without_building) {
  Process program(demo({"--help"}));
  EXPECT_EQ(program.wait(), 0);
  Process::Options options;
  options.arguments = {source_folder() + "/script/demo", "--help"};
  Process script(std::move(options));
  EXPECT_EQ(script.wait(), 0);
  EXPECT_EQ(script.out(), program.out());
  EXPECT_EQ(script.err(), "");
}

TEST_F(Demo, accounts_for_every_fragment) {
  Process process(demo({"--seconds", "2"}));
  EXPECT_EQ(process.wait(std::chrono::seconds(60)), 0) << process.out() << process.err();
  const std::string out = process.out();
  EXPECT_THAT(out, ContainsRegex("Verified: [0-9,]+ fragments from 16 links"));
  EXPECT_THAT(out, ContainsRegex("round trip +p50 [0-9]+ us, p99 [0-9]+ us, p99.9 [0-9]+ us"));
  EXPECT_THAT(out, Not(HasSubstr("\x1b["))) << "a pipe gets plain lines";
}

TEST_F(Demo, keeps_exact_books_of_subscribers_that_are_stopped_and_killed) {
  Process process(demo({"--seconds", "6"}));
  EXPECT_EQ(process.wait(std::chrono::seconds(60)), 0) << process.out() << process.err();
  const std::string out = process.out();
  for (const char* const what :
       {"the recorder is stopped (SIGSTOP)", "the recorder goes on (SIGCONT)",
        "the monitor is killed (SIGKILL)", "the monitor is started again"}) {
    EXPECT_THAT(out, HasSubstr(what));
  }
  const std::string number = "[0-9,]+";
  for (const char* const builder : {"builder 1", "builder 2"}) {
    EXPECT_THAT(out, ContainsRegex(builder + (" +" + number) + " sent = " + number +
                                   " acknowledged [+] 0 dropped [+] 0 unacknowledged; " + number +
                                   " delivered, 0 missed\n"));
  }
  // Under a sanitizer so little is published that the stop costs it nothing.
  const std::string dropped = number + (sanitized ? " dropped( as new)?" : " dropped as new");
  EXPECT_THAT(out, ContainsRegex("recorder .* [+] " + dropped + " [+] 0 unack"));
  EXPECT_THAT(out, ContainsRegex("monitor  .* killed, last report: " + number + " delivered"));
  EXPECT_THAT(out, ContainsRegex("monitor again .* superseded [+] 0 unack"));
  EXPECT_THAT(out, HasSubstr("\nBooks exact: each of 5 subscriptions adds up"));
}

TEST_F(Demo, ends_in_order_when_interrupted) {
  Process process(demo({"--seconds", "60", "--rate", "1e5"}));
  ASSERT_TRUE(working(process)) << process.out() << process.err();
  process.signal(SIGINT);
  EXPECT_EQ(process.wait(), 130) << process.out() << process.err();
  EXPECT_THAT(process.out(), HasSubstr("Interrupted. "));
  EXPECT_THAT(process.out(), HasSubstr("\nBooks exact: each of 4 subscriptions adds up"));
  EXPECT_THAT(process.out(), HasSubstr("\nVerified: "));
  EXPECT_THAT(process.out(), Not(HasSubstr("busy: 1 (card held off for 0.00 s)")));
}

TEST_F(Demo, tells_of_a_builder_that_dies) {
  Process process(demo({"--seconds", "60", "--rate", "1e5"}));
  ASSERT_TRUE(working(process)) << process.out() << process.err();
  const std::vector<pid_t> children = children_of(process.pid());
  ASSERT_EQ(children.size(), 5U);
  ASSERT_EQ(kill(children.front(), SIGKILL), 0);
  EXPECT_EQ(process.wait(), 3) << process.out();
  EXPECT_THAT(process.err(), ContainsRegex("builder 1 .* was killed by signal 9"));
  EXPECT_THAT(process.out(), Not(HasSubstr("Verified")));
  for (const pid_t child : children) EXPECT_FALSE(runs(child));
}

TEST_F(Demo, says_that_its_output_could_not_be_written) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--help"}, {"--seconds", "0.5", "--rate", "1e4"}}) {
    Process::Options options = demo(words);
    options.stdout_path = "/dev/full";
    Process process(std::move(options));
    EXPECT_EQ(process.wait(), 1) << words.front();
    EXPECT_THAT(process.err(), HasSubstr("written to standard output"));
  }
}

TEST_F(Demo, leaves_no_process_behind_when_it_is_killed) {
  Process process(demo({"--seconds", "60", "--rate", "1e5"}));
  ASSERT_TRUE(working(process)) << process.out() << process.err();
  const std::vector<pid_t> children = children_of(process.pid());
  ASSERT_EQ(children.size(), 5U);
  process.signal(SIGKILL);
  EXPECT_EQ(process.wait(), -SIGKILL);
  const auto end = Process::Clock::now() + std::chrono::seconds(10);
  for (const pid_t child : children) {
    while (runs(child) && Process::Clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_FALSE(runs(child));
  }
}

TEST_F(Demo, says_what_is_wrong_with_its_command_line) {
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--seconds"},
                                                {"--seconds", "0"},
                                                {"--rate", "fast"},
                                                {"--turbo"},
                                                {"builder"}}) {
    Process process(demo(wrong));
    EXPECT_EQ(process.wait(), 2) << wrong.front();
    EXPECT_THAT(process.err(), HasSubstr("see --help"));
  }
  Process help(demo({"--help"}));
  EXPECT_EQ(help.wait(), 0);
  EXPECT_THAT(help.out(), HasSubstr("Exit codes"));
}

}  // namespace
}  // namespace netio::test
