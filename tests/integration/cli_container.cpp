// Commands in a control group with little memory, as a container is one.
#include <algorithm>
#include <cstdint>
#include <fcntl.h>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file_descriptor.hpp"
#include "integration/cli_support.hpp"
#include "support/own_group.hpp"
#include "support/sanitized.hpp"

namespace netio::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::uint64_t mib = 1U << 20U;

class CliContainer : public ::testing::Test {
 protected:
  void SetUp() override {
    if (sanitized) GTEST_SKIP() << "a sanitizer has memory of its own beside all of this";
    if (!OwnGroup(mib).usable()) GTEST_SKIP() << "no right to make a control group here";
  }
  Folder folder_;
};

TEST_F(CliContainer, info_shows_the_limit_and_what_a_context_makes_of_it) {
  const OwnGroup group(512 * mib);
  Process text(group.inside(netio_command({"info"})));
  EXPECT_EQ(text.wait(), 0) << text.err();
  EXPECT_THAT(text.out(), AllOf(HasSubstr("control group"), HasSubstr("512 MiB of memory")));

  Process process(group.inside(netio_command({"info", "--json"})));
  EXPECT_EQ(process.wait(), 0) << process.err();
  auto json = nlohmann::json::parse(process.out(), nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << process.out();
  auto& limits = json["limits"];
  EXPECT_EQ(limits["control_group"]["limit_bytes"], 512 * mib);
  EXPECT_LT(limits["control_group"]["left_bytes"], 512 * mib);
  EXPECT_LE(limits["memory_available_bytes"], 512 * mib);
  EXPECT_EQ(json["context"]["error"], nullptr);
  EXPECT_EQ(json["context"]["large_bytes_max"], 224 * mib);
}

// The pools of its context would be larger by default than the group.
TEST_F(CliContainer, a_small_group_has_room_for_a_context_that_works) {
  const OwnGroup group(24 * mib);
  Process recv(group.inside(netio_command({"recv", any_port, "--verify"})));
  const std::string address = address_of(recv);
  Process send(netio_command({"send", address, "--size", "30000", "--count", "5000", "--verify"}));
  EXPECT_EQ(send.wait(), 0) << send.err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
}

TEST_F(CliContainer, shared_memory_fits_a_small_group) {
  const OwnGroup group(32 * mib);
  Process recv(group.inside(netio_command({"recv", "shm://*", "--verify"})));
  const std::string address = address_of(recv);
  Process send(group.inside(
      netio_command({"send", address, "--size", "30000", "--count", "5000", "--verify"})));
  EXPECT_EQ(send.wait(), 0) << send.err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
}

// More than the group has is on its way while nobody reads what the receiver writes. The senders
// are held back, and all arrives.
TEST_F(CliContainer, a_receiver_whose_reader_is_stuck_holds_large_messages_back) {
  constexpr std::size_t senders = 8;
  constexpr std::size_t message_bytes = 24 * mib;
  const OwnGroup group(128 * mib);
  const std::string pipe = folder_.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const detail::FileDescriptor reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(reader);
  Process recv(group.inside(
      netio_command({"recv", any_port, "--senders", std::to_string(senders), "--out", pipe})));
  const std::string address = address_of(recv);
  std::vector<std::unique_ptr<Process>> all;
  for (std::size_t i = 0; i < senders; ++i) {
    all.push_back(std::make_unique<Process>(
        netio_command({"send", address, "--size", std::to_string(message_bytes), "--count", "1"})));
  }
  // When the first message is written, the receiver has taken of the others what it takes.
  std::uint64_t arrived = 0;
  std::vector<char> bytes(mib);
  const auto read_some = [&] {
    const ssize_t got = ::read(reader.get(), bytes.data(), bytes.size());
    if (got > 0) arrived += static_cast<std::uint64_t>(got);
    return got > 0;
  };
  const bool lives = wait_until(read_some);
  EXPECT_TRUE(lives) << recv.err();
  ASSERT_TRUE(recv.running()) << recv.err();
  EXPECT_TRUE(wait_until([&] {
    while (read_some()) {
    }
    return arrived >= senders * message_bytes || !recv.running();
  }));
  for (const auto& send : all) EXPECT_EQ(send->wait(), 0) << send->err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
  while (read_some()) {
  }
  EXPECT_EQ(arrived, senders * message_bytes);
}

// Pages, not a time: a tool that waits has touched few of those that it may have.
std::uint64_t touched_bytes(const Process& process) {
  std::ifstream file("/proc/" + std::to_string(process.pid()) + "/status");
  std::uint64_t bytes = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t kibibytes = 0;
    words >> name >> kibibytes;
    if (name == "RssAnon:" || name == "RssShmem:") bytes += kibibytes << 10U;
  }
  return bytes;
}

TEST(CliIdle, an_echo_that_waits_has_touched_little_memory) {
  if (sanitized) GTEST_SKIP() << "a sanitizer has memory of its own beside all of this";
  for (const char* const address : {any_port, "shm://*"}) {
    Process echo(netio_command({"echo", address}));
    (void)address_of(echo);
    const std::uint64_t touched = touched_bytes(echo);
    RecordProperty("touched_bytes", std::to_string(touched));
    EXPECT_GT(touched, 0U);
    EXPECT_LT(touched, 16 * mib) << address;
  }
}

}  // namespace
}  // namespace netio::test
