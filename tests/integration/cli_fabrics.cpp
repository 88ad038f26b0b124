// libfabric in the process of a command: there only where a fabric is used, missed with a reason
// where it is not installed, and of no effect on signals.
#include <csignal>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/cli_support.hpp"
#include "support/raw_tcp.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class CliFabrics : public testing::Test {
 protected:
  void SetUp() override {
#ifndef NETIO_WITH_FABRIC
    GTEST_SKIP() << "built without libfabric";
#endif
  }
  static std::string maps_of(Process& process) {
    return read_file("/proc/" + std::to_string(process.pid()) + "/maps");
  }
};

TEST_F(CliFabrics, libfabric_is_loaded_where_it_is_used) {
  Process on_tcp(netio_command({"recv", any_port}));
  ASSERT_FALSE(address_of(on_tcp).empty());
  EXPECT_THAT(maps_of(on_tcp), Not(HasSubstr("libfabric")));
  Process on_libfabric(netio_command({"recv", any_fabric_port}));
  ASSERT_FALSE(address_of(on_libfabric).empty());
  EXPECT_THAT(maps_of(on_libfabric), HasSubstr("libfabric"));
}

// Libraries of its providers take signals as they load.
TEST_F(CliFabrics, an_interrupt_is_answered_with_libfabric_in_the_process) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Process recv(netio_command({"recv", any_fabric_port}));
    ASSERT_FALSE(address_of(recv).empty());
    recv.signal(signal);
    EXPECT_EQ(recv.wait(), 130);
    EXPECT_THAT(recv.out(), HasSubstr("interrupted"));
  }
}

// --- What is said where it does not work.

TEST_F(CliFabrics, the_other_scheme_at_the_other_end_is_thought_of) {
  const auto other = [](const std::string& address) {
    return address.starts_with("ofi+") ? address.substr(4) : "ofi+" + address;
  };
  for (const char* const bound : {any_port, any_fabric_port}) {
    Process recv(netio_command({"recv", bound}));
    const std::string address = other(address_of(recv));
    Process send(netio_command({"send", address, "--count", "1", "--connect-timeout", "2s"}));
    EXPECT_EQ(send.wait(), 1);
    EXPECT_THAT(send.err(), HasSubstr("do both sides use the same scheme (tcp://, ofi+tcp://)?"));
    if (bound == any_fabric_port) continue;
    recv.signal(SIGINT);
    EXPECT_EQ(recv.wait(), 130);
    const std::string err = recv.err();
    EXPECT_THAT(err, HasSubstr("does not speak netio: a fabric (ofi+tcp://)"));
    std::size_t lines = 0;
    for (std::size_t at = 0; (at = err.find("turned away", at)) != std::string::npos; ++at) ++lines;
    EXPECT_LE(lines, 2U) << "the first and the tenth: " << err;
  }
}

TEST_F(CliFabrics, a_provider_that_cannot_be_used_is_an_error_at_once) {
  for (const char* const role : {"recv", "send"}) {
    Process unknown(netio_command({role, "ofi+foo://127.0.0.1:5555", "--connect-timeout", "1h"}));
    EXPECT_EQ(unknown.wait(), 2);
    EXPECT_THAT(unknown.err(), HasSubstr("there is no provider 'foo' here"));
    EXPECT_THAT(unknown.err(), HasSubstr("usable here: tcp://, "));
    EXPECT_THAT(unknown.err(), HasSubstr("ofi+tcp://"));
  }
}

TEST_F(CliFabrics, nobody_at_the_address_is_said_with_the_address_once) {
  const std::string address = "ofi+" + free_address();
  Process send(netio_command({"send", address, "--count", "1"}));
  EXPECT_TRUE(send.wait_for_err(address + ": nobody listens, or not on this fabric")) << send.err();
  send.signal(SIGINT);
  EXPECT_EQ(send.wait(), 130);
}

TEST_F(CliFabrics, a_listener_that_says_nothing_may_be_no_fabric) {
  const RawListener silent;
  Process send(netio_command(
      {"send", "ofi+" + silent.address(), "--count", "1", "--connect-timeout", "7s"}));
  EXPECT_EQ(send.wait(), 1);
  EXPECT_THAT(send.err(), HasSubstr("something that is no netio on this fabric"));
  EXPECT_THAT(send.err(), HasSubstr("ss -ltnp"));
}

TEST_F(CliFabrics, a_port_in_use_is_told_with_how_to_find_who_has_it) {
  Process first(netio_command({"recv", any_fabric_port}));
  Process second(netio_command({"recv", address_of(first)}));
  EXPECT_EQ(second.wait(), 1);
  EXPECT_THAT(second.err(), HasSubstr("ss -ltnp"));
}

TEST_F(CliFabrics, a_killed_receiver_is_told_of_in_the_words_for_tcp) {
  for (const char* const place : {any_port, any_fabric_port}) {
    for (const char* const mode : {"buffered", "unbuffered"}) {
      Process recv(netio_command({"recv", place, "--out", "-"}));
      Process send(netio_command(
          {"send", address_of(recv), "--size", "4KiB", "--mode", mode, "--connect-timeout", "2s"}));
      EXPECT_TRUE(recv.wait_for_out_bytes(4096 * 100)) << recv.err();
      recv.signal(SIGKILL);
      EXPECT_EQ(send.wait(), 3);
      EXPECT_THAT(send.err(), HasSubstr(": closed the connection without a good-bye: it was killed "
                                        "or cut, or gave this side up\n"));
      EXPECT_THAT(send.err(), Not(HasSubstr("linger"))) << "nobody had asked for one";
    }
  }
}

// The loader finds a file of that name which is none of its kind.
TEST_F(CliFabrics, without_libfabric_what_to_install_is_said) {
  const Folder folder;
  (void)folder.write("libfabric.so.1", "no library");
  const auto without = [&folder](Words words) {
    Process::Options command = netio_command(std::move(words));
    command.arguments.insert(command.arguments.begin(),
                             {"/usr/bin/env", "LD_LIBRARY_PATH=" + folder.path("")});
    return command;
  };
  for (const char* const role : {"recv", "send"}) {
    Process process(without({role, any_fabric_port, role[0] == 's' ? "--bind" : "--json"}));
    process.end_input();
    EXPECT_EQ(process.wait(), 1);
    EXPECT_THAT(process.err(), HasSubstr("error: load libfabric: "));
    EXPECT_THAT(process.err(), HasSubstr("package libfabric1"));
  }
  Process info(without({"info"}));
  EXPECT_EQ(info.wait(), 0);
  EXPECT_THAT(info.out(), HasSubstr("package libfabric1"));
  Process recv(without({"recv", any_port}));
  EXPECT_FALSE(address_of(recv).empty()) << "tcp needs no libfabric";
}

}  // namespace
}  // namespace netio::test
