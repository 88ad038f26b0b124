// `netio bench` on a fabric, and the bare libfabric program there, which is the floor.
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/bench_support.hpp"
#include "integration/cli_support.hpp"
#include "support/paths.hpp"
#include "support/raw_tcp.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class BenchFabric : public Bench {
 protected:
  void SetUp() override {
    Bench::SetUp();
    if (!fs::exists(build_folder() / "bench/bench-fabric"))
      GTEST_SKIP() << "built without libfabric";
  }
  // Both systems are measured; the test is skipped where netio knows no such address.
  nlohmann::json compared(Words words) {
    words = quick(std::move(words));
    words.push_back("--json=" + folder_.path("result.json"));
    Process bench(netio_command(words));
    const std::optional<int> code = bench.wait(120s);
    nlohmann::json said = read_json(folder_.path("result.json"));
    EXPECT_GT(said["systems"]["fabric"]["messages_per_s"]["median"].get<double>(), 0);
    if (bench.out().find("no transport 'ofi+tcp'") != std::string::npos) return {};
    EXPECT_EQ(code, 0) << bench.err() << bench.out();
    EXPECT_EQ(said["case"]["scheme"], "ofi+tcp");
    EXPECT_THAT(bench.out(), HasSubstr("control: fabric / fabric"));
    return said;
  }
};

TEST_F(BenchFabric, throughput_is_compared_with_the_floor_there) {
  for (const char* const size : {"64", "64KiB"}) {
    const auto said = compared({"throughput", any_fabric_port, "--rounds", "1", "--size", size,
                                "--window", "16", "--no-check"});
    if (said.is_null()) GTEST_SKIP() << "netio has no ofi+tcp transport here";
    EXPECT_GT(said["ratio"]["fabric"]["messages_per_s"].get<double>(), 0);
  }
}

TEST_F(BenchFabric, latency_is_compared_with_the_floor_there) {
  for (const char* const wait : {"sleep", "spin"}) {
    const auto said =
        compared({"latency", any_fabric_port, "--rounds", "1", "--wait", wait, "--no-check"});
    if (said.is_null()) GTEST_SKIP() << "netio has no ofi+tcp transport here";
    EXPECT_GT(said["ratio"]["fabric"]["rtt_us_p50"].get<double>(), 0);
  }
}

// By a ring of their own, and netio's messages beside them.
TEST_F(BenchFabric, rings_are_compared_with_the_floor_and_with_messages) {
  const std::string ring = std::string(any_fabric_port) + "?engine=ring&slots=4&slot_bytes=64KiB";
  for (const char* const what : {"throughput", "latency"}) {
    const auto said = compared({what, ring, "--rounds", "1", "--size", "64KiB", "--no-check"});
    if (said.is_null()) GTEST_SKIP() << "netio has no ofi+tcp transport here";
    EXPECT_EQ(said["case"]["slots"], 4);
    EXPECT_EQ(said["case"]["slot_bytes"], 64U << 10U);
    for (const char* const system : {"fabric", "messages"}) {
      EXPECT_FALSE(said["ratio"][system].empty()) << system;
    }
  }
}

// What messages carried is not said to be a ring's.
TEST_F(BenchFabric, a_ring_that_cannot_be_had_is_not_measured) {
  if (compared({"throughput", any_fabric_port, "--rounds", "1", "--no-check"}).is_null()) {
    GTEST_SKIP() << "netio has no ofi+tcp transport here";
  }
  for (const char* const what : {"throughput", "latency"}) {
    Process::Options options;
    options.arguments = {"/bin/sh", "-c",
                         "ulimit -v 16000000; exec \"$0\" bench " + std::string(what) +
                             " 'ofi+tcp://127.0.0.1:0?engine=ring&slots=500&slot_bytes=512MiB' "
                             "--against none --seconds 50ms --rounds 1",
                         netio_program()};
    Process bench(std::move(options));
    EXPECT_EQ(bench.wait(), 1) << bench.out();
    EXPECT_THAT(bench.out() + bench.err(), HasSubstr("there is no ring: no ring on this side"));
  }
}

class FabricEnd : public WorkerEnd {
 public:
  explicit FabricEnd(Words words, const std::string& system = "fabric")
      : WorkerEnd(system, words + Words{"--provider", "tcp"}) {}
};

void expect_carried(const Words& how) {
  const Words all = how + Words{"--verify"};
  FabricEnd receiver(Words{"receive"} + all);
  FabricEnd sender(Words{"send", "--port", receiver.port()} + all);
  EXPECT_EQ(sender.hear().at("ready"), true);
  receiver.await_messages(20);
  sender.expect_ends_well();
  receiver.expect_ends_well();
}

