// Where received messages go: files, pipes, a full disk, a reader that leaves or is slow.
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/cli_support.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

class CliOutput : public ::testing::Test {
 protected:
  Folder folder_;
};

TEST_F(CliOutput, a_full_disk_is_an_error_that_says_what_was_written) {
  const std::string json = folder_.path("recv.json");
  Process recv(netio_command({"recv", any_port, "--out", "/dev/full", "--json=" + json}));
  Process send(netio_command(
      {"send", address_of(recv), "--size", "1KiB", "--count", "100", "--connect-timeout", "2s"}));
  EXPECT_EQ(recv.wait(), 1);
  EXPECT_THAT(recv.err(), HasSubstr("cannot write to /dev/full: No space left on device"));
  EXPECT_THAT(recv.err(), HasSubstr("written before that: 0 messages, 0 bytes"));
  EXPECT_EQ(read_json(json)["output"]["messages"], 0);
  // Nothing was written, so nothing was acknowledged.
  EXPECT_EQ(send.wait(), 3) << send.err();
}

TEST_F(CliOutput, a_file_limit_keeps_what_was_written_before_it) {
  // 100,000 bytes and no more: as a disk that fills up in mid-stream.
  const std::string out = folder_.path("received");
  Process::Options options;
  options.arguments = {
      "/bin/sh", "-c",
      "trap '' XFSZ; ulimit -f 100; exec \"$0\" recv tcp://127.0.0.1:0 --out \"$1\"",
      netio_program(), out};
  Process recv(std::move(options));
  const std::string bytes = some_bytes(200'000);
  Process send(netio_command({"send", address_of(recv), folder_.write("input", bytes), "--frame",
                              "fixed:1000", "--connect-timeout", "2s"}));
  EXPECT_EQ(recv.wait(), 1);
  EXPECT_THAT(recv.err(), HasSubstr("File too large"));
  const std::string written = read_file(out);
  EXPECT_GT(written.size(), 0U);
  EXPECT_TRUE(bytes.starts_with(written));
  EXPECT_THAT(recv.err(),
              HasSubstr("written before that: " + std::to_string(written.size() / 1000)));
  EXPECT_EQ(send.wait(), 3) << send.err();
}

TEST_F(CliOutput, a_named_pipe_carries_the_messages) {
  const std::string pipe = folder_.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string bytes = some_bytes(300'000);
  Process recv(netio_command({"recv", any_port, "--out", pipe}));
  Process::Options cat;
  cat.arguments = {"/bin/cat", pipe};
  Process reader(std::move(cat));
  Process send(netio_command(
      {"send", address_of(recv), folder_.write("input", bytes), "--frame", "fixed:100"}));
  EXPECT_EQ(send.wait(), 0) << send.err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
  EXPECT_EQ(reader.wait(), 0);
  EXPECT_TRUE(reader.out() == bytes);
}

TEST_F(CliOutput, a_reader_that_had_enough_ends_it_quietly) {
  Process recv(netio_command({"recv", any_port, "--out", "-"}));
  const std::string json = folder_.path("send.json");
  Process send(netio_command({"send", address_of(recv), "--size", "1KiB", "--rate", "10k",
                              "--connect-timeout", "2s", "--json=" + json}));
  EXPECT_TRUE(recv.wait_for_out_bytes(10 * 1024));
  recv.close_output();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
  EXPECT_THAT(recv.err(), Not(HasSubstr("error")));
  // The sender knows that the receiver has ended, and what it had taken until then.
  EXPECT_EQ(send.wait(), 3) << send.err();
  EXPECT_THAT(send.err(), HasSubstr(" has ended"));
  EXPECT_THAT(send.err(), Not(HasSubstr("lost tcp")));
  const auto books = read_json(json)["books"];
  EXPECT_GE(books["acknowledged"], 10);
  EXPECT_EQ(books["dropped_by"]["connection_lost"], 0);
  EXPECT_EQ(books["unacknowledged"], 0);
}

TEST_F(CliOutput, a_count_acknowledges_what_was_written_and_no_more) {
  for (const char* const size : {"100", "100kB"}) {
    const std::string json = folder_.path("send.json");
    const std::string out = folder_.path("received");
    Process recv(netio_command({"recv", any_port, "--count", "3", "--out", out}));
    Process send(netio_command({"send", address_of(recv), "--size", size, "--count", "50",
                                "--connect-timeout", "2s", "--json=" + json}));
    EXPECT_EQ(recv.wait(), 0) << recv.err();
    EXPECT_EQ(send.wait(), 3) << send.err();
    const auto report = read_json(json);
    EXPECT_EQ(read_file(out).size(),
              3 * report["bytes"].get<std::size_t>() / report["messages"].get<std::size_t>());
    EXPECT_EQ(report["books"]["acknowledged"], 3) << report;
    EXPECT_EQ(report["books"]["unacknowledged"], 0) << report;
  }
}

TEST_F(CliOutput, a_file_is_left_alone_until_something_comes) {
  const std::string out = folder_.write("precious", "data");
  Process nobody(netio_command({"recv", any_port, "--out", out, "--connect-timeout", "50ms"}));
  EXPECT_EQ(nobody.wait(), 1) << nobody.err();
  EXPECT_EQ(read_file(out), "data");
  // A sender that had nothing to send replaces it with nothing.
  Process recv(netio_command({"recv", any_port, "--out", out}));
  Process send(netio_command({"send", address_of(recv), "--count", "0"}));
  EXPECT_EQ(send.wait(), 0) << send.err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
  EXPECT_EQ(read_file(out), "");
}

TEST_F(CliOutput, a_file_that_cannot_be_opened_is_said_before_anything_else) {
  Process recv(netio_command({"recv", any_port, "--out", folder_.path("no/such/folder")}));
  EXPECT_EQ(recv.wait(), 1);
  EXPECT_TRUE(recv.err().starts_with("netio recv: error: cannot open ")) << recv.err();
}

TEST_F(CliOutput, ctrl_c_ends_a_receiver_that_waits_for_a_slow_pipe) {
  const std::string pipe = folder_.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // and never reads
  ASSERT_GE(reader, 0);
  Process recv(netio_command({"recv", any_port, "--out", pipe}));
  Process send(netio_command({"send", address_of(recv), "--size", "64KiB"}));
  pollfd written{reader, POLLIN, 0};
  ASSERT_EQ(::poll(&written, 1, 10'000), 1);  // both have started
  std::this_thread::sleep_for(300ms);
  EXPECT_TRUE(recv.running());
  EXPECT_TRUE(send.running());  // held back
  recv.signal(SIGINT);
  EXPECT_EQ(recv.wait(10s), 130) << recv.err();
  send.signal(SIGINT);
  EXPECT_EQ(send.wait(10s), 130) << send.err();
  ::close(reader);
}

TEST_F(CliOutput, a_sender_that_lingers_only_so_long_says_what_is_in_doubt) {
  const std::string pipe = folder_.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // and never reads
  ASSERT_GE(reader, 0);
  Process recv(netio_command({"recv", any_port, "--out", pipe}));
  Process send(netio_command({"send", address_of(recv), folder_.write("input", some_bytes(400'000)),
                              "--frame", "fixed:1000", "--linger", "200ms"}));
  EXPECT_EQ(send.wait(), 3) << send.err();
  EXPECT_THAT(send.err(), HasSubstr("not acknowledged"));
  ::close(reader);
}

TEST_F(CliOutput, a_sender_waits_for_a_receiver_that_is_slow_to_write) {
  const std::string pipe = folder_.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string bytes = some_bytes(4'000'000);
  Process recv(netio_command({"recv", any_port, "--out", pipe}));
  Process::Options slow;
  slow.arguments = {"/bin/sh", "-c", "sleep 0.5; exec cat", "sh"};
  slow.stdin_path = pipe;  // Opening it here blocks until recv has.
  Process reader(std::move(slow));
  Process send(netio_command(
      {"send", address_of(recv), folder_.write("input", bytes), "--frame", "fixed:1000"}));
  EXPECT_EQ(send.wait(), 0) << send.err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
  EXPECT_EQ(reader.wait(), 0);
  EXPECT_TRUE(reader.out() == bytes);
}

}  // namespace
}  // namespace netio::test
