// `netio bench relay`: each relay carries messages, in order, and netio's is held against the
// others. The figures themselves are not tested.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/bench_support.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;

class BenchRelay : public Bench {
 protected:
  // In JSON; every byte is checked, too.
  nlohmann::json relayed(const Words& how, const std::vector<std::string>& against) {
    std::string names;
    for (const std::string& name : against) names += (names.empty() ? "" : ",") + name;
    auto said = result_of(Words{"relay", "--rounds", "1", "--against", names} + how);
    for (const std::string& name : against) {
      EXPECT_GT(said["systems"][name]["messages_per_s"]["median"].get<double>(), 0) << name;
      EXPECT_GT(said["ratio"][name]["messages_per_s"].get<double>(), 0) << name;
    }
    EXPECT_GT(said["control"]["messages_per_s"]["median"].get<double>(), 0);
    return said;
  }
};

TEST_F(BenchRelay, is_compared_with_bare_sockets_and_with_a_proxy) {
  std::vector<std::string> others = {"raw", "released"};
  if (fs::exists(build_folder() / "bench/bench-zmq")) {
    others.insert(others.end(), {"zmq", "zmq-defaults", "zmq-2-threads"});
  }
  const auto said = relayed({}, others);
  EXPECT_GT(said["systems"]["netio"]["relay_cpu_ns_per_message"]["median"].get<double>(), 0);
  EXPECT_TRUE(said["systems"]["netio"].contains("relay_copies_per_message"));
  EXPECT_FALSE(said["systems"]["raw"].contains("relay_copies_per_message"));
  EXPECT_THAT(said_, HasSubstr("A relay from tcp to tcp, buffered messages of 64 bytes"));
}

TEST_F(BenchRelay, is_compared_with_memory_of_its_own_between_two_kinds_of_wire) {
  const Words how = {"--to", "shm://*", "--size", "64KiB", "--mode", "unbuffered"};
  const auto said = relayed(how, {"own", "direct"});
  EXPECT_EQ(said["case"]["to_scheme"], "shm");
  EXPECT_FALSE(said["systems"]["direct"].contains("relay_copies_per_message"));
}

TEST_F(BenchRelay, refuses_what_it_cannot_measure) {
  for (const auto& [words, why] : std::vector<std::pair<Words, std::string>>{
           {{"--against", "nng"}, "nng is no relay that can be measured"},
           {{"--against", "raw", "--to", "shm://*"}, "raw relays from tcp to tcp only"},
           {{"inproc://*"}, "a relay is measured between processes"}}) {
    Process bench(netio_command(Words{"bench", "relay"} + words));
    EXPECT_EQ(bench.wait(), 2);
    EXPECT_THAT(bench.err(), HasSubstr(why));
  }
}

}  // namespace
}  // namespace netio::test
