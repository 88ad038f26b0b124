// `netio bench scan`: a point for each value of what is scanned, on every wire, as table, CSV, JSON
// and picture; and what it says of values that cannot be. The figures themselves are not tested.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/bench_support.hpp"

namespace netio::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using namespace std::chrono_literals;

class BenchScan : public Bench {
 protected:
  nlohmann::json scanned(const Words& how, int code = 0) {
    return result_of(Words{"scan", "--rounds", "1"} + how, code);
  }
  static std::vector<std::uint64_t> values(const nlohmann::json& said) {
    std::vector<std::uint64_t> found;
    for (const auto& point : said["points"]) found.push_back(point["value"]);
    return found;
  }
  // At every value netio has moved bytes.
  static void expect_measured(const nlohmann::json& said) {
    EXPECT_EQ(said["complete"], true);
    for (const auto& point : said["points"]) {
      const auto& system = point["systems"]["netio"];
      EXPECT_GT(system["bytes_per_s"]["median"].get<double>(), 0) << point;
      EXPECT_GT(system["cores_in_use"]["median"].get<double>(), 0) << point;
      EXPECT_TRUE(point["failed"].empty()) << point;
    }
  }
};

TEST_F(BenchScan, sizes_are_measured_in_turn_and_written_as_table_csv_json_and_picture) {
  const auto said =
      result_of({"scan", "--rounds", "2", "--values", "64,4KiB..8KiB", "--against", "raw", "--csv",
                 folder_.path("turns.csv"), "--plot", folder_.path("curve.svg")});
  EXPECT_THAT(values(said), ElementsAre(64, 4096, 8192));
  expect_measured(said);
  EXPECT_EQ(said["case"]["parameter"], "size");
  EXPECT_EQ(said["case"]["unit"], "bytes");
  EXPECT_GT(said["points"][1]["ratio"]["raw"]["bytes_per_s"].get<double>(), 0);
  EXPECT_GT(said["control"]["bytes_per_s"]["median"].get<double>(), 0);
  EXPECT_THAT(said_, StartsWith("One way against size over tcp: unbuffered messages, "));
  EXPECT_THAT(said_, HasSubstr("\n4 KiB      raw"));
  EXPECT_THAT(said_, HasSubstr("control: 64 bytes / 64 bytes, netio"));
  EXPECT_THAT(noted_, HasSubstr("size 4 KiB, every byte checked (2 of 11)"));
  // Every other round goes backwards, and begins with the control.
  EXPECT_LT(noted_.find("size 8 KiB, round 2 of 2"), noted_.find("size 64 bytes, round 2 of 2 ("));
  EXPECT_LT(noted_.find("round 2 of 2, as the control"), noted_.find("size 8 KiB, round 2 of 2"));
  std::ifstream file(folder_.path("turns.csv"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 1 + 2 * (3 * 2 + 1U));
  EXPECT_THAT(lines[0], StartsWith("parameter,value,scheme,size_bytes,streams,both_ways,round,"));
  EXPECT_THAT(lines[1], StartsWith("size,64,tcp,64,1,0,1,netio,0,"));
  EXPECT_THAT(lines.back(), StartsWith("size,64,tcp,64,1,0,2,netio,1,"));
  EXPECT_THAT(read_file(folder_.path("curve.svg")), HasSubstr("netio, receiving"));
}

class BenchScanWires : public BenchScan, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    BenchScan::SetUp();
    if (IsSkipped() || std::string_view(GetParam()) != any_fabric_port) return;
    Process info(netio_command({"info"}));
    (void)info.wait();
    if (info.out().find("ofi+tcp://") == std::string::npos) {
      GTEST_SKIP() << "netio has no ofi+tcp transport here";
    }
  }
};

TEST_P(BenchScanWires, both_ways_are_measured) {
  const auto said = scanned({GetParam(), "--both-ways", "--values", "64,64KiB,2MiB"});
  expect_measured(said);
  EXPECT_EQ(said["case"]["both_ways"], true);
  EXPECT_THAT(said_, StartsWith("Both ways (the sum) against size"));
}

TEST_P(BenchScanWires, several_streams_are_measured_together) {
  const auto said =
      scanned({GetParam(), "--parameter", "streams", "--values", "1..3+2", "--size", "64KiB"});
  EXPECT_THAT(values(said), ElementsAre(1, 3));
  EXPECT_EQ(said["points"][1]["case"]["streams"], 3);
  expect_measured(said);
}

