// Where others reach a peer that listens on all interfaces.
#include "units/reachable_address.hpp"

#include <gtest/gtest.h>

#include <netio/status.hpp>

namespace netio::detail {
namespace {

TEST(ReachableAddress, has_the_host_of_the_peer_in_place_of_all_interfaces) {
  const std::string peer = "tcp://10.1.2.3:40000";
  EXPECT_EQ(reachable_address("tcp://0.0.0.0:7001", peer), "tcp://10.1.2.3:7001");
  EXPECT_EQ(reachable_address("tcp://[::]:7001", peer), "tcp://10.1.2.3:7001");
  EXPECT_EQ(reachable_address("netio://*:7001", peer), "netio://10.1.2.3:7001");
  EXPECT_EQ(reachable_address("ofi+tcp://0.0.0.0:7001", "tcp://[fd00::5]:40000"),
            "ofi+tcp://[fd00::5]:7001");
}

TEST(ReachableAddress, is_the_address_itself_if_it_names_a_host_or_none) {
  const std::string peer = "tcp://10.1.2.3:40000";
  EXPECT_EQ(reachable_address("tcp://10.9.9.9:7001", peer), "tcp://10.9.9.9:7001");
  EXPECT_EQ(reachable_address("shm://builder", peer), "shm://builder");
  EXPECT_EQ(reachable_address("tcp://0.0.0.0:7001", "shm://manager"), "tcp://0.0.0.0:7001");
  EXPECT_EQ(reachable_address("tcp://0.0.0.0:7001", "tcp://(unknown address)"),
            "tcp://0.0.0.0:7001");
}

TEST(ReachableAddress, that_makes_no_sense_is_an_error) {
  EXPECT_THROW((void)reachable_address("builder", "tcp://10.1.2.3:40000"), Error);
  EXPECT_THROW((void)reachable_address("tcp://host", "tcp://10.1.2.3:40000"), Error);
}

}  // namespace
}  // namespace netio::detail