void expect_timed(const Words& how) {
  const Words all = how + Words{"--verify"};
  FabricEnd replier(Words{"reply"} + all);
  FabricEnd requester(Words{"request", "--port", replier.port()} + all);
  EXPECT_EQ(requester.hear().at("ready"), true);
  (void)requester.ask("record");
  requester.await_messages(150);
  const auto last = requester.ask("stop");
  EXPECT_EQ(last.at("faults"), 0);
  EXPECT_FALSE(last.at("round_trips").empty());
  replier.expect_ends_well();
}

TEST_F(BenchFabric, the_floor_carries_messages_of_any_size_and_window) {
  for (const Words& how : std::vector<Words>{
           {"--size", "8"},
           {"--size", "129", "--window", "1"},
           {"--size", "4096", "--window", "3", "--wait", "adaptive"},
           {"--size", "65536", "--window", "300"},
           {"--size", "3000000", "--wait", "spin"},
       }) {
    expect_carried(how);
  }
}

TEST_F(BenchFabric, the_floor_times_round_trips) {
  for (const Words& how : std::vector<Words>{{"--wait", "sleep"},
                                             {"--wait", "spin"},
                                             {"--rate", "3000", "--size", "1000"},
                                             {"--size", "1000000", "--rate", "500"}}) {
    expect_timed(how);
  }
}

TEST_F(BenchFabric, the_floor_writes_into_a_ring) {
  for (const Words& how : std::vector<Words>{
           {"--size", "8", "--slots", "1"},
           {"--size", "129", "--slots", "3", "--wait", "adaptive"},
           {"--size", "65536", "--slots", "16", "--slot-bytes", "65536", "--wait", "spin"},
           {"--size", "3000000", "--slots", "2"},
       }) {
    expect_carried(how);
    expect_timed(how);
  }
}

TEST_F(BenchFabric, the_floor_takes_many_connections) {
  FabricEnd receiver({"receive", "--connections", "20"});
  const std::string port = receiver.port();
  FabricEnd first({"send", "--connections", "10", "--port", port});
  FabricEnd second({"send", "--connections", "10", "--connection-first", "10", "--port", port});
  EXPECT_EQ(second.hear().at("ready"), true);
  receiver.await_messages(20'000);
  second.expect_ends_well();
  first.process().end_input();
  receiver.expect_ends_well();
}

// Whoever connected cannot go on; whoever was connected to can.
TEST_F(BenchFabric, the_floor_sees_the_other_end_go) {
  for (const char* const wait : {"sleep", "spin"}) {
    FabricEnd receiver({"receive", "--connections", "2", "--wait", wait});
    const std::string port = receiver.port();
    FabricEnd killed({"send", "--port", port});
    receiver.await_messages(1000);
    killed.process().signal(SIGKILL);
    FabricEnd sender({"send", "--port", port, "--connection-first", "1", "--wait", wait});
    EXPECT_EQ(sender.hear().at("ready"), true);
    receiver.await_messages(1000);
    EXPECT_EQ(receiver.ask("snap").at("faults"), 0);
    receiver.process().signal(SIGKILL);
    EXPECT_THAT(sender.hear().at("error").get<std::string>(), HasSubstr("the other end is gone"));
    EXPECT_EQ(sender.process().wait(), 1);
  }
}

TEST_F(BenchFabric, what_cannot_run_there_says_so) {
  EXPECT_THAT(FabricEnd({"receive"}, "raw").hear().at("error").get<std::string>(),
              HasSubstr("runs over sockets"));
  const RawListener taken;
  const std::string address = taken.address();
  const std::string port = address.substr(address.rfind(':') + 1);
  EXPECT_THAT(FabricEnd({"receive", "--port", port}).hear().at("error").get<std::string>(),
              HasSubstr("ddress already in use"));
  const std::vector<std::pair<Words, std::string>> wrong = {
      {{"receive", "--slots", "4", "--connections", "2"}, "with one connection"},
      {{"receive", "--size", "4097", "--slot-bytes", "4096"}, "larger than a slot"},
  };
  for (const auto& [words, why] : wrong) {
    EXPECT_THAT(FabricEnd(words).hear().at("error").get<std::string>(), HasSubstr(why));
  }
  FabricEnd without({"receive"});
  FabricEnd with({"send", "--slots", "4", "--port", without.port()});
  EXPECT_THAT(with.hear().at("error").get<std::string>(), HasSubstr("the other end has no ring"));
  EXPECT_THAT(FabricEnd({"receive", "--host", "a-name"}).hear().at("error").get<std::string>(),
              HasSubstr("a-name"));
}

}  // namespace
}  // namespace netio::test