TEST_P(BenchScanWires, pages_of_every_size_carry_messages) {
  const auto said = scanned({GetParam(), "--parameter", "page_bytes", "--values", "4KiB,4MiB"});
  expect_measured(said);
  EXPECT_EQ(said["points"][1]["case"]["page_bytes"], 4U << 20U);
  EXPECT_THAT(said_, HasSubstr("buffered messages of 64 bytes"));
}

TEST_P(BenchScanWires, round_trips_are_timed) {
  const auto said = scanned(
      {GetParam(), "--round-trips", "--values", "64,1MiB", "--plot", folder_.path("trips.png")});
  for (const auto& point : said["points"]) {
    const auto& times = point["systems"]["netio"]["rtt_us"];
    EXPECT_GT(times["p50"]["median"].get<double>(), 0);
    EXPECT_LE(times["p50"]["median"], times["p99"]["median"]);
  }
  EXPECT_THAT(said_, HasSubstr("p50 us"));
  EXPECT_THAT(read_file(folder_.path("trips.png")), StartsWith("\x89PNG"));
}

// If so few arrive in the time, it is extended until some have.
TEST_P(BenchScanWires, messages_of_hundreds_of_megabytes_are_measured) {
  const auto said = scanned({GetParam(), "--values", "256MiB", "--no-check"});
  expect_measured(said);
}

INSTANTIATE_TEST_SUITE_P(Wires, BenchScanWires,
                         testing::Values("tcp://127.0.0.1:0", "shm://*", any_fabric_port),
                         [](const auto& row) {
                           const std::string address = row.param;
                           return address.starts_with("ofi") ? "ofi_tcp" : address.substr(0, 3);
                         });

class BenchScanFabric : public BenchScanWires {};

TEST_P(BenchScanFabric, a_value_that_the_address_refuses_leaves_the_others) {
  const auto said =
      scanned({GetParam(), "--parameter", "window", "--values", "1,8,16", "--no-check"}, 1);
  EXPECT_EQ(said["complete"], true);
  EXPECT_THAT(said["points"][0]["failed"]["netio"].get<std::string>(), HasSubstr("window is '1'"));
  EXPECT_THAT(said_, HasSubstr("FAILED 1: netio"));
  for (const std::size_t at : {1U, 2U}) {
    EXPECT_GT(said["points"][at]["systems"]["netio"]["bytes_per_s"]["median"].get<double>(), 0);
  }
}

// What the address says of its ring is passed on.
TEST_P(BenchScanFabric, slots_are_parameters_of_the_address) {
  const auto said = scanned({GetParam(), "--parameter", "slots", "--values", "1,4", "--slot-bytes",
                             "64KiB", "--size", "64KiB"});
  ASSERT_EQ(said["points"].size(), 2U);
  EXPECT_EQ(said["points"][1]["case"]["slots"], 4);
  EXPECT_EQ(said["points"][1]["case"]["slot_bytes"], 64U << 10U);
  expect_measured(said);
}

TEST_P(BenchScanFabric, messages_fill_their_slot_unless_they_have_a_size) {
  const auto blocks = scanned({GetParam(), "--parameter", "slot_bytes", "--values", "4KiB,128KiB"});
  ASSERT_EQ(blocks["points"].size(), 2U);
  EXPECT_EQ(blocks["points"][0]["case"]["size_bytes"], 4U << 10U);
  EXPECT_EQ(blocks["points"][1]["case"]["size_bytes"], 128U << 10U);
  EXPECT_THAT(said_, HasSubstr("messages as large as a slot"));
  expect_measured(blocks);
  const auto slots = scanned({std::string(GetParam()) + "?engine=ring&slot_bytes=32KiB",
                              "--parameter", "slots", "--values", "2", "--no-check"});
  EXPECT_EQ(slots["points"][0]["case"]["size_bytes"], 32U << 10U);
  expect_measured(slots);
}

// A ring that the options ask for is that of the peers, too.
TEST_P(BenchScanFabric, peers_are_measured_with_the_same_ring) {
  const auto said = scanned({GetParam(), "--slots", "4", "--slot-bytes", "64KiB", "--values",
                             "64KiB", "--against", "fabric,messages", "--no-check"});
  const auto& point = said["points"][0];
  EXPECT_EQ(point["case"]["slots"], 4);
  for (const char* const system : {"netio", "fabric", "messages"}) {
    EXPECT_GT(point["systems"][system]["bytes_per_s"]["median"].get<double>(), 0) << system;
  }
}

