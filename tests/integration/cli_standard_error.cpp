// Notes, progress and errors that nobody can read: the work is done all the same, and the exit code
// says how it went.
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/cli_support.hpp"
#include "support/raw_tcp.hpp"

namespace netio::test {
namespace {

using Stderr = Process::Options::Stderr;

class CliStandardError : public ::testing::TestWithParam<Stderr> {
 protected:
  static Process::Options unheard(Words arguments) {
    Process::Options options = netio_command(std::move(arguments));
    options.standard_error = GetParam();
    return options;
  }
  static std::string free_address() {
    const RawListener reserved;
    return reserved.address();
  }

  Folder folder_;
};

TEST_P(CliStandardError, a_transfer_is_completed_without_it) {
  const std::string address = free_address();
  const std::string out = folder_.path("received");
  // Longer than a second: there is progress to report, and at both ends something to note.
  const Words words = {"send", address, "--rate", "1k", "--count", "1200", "--verify"};
  Process send(unheard(words));
  Process recv(unheard({"recv", address, "--out", out, "--verify"}));
  EXPECT_EQ(send.wait(), 0) << send.out();
  EXPECT_EQ(recv.wait(), 0) << recv.out();
  // Not a byte of anything else, though the file may have been the first thing opened.
  EXPECT_EQ(read_file(out).size(), 64U * 1200);
}

TEST_P(CliStandardError, a_summary_that_belongs_there_is_no_failure) {
  const std::string address = free_address();
  Process recv(unheard({"recv", address, "--out", "-"}));
  Process send(unheard({"send", address, "--count", "10", "--size", "100"}));
  EXPECT_EQ(send.wait(), 0) << send.out();
  EXPECT_EQ(recv.wait(), 0);
  EXPECT_EQ(recv.out().size(), 1000U);
}

TEST_P(CliStandardError, what_goes_wrong_is_in_the_exit_code) {
  const auto code = [](Words words) { return Process(unheard(std::move(words))).wait(); };
  EXPECT_EQ(code({"send", "nonsense", "--count", "1"}), 2);
  EXPECT_EQ(code({"send", "--nonsense"}), 2);
  EXPECT_EQ(code({"recv", "tcp://127.0.0.1:0", "--out", folder_.path("no/such/folder")}), 1);
  EXPECT_EQ(code({"send", free_address(), "--count", "1", "--connect-timeout", "100ms"}), 1);
}

TEST_P(CliStandardError, a_measurement_is_completed_without_it) {
  const auto programs = std::filesystem::path(NETIO_CLI_PATH).parent_path() / "bench";
  if (!std::filesystem::exists(programs / "bench-raw")) GTEST_SKIP() << "built without NETIO_BENCH";
  Process bench(unheard({"bench", "throughput", "--against", "raw", "--rounds", "1", "--seconds",
                         "100ms", "--json=" + folder_.path("result.json")}));
  EXPECT_EQ(bench.wait(std::chrono::seconds(60)), 0) << bench.out();
  EXPECT_EQ(read_json(folder_.path("result.json"))["complete"], true);
}

INSTANTIATE_TEST_SUITE_P(kinds, CliStandardError,
                         ::testing::Values(Stderr::unread_pipe, Stderr::full_disk, Stderr::closed),
                         [](const auto& kind) {
                           if (kind.param == Stderr::closed) return "closed";
                           return kind.param == Stderr::full_disk ? "full_disk" : "unread_pipe";
                         });

}  // namespace
}  // namespace netio::test
