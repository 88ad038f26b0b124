// libfabric in the process of a command: there only where a fabric is used, missed with a reason
// where it is not installed, and of no effect on signals.
#include <csignal>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/cli_support.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* on_fabric = "ofi+tcp://127.0.0.1:0";

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
  Process on_libfabric(netio_command({"recv", on_fabric}));
  ASSERT_FALSE(address_of(on_libfabric).empty());
  EXPECT_THAT(maps_of(on_libfabric), HasSubstr("libfabric"));
}

// Libraries of its providers take signals as they load.
TEST_F(CliFabrics, an_interrupt_is_answered_with_libfabric_in_the_process) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Process recv(netio_command({"recv", on_fabric}));
    ASSERT_FALSE(address_of(recv).empty());
    recv.signal(signal);
    EXPECT_EQ(recv.wait(), 130);
    EXPECT_THAT(recv.out(), HasSubstr("interrupted"));
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
    Process process(without({role, on_fabric, role[0] == 's' ? "--bind" : "--json"}));
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