TEST_P(BenchScanFabric, when_the_address_refuses_every_value_nothing_is_measured) {
  Process bench(netio_command(quick({"scan", GetParam(), "--parameter", "window", "--values", "1,2",
                                     "--rounds", "1", "--size", "64KiB"})));
  EXPECT_EQ(bench.wait(120s), 1);
  EXPECT_THAT(bench.out(), HasSubstr("window is '2'"));
  EXPECT_THAT(bench.out(), HasSubstr("INCOMPLETE: 0 of 1 rounds"));
  EXPECT_THAT(bench.err(), Not(HasSubstr("round 1 of 1"))) << "nothing was left to measure";
}

INSTANTIATE_TEST_SUITE_P(Wires, BenchScanFabric, testing::Values(any_fabric_port),
                         [](const auto&) { return "ofi_tcp"; });

TEST_F(BenchScan, says_on_which_kind_of_machine_it_was) {
  const auto said = scanned({"--values", "64", "--no-check"});
  const auto& machine = said["machine"];
  EXPECT_TRUE(machine["emulated"].is_boolean());
  EXPECT_EQ(machine["virtual"], machine["hypervisor"] != "");
  EXPECT_TRUE(machine["software_rdma"].empty()) << "tcp uses no RDMA device";
  EXPECT_EQ(said_.find("EMULATED") != std::string::npos, machine["emulated"]);
}

TEST_F(BenchScan, messages_that_the_memory_cannot_hold_are_left_out_at_once) {
  std::ifstream file("/proc/meminfo");
  std::uint64_t kib = 0;
  for (std::string name, unit; file >> name >> kib && name != "MemAvailable:";) {
    std::getline(file, unit);
  }
  constexpr std::uint64_t wanted_kib = std::uint64_t{64 * 2 * 4} << 20U;
  if (kib >= wanted_kib) GTEST_SKIP() << "this machine has 512 GiB";
  const auto said = scanned({"--values", "1GiB", "--streams", "64", "--both-ways"}, 1);
  EXPECT_THAT(said["points"][0]["failed"]["netio"].get<std::string>(), HasSubstr("are free here"));
  EXPECT_THAT(said_, HasSubstr("FAILED 1 GiB: both ends take up to"));
}

TEST_F(BenchScan, an_interrupted_run_reports_whole_rounds_and_leaves_no_process) {
  Process bench(
      netio_command({"bench", "scan", "--parameter", "streams", "--values", "1,2", "--rounds", "50",
                     "--seconds", "50ms", "--no-check", "--size", "64KiB",
                     "--json=" + folder_.path("result.json"), "--csv", folder_.path("turns.csv")}));
  ASSERT_TRUE(bench.wait_for_err("round 3 of 50")) << bench.err();
  await_process_below(bench.pid(), "bench-netio");
  const std::vector<pid_t> workers = processes_below(bench.pid(), "bench-netio");
  bench.signal(SIGINT);
  EXPECT_EQ(bench.wait(20s), 130);
  const auto said = read_json(folder_.path("result.json"));
  EXPECT_EQ(said["complete"], false);
  EXPECT_THAT(bench.out(), HasSubstr("INCOMPLETE: "));
  for (const auto& point : said["points"]) {
    EXPECT_EQ(point["case"]["rounds"], said["case"]["rounds"]);
  }
  for (const pid_t worker : workers) EXPECT_NE(::kill(worker, 0), 0) << "a worker was left";
}

// A value is one attempt: the others are measured all the same.
TEST_F(BenchScan, an_end_that_dies_is_named) {
  Process bench(
      netio_command({"bench", "scan", "--values", "64,4KiB", "--streams", "2", "--rounds", "1",
                     "--seconds", "2s", "--no-check", "--json=" + folder_.path("result.json")}));
  // The first receiver: when the second has been started, the first sender is connected.
  std::vector<pid_t> workers;
  for (int i = 0; i < 6000 && workers.size() < 3; ++i) {
    std::this_thread::sleep_for(5ms);
    workers = processes_below(bench.pid(), "bench-netio");
  }
  ASSERT_GE(workers.size(), 3U) << bench.err();
  ::kill(*std::min_element(workers.begin(), workers.end()), SIGKILL);
  EXPECT_EQ(bench.wait(60s), 1) << bench.err();
  const auto said = read_json(folder_.path("result.json"));
  EXPECT_THAT(said["points"][0]["failed"]["netio"].get<std::string>(),
              HasSubstr("killed by signal 9"));
  EXPECT_GT(said["points"][1]["systems"]["netio"]["bytes_per_s"]["median"].get<double>(), 0);
}

