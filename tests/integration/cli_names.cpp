// The names at which a command listens: those that come later, and those that no other host
// reaches.
#include <csignal>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/cli_support.hpp"
#include "support/in_a_child.hpp"
#include "support/own_hosts.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;

TEST(CliNames, a_command_waits_for_the_name_at_which_it_listens) {
  const int code = in_a_child([] {
    OwnHosts own;
    if (!own.enter("127.0.0.1 localhost\n")) return not_possible;
    Process recv(
        netio_command({"recv", "tcp://comes-later:0", "--count", "1", "--connect-timeout", "20s"}));
    if (!recv.wait_for_err("there is no host named 'comes-later'")) return 1;
    if (!own.add("127.0.0.1 comes-later\n")) return 2;
    const auto bound = recv.line_after("netio recv: listening on ");
    if (!bound) return 3;
    Process send(netio_command({"send", *bound, "--count", "1"}));
    if (send.wait() != 0) return 4;
    return recv.wait() == 0 ? 0 : 5;
  });
  if (code == not_possible) GTEST_SKIP() << "no hosts file of one's own here";
  EXPECT_EQ(code, 0);
}

TEST(CliNames, a_command_that_waits_for_its_name_ends_with_ctrl_c_or_in_time) {
  Process recv(netio_command({"recv", "tcp://no-such-host.invalid:0"}));
  EXPECT_TRUE(recv.wait_for_err("there is no host named")) << recv.err();
  recv.signal(SIGINT);
  EXPECT_EQ(recv.wait(), 130) << recv.err();
  Process late(
      netio_command({"recv", "tcp://no-such-host.invalid:0", "--connect-timeout", "100ms"}));
  EXPECT_EQ(late.wait(), 1) << late.err();
  EXPECT_THAT(late.err(), HasSubstr("bind a numeric address of this host"));
}

// As Debian does with the name of the host itself.
TEST(CliNames, a_name_that_no_other_host_reaches_is_noted) {
  const int code = in_a_child([] {
    OwnHosts own;
    if (!own.enter("127.0.0.1 localhost\n127.0.1.1 this-host\n")) return not_possible;
    Process recv(netio_command({"recv", "tcp://this-host:0"}));
    if (!recv.wait_for_err("tcp://this-host:0 is reached from this host alone")) return 1;
    if (!recv.line_after("netio recv: listening on tcp://127.0.1.1:")) return 2;
    Process local(netio_command({"recv", "tcp://localhost:0"}));
    if (!local.line_after("netio recv: listening on tcp://127.0.0.1:")) return 3;
    return local.err().find("is reached from") == std::string::npos ? 0 : 4;
  });
  if (code == not_possible) GTEST_SKIP() << "no hosts file of one's own here";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace netio::test
