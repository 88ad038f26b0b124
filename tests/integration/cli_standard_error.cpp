// Notes, progress and errors that nobody can read: the work is done all the same, and the exit code
// says how it went.
#include <algorithm>
#include <array>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/cli_support.hpp"
#include "support/raw_tcp.hpp"

namespace netio::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using Stderr = Process::Options::Stderr;

class CliStandardError : public ::testing::TestWithParam<Stderr> {
 protected:
  static Process::Options unheard(Words arguments) {
    Process::Options options = netio_command(std::move(arguments));
    options.standard_error = GetParam();
    return options;
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
  const auto programs = std::filesystem::path(netio_program()).parent_path() / "bench";
  if (!std::filesystem::exists(programs / "bench-raw")) GTEST_SKIP() << "built without NETIO_BENCH";
  Process bench(unheard({"bench", "throughput", "--against", "raw", "--rounds", "1", "--seconds",
                         "100ms", "--json=" + folder_.path("result.json")}));
  EXPECT_EQ(bench.wait(std::chrono::seconds(60)), 0) << bench.out();
  EXPECT_EQ(read_json(folder_.path("result.json"))["complete"], true);
}

INSTANTIATE_TEST_SUITE_P(kinds, CliStandardError,
                         ::testing::Values(Stderr::unread_pipe, Stderr::full_pipe,
                                           Stderr::full_disk, Stderr::closed),
                         [](const auto& kind) {
                           if (kind.param == Stderr::closed) return "closed";
                           if (kind.param == Stderr::full_pipe) return "full_pipe";
                           return kind.param == Stderr::full_disk ? "full_disk" : "unread_pipe";
                         });

// Each connection is worth a note, and there are hundreds.
TEST(CliNotes, of_one_kind_are_summed_up) {
  constexpr int connections = 400;
  Process recv(netio_command({"recv", any_port, "--out", "/dev/null", "--keep"}));
  const std::string address = address_of(recv);
  for (int i = 0; i < connections; ++i) {
    RawTcp stranger = RawTcp::connect(address);
    (void)stranger.send(i % 2 == 0 ? "GET / HTTP/1.1\r\nHost: netio\r\n\r\n"
                                   : std::string(100, 'x'));
    while (!stranger.ended()) ::usleep(1000);
  }
  recv.signal(SIGINT);
  EXPECT_TRUE(recv.wait().has_value());
  const std::string err = recv.err();
  EXPECT_THAT(err, HasSubstr("turned away tcp://127.0.0.1:"));
  // Both kinds are summed up in one line.
  EXPECT_THAT(err, ContainsRegex(" more like it \\(and [0-9,]+ others\\): turned away tcp://127"));
  EXPECT_LT(std::count(err.begin(), err.end(), '\n'), connections / 4) << err;
}

// A text that is larger than the room for it comes whole, and once.
TEST(CliNotes, the_last_words_are_not_said_twice) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  ASSERT_GE(::fcntl(ends[1], F_SETPIPE_SZ, 4096), 4096);
  const std::string name(5000, 'x');
  Process::Options options;
  options.arguments = {"/bin/sh", "-c",
                       netio_program() + " send shm://nobody " + name + " 2>/proc/" +
                           std::to_string(::getpid()) + "/fd/" + std::to_string(ends[1])};
  Process send(options);
  int bytes = 0;
  for (int i = 0; i < 3000 && bytes == 0; ++i) {
    ::usleep(10'000);
    ASSERT_EQ(::ioctl(ends[0], FIONREAD, &bytes), 0);
  }
  ::close(ends[1]);
  std::string said;
  std::array<char, 4096> part{};
  for (ssize_t got = 0; (got = ::read(ends[0], part.data(), part.size())) > 0;) {
    said.append(part.data(), static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  EXPECT_EQ(send.wait(), 1);
  EXPECT_EQ(said, "netio send: error: cannot open " + name + ": File name too long\n");
}

// What found no room is told of once there is some.
TEST(CliNotes, that_found_no_room_are_counted) {
  const std::string name = "shm://unread-" + std::to_string(::getpid());
  Process::Options options = netio_command({"recv", name, "--out", "/dev/null", "--keep"});
  options.standard_error = Stderr::full_pipe;
  Process recv(options);
  // It listens, and has said so to nobody.
  Process send(netio_command({"send", name, "--count", "1"}));
  ASSERT_EQ(send.wait(), 0) << send.err();
  recv.read_err();
  EXPECT_TRUE(recv.wait_for_err("left out here: nobody read standard error\n"));
}

}  // namespace
}  // namespace netio::test