TEST_F(BenchScan, what_makes_no_sense_is_a_usage_error) {
  const std::vector<std::pair<Words, std::string>> wrong = {
      {{"--parameter", "tags"}, "none of slot_bytes, slots"},
      {{"--values", ""}, "is not a number of bytes"},
      {{"--values", "64,,1KiB"}, "is not a number of bytes"},
      {{"--values", "64KiB..4KiB"}, "goes down"},
      {{"--values", "64..1KiB+0"}, "steps of 0"},
      {{"--values", "64,1KiB,0.0625KiB"}, "have 64 bytes twice"},
      {{"--values", "4"}, "size is 8 bytes to 1 GiB"},
      {{"--values", "2GiB"}, "size is 8 bytes to 1 GiB"},
      {{"--values", "1KiB..1GiB+1KiB"}, "64 at most"},
      {{"--size", "64"}, "is what is scanned"},
      {{"--parameter", "streams", "--size", "64,128"}, "is one size here"},
      {{"--parameter", "streams", "--values", "0"}, "streams is 1 to 64"},
      {{"--parameter", "page_bytes", "--values", "5000"}, "multiple of 4 KiB"},
      {{"--page-bytes", "32MiB"}, "page_bytes is 4 KiB to 16 MiB"},
      {{"--parameter", "page_bytes", "--against", "raw"}, "no peer has it"},
      {{any_fabric_port, "--parameter", "slots", "--values", "0"}, "slots is 1 to"},
      {{"--parameter", "slots"}, "slots are those of a ring on a fabric; tcp"},
      {{"shm://*", "--slot-bytes", "1MiB"}, "slots are those of a ring on a fabric; shm"},
      {{"--parameter", "window", "--values", "8"}, "--window is for fabrics"},
      {{"--both-ways", "--against", "raw"}, "of netio alone"},
      {{"--both-ways", "--round-trips"}, "excludes"},
      {{"inproc://here", "--streams", "2"}, "between processes"},
      {{"inproc://here", "--both-ways"}, "between processes"},
      {{"tcp://127.0.0.1:5600", "--streams", "2"}, "cannot have one port"},
      {{"--plot", "picture.gif"}, ".svg or .png"},
  };
  for (const auto& [words, text] : wrong) {
    Process bench(netio_command(quick(Words{"scan"} + words)));
    EXPECT_EQ(bench.wait(), 2) << text;
    EXPECT_THAT(bench.err() + bench.out(), HasSubstr(text));
  }
  Process unwritable(netio_command(quick({"scan", "--csv", "/no/such/turns.csv"})));
  EXPECT_EQ(unwritable.wait(), 1);
  EXPECT_THAT(unwritable.err(), HasSubstr("cannot write /no/such/turns.csv"));
}

// What is scanned gets to the context and the address of an end.
TEST_F(BenchScan, ends_use_the_pages_and_slots_that_they_are_told) {
  WorkerEnd paged("netio", {"receive", "--page-bytes", "5000"});
  EXPECT_THAT(paged.hear().at("error").get<std::string>(), HasSubstr("page_bytes is 5000"));
  WorkerEnd ring("netio", {"receive", "--slots", "4", "--slot-bytes", "4096"});
  EXPECT_THAT(ring.hear().at("error").get<std::string>(),
              HasSubstr("?engine=ring&slot_bytes=4096&slots=4"))
      << "tcp has no ring";
}

// An end of another system does not take for granted what only netio can do.
TEST_F(BenchScan, ends_of_peers_refuse_what_they_do_not_know) {
  for (const Words& how :
       std::vector<Words>{{"--page-bytes", "4096"}, {"--slots", "4"}, {"--both-ways"}}) {
    WorkerEnd end("raw", Words{"receive"} + how);
    EXPECT_THAT(end.hear().at("error").get<std::string>(), HasSubstr("raw has no --"));
    EXPECT_EQ(end.process().wait(), 1);
  }
}

}  // namespace
}  // namespace netio::test
