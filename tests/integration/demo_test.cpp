// The demo as people and scripts run it: in a pipe, to its end, interrupted, and with a process of
// it killed that should not be. Nothing here depends on how fast the machine is.
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
  // The cards work once the first line with rates is out.
  static bool working(Process& process) {
    const std::string first_line = "man.\n";
    const auto end = Process::Clock::now() + std::chrono::seconds(60);
    while (process.running() && Process::Clock::now() < end) {
      if (process.out().find(first_line) != std::string::npos) return true;
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

// The books and the verdict of a run that went well.
void expect_exact_books(const std::string& out) {
  const std::string number = " +[0-9,]+";
  for (const char* const card : {"card 1", "card 2", "card 3", "card 4"}) {
    EXPECT_THAT(out, ContainsRegex("\n  " + (card + number) + number + number + number +
                                   " +(never|[0-9.]+ s, (once|[0-9]+ times)) +[0-9]+ %\n"));
  }
  EXPECT_THAT(out, ContainsRegex("\n  builder 1" + number + number + " +0 "));
  EXPECT_THAT(out, ContainsRegex("\n  recorder" + number + " +0 +0 "));
  EXPECT_THAT(out, ContainsRegex("\n  monitor" + number + number + " +0 "));
  EXPECT_THAT(out, ContainsRegex("\nVerified: all [0-9,]+ fragments of [0-9,]+ events were built, "
                                 "and every byte is right.\n"));
  EXPECT_THAT(out, HasSubstr("\nThe recorder has every event."));
}

TEST_F(Demo, accounts_for_every_fragment_though_a_builder_is_killed) {
  Process process(demo({"--seconds", "4", "--rate", "10000"}));
  EXPECT_EQ(process.wait(std::chrono::seconds(120)), 0) << process.out() << process.err();
  const std::string out = process.out();
  for (const char* const what :
       {"the recorder is stopped (SIGSTOP)", "the recorder goes on (SIGCONT)",
        "builder 2 is killed (SIGKILL)", "builder 2 is started again",
        "the manager stops the run in front of event "}) {
    EXPECT_THAT(out, HasSubstr(what));
  }
  expect_exact_books(out);
  EXPECT_THAT(out, ContainsRegex("\n  builder 2 +[0-9,]+ +[0-9,]+ +0 +killed +[0-9,]+ "));
  EXPECT_THAT(out, ContainsRegex("\n  builder 2 again +[0-9,]+ +[0-9,]+ +0 "));
  EXPECT_THAT(out, Not(HasSubstr("\x1b["))) << "a pipe gets plain lines";
}

// The steps of the run follow each other faster than the processes notice them.
TEST_F(Demo, accounts_for_every_fragment_of_a_run_that_is_very_short) {
  Process process(demo({"--seconds", "0.1", "--rate", "1000"}));
  EXPECT_EQ(process.wait(std::chrono::seconds(120)), 0) << process.out() << process.err();
  expect_exact_books(process.out());
}

// The stores of the cards are full most of the time.
TEST_F(Demo, accounts_for_every_fragment_when_there_are_more_than_can_be_built) {
  Process process(demo({"--seconds", "1", "--rate", "1000000"}));
  EXPECT_EQ(process.wait(std::chrono::seconds(120)), 0) << process.out() << process.err();
  expect_exact_books(process.out());
}

TEST_F(Demo, ends_in_order_when_interrupted) {
  Process process(demo({"--seconds", "60", "--rate", "5000"}));
  ASSERT_TRUE(working(process)) << process.out() << process.err();
  process.signal(SIGINT);
  EXPECT_EQ(process.wait(std::chrono::seconds(120)), 130) << process.out() << process.err();
  EXPECT_THAT(process.out(), HasSubstr("Interrupted. "));
  expect_exact_books(process.out());
  EXPECT_THAT(process.out(), Not(HasSubstr("builder 2 again")));
}

TEST_F(Demo, tells_of_a_process_that_dies) {
  Process process(demo({"--seconds", "60", "--rate", "5000"}));
  ASSERT_TRUE(working(process)) << process.out() << process.err();
  const std::vector<pid_t> children = children_of(process.pid());
  ASSERT_EQ(children.size(), 8U);
  ASSERT_EQ(kill(children.front(), SIGKILL), 0);
  EXPECT_EQ(process.wait(), 3) << process.out();
  EXPECT_THAT(process.err(), ContainsRegex("builder 1 .* was killed by signal 9"));
  EXPECT_THAT(process.out(), Not(HasSubstr("Verified")));
  for (const pid_t child : children) EXPECT_FALSE(runs(child));
}

TEST_F(Demo, says_that_its_output_could_not_be_written) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--help"}, {"--seconds", "0.5", "--rate", "1e3"}}) {
    Process::Options options = demo(words);
    options.stdout_path = "/dev/full";
    Process process(std::move(options));
    EXPECT_EQ(process.wait(), 1) << words.front();
    EXPECT_THAT(process.err(), HasSubstr("written to standard output"));
  }
}

TEST_F(Demo, leaves_no_process_behind_when_it_is_killed) {
  Process process(demo({"--seconds", "60", "--rate", "5000"}));
  ASSERT_TRUE(working(process)) << process.out() << process.err();
  const std::vector<pid_t> children = children_of(process.pid());
  ASSERT_EQ(children.size(), 8U);
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
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"--seconds"},
        {"--seconds", "0"},
        {"--rate", "fast"},
        {"--turbo"},
        {"child"},
        {"child", "99", "name", "tcp://127.0.0.1:1", "0", "1", "0"}}) {
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
