// `netio bench build`: events are built in processes, every fragment is accounted for, and plain
// streams are measured beside. The figures themselves are not tested.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/bench_support.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class BenchBuild : public Bench {
 protected:
  nlohmann::json built(const Words& how) {
    return result_of(Words{"build", "--rounds", "1"} + how);
  }
  static double median(const nlohmann::json& said, const char* system, const char* what) {
    return said["systems"][system][what]["median"].get<double>();
  }
};

TEST_F(BenchBuild, events_are_compared_with_plain_streams) {
  for (const char* const wire : {"tcp", "shm"}) {
    const auto said = built({"--wire", wire, "--readouts", "2", "--range", "16"});
    EXPECT_EQ(said["complete"], true) << said_;
    EXPECT_TRUE(said["failed"].empty()) << said_;
    EXPECT_EQ(said["case"]["scheme"], wire);
    EXPECT_EQ(said["case"]["readouts"], 2);
    EXPECT_EQ(said["case"]["builders"], 2);
    EXPECT_EQ(said["case"]["range_events"], 16);
    EXPECT_EQ(said["case"]["size_bytes"], 10240);
    for (const char* const name : {"netio", "plain"}) {
      for (const char* const what :
           {"messages_per_s", "bytes_per_s", "events_per_s", "readout_cpu_ns_per_message",
            "builder_cpu_ns_per_message", "time_us_p50", "time_us_p99", "builder_share_most",
            "builder_resident_bytes_max"}) {
        EXPECT_GT(median(said, name, what), 0) << wire << name << what;
      }
      EXPECT_LE(median(said, name, "time_us_p50"), median(said, name, "time_us_p99"));
    }
    EXPECT_GT(median(said, "netio", "builder_open_bytes_max"), 0);
    EXPECT_EQ(median(said, "plain", "builder_open_bytes_max"), 0);
    EXPECT_GT(said["ratio"]["plain"]["messages_per_s"].get<double>(), 0);
    EXPECT_GT(said["control"]["bytes_per_s"]["median"].get<double>(), 0);
    EXPECT_THAT(said_, HasSubstr("2 read-out units, 2 builders, 16 events a range"));
    EXPECT_THAT(noted_, HasSubstr("every byte checked"));
  }
}

TEST_F(BenchBuild, an_event_manager_is_measured_beside) {
  for (const char* const wire : {"tcp", "shm"}) {
    const auto said = built({"--wire", wire, "--managed", "--readouts", "2", "--range", "16",
                             "--unit-window", "256KiB", "--csv", folder_.path("turns.csv")});
    EXPECT_EQ(said["complete"], true) << said_;
    EXPECT_TRUE(said["failed"].empty()) << said_;
    EXPECT_EQ(said["case"]["managed"], true);
    for (const char* const what :
         {"events_per_s", "readout_cpu_ns_per_message", "builder_cpu_ns_per_message", "time_us_p50",
          "builder_open_bytes_max", "manager_cpu_ns_per_range", "manager_cpu_ns_per_event"}) {
      EXPECT_GT(median(said, "managed", what), 0) << wire << what;
    }
    EXPECT_GE(median(said, "managed", "manager_ranges_settled"), 5);
    EXPECT_GT(median(said, "managed", "manager_cpu_ns_per_range"),
              median(said, "managed", "manager_cpu_ns_per_event"));
    EXPECT_LE(median(said, "managed", "builder_open_bytes_max"), 2 * (256 << 10U));
    EXPECT_FALSE(said["systems"]["netio"].contains("manager_cpu_ns_per_range"));
    for (const char* const other : {"plain", "netio"}) {
      EXPECT_GT(said["managed_ratio"][other]["messages_per_s"].get<double>(), 0);
    }
    EXPECT_THAT(said_, HasSubstr("managed / netio"));
    EXPECT_THAT(said_, HasSubstr("(of 512 KiB in 2 windows)"));
    EXPECT_THAT(said_, HasSubstr("of CPU for a range that was settled"));
    std::ifstream file(folder_.path("turns.csv"));
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    ASSERT_EQ(lines.size(), 5U);
    EXPECT_THAT(lines[3], StartsWith("10240,1,managed,"));
  }
}

// With fewer than five ranges the CPU of the manager says nothing.
TEST_F(BenchBuild, a_manager_that_had_nothing_to_do_is_no_result) {
  const auto said = result_of({"build", "--managed", "--rounds", "1", "--no-check", "--rate", "100",
                               "--readouts", "2", "--range", "256"},
                              1);
  EXPECT_EQ(said["complete"], false);
  EXPECT_THAT(said["failed"]["netio"].get<std::string>(), HasSubstr("give a shorter --range"));
}

TEST_F(BenchBuild, each_process_may_have_a_network_of_its_own) {
  const auto said = built({"--namespaces", "--managed", "--credit", "4", "--no-check", "--readouts",
                           "2", "--range", "16"});
  if (said.contains("skipped")) GTEST_SKIP() << said["skipped"];
  EXPECT_EQ(said["complete"], true) << said_;
  EXPECT_EQ(said["case"]["namespaces"], true);
  EXPECT_EQ(said["case"]["credit"], 4);
  for (const char* const name : {"netio", "managed", "plain"}) {
    EXPECT_GT(median(said, name, "events_per_s"), 0) << name;
  }
  EXPECT_THAT(said_, HasSubstr("over tcp between network namespaces"));
}

TEST_F(BenchBuild, several_sizes_are_measured_at_a_rate_and_written_as_csv) {
  const auto said = built({"--size", "16,300KiB", "--builders", "1", "--readouts", "2", "--rate",
                           "100", "--no-check", "--csv", folder_.path("turns.csv")});
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[0]["case"]["size_bytes"], 16);
  EXPECT_EQ(said[1]["case"]["size_bytes"], 300 << 10U);
  for (const auto& of_size : said) {
    EXPECT_EQ(of_size["case"]["rate_per_s"], 100);
    EXPECT_GT(median(of_size, "netio", "events_per_s"), 0);
    // Without a pace it would be tens of thousands; with one, units that were held up catch up.
    EXPECT_LT(median(of_size, "netio", "events_per_s"), 600) << said_;
    EXPECT_EQ(median(of_size, "netio", "builder_share_least"), 1);
  }
  std::ifstream file(folder_.path("turns.csv"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 7U);
  EXPECT_THAT(lines[0], StartsWith("size_bytes,round,system,messages_per_s,"));
  EXPECT_THAT(lines[1], StartsWith("16,1,plain,"));
  EXPECT_THAT(lines[2], StartsWith("16,1,netio,"));
  EXPECT_THAT(lines[6], StartsWith("307200,1,plain,"));
}

TEST_F(BenchBuild, a_small_store_and_window_hold_the_units_back) {
  const auto said = built({"--readouts", "2", "--store", "1MiB", "--unit-window", "64KiB"});
  EXPECT_EQ(said["complete"], true) << said_;
  EXPECT_LE(median(said, "netio", "builder_open_bytes_max"), 2 * (64 << 10U));
}

TEST_F(BenchBuild, what_cannot_be_measured_is_a_usage_error) {
  const std::vector<std::pair<Words, std::string>> wrong = {
      {{"inproc://here"}, "between processes"},
      {{"tcp://127.0.0.1:5600"}, "several builders cannot have one port"},
      {{"--size", "8"}, "16 bytes at least"},
      {{"--readouts", "0"}, "1 to 64"},
      {{"--builders", "65"}, "1 to 64"},
      {{"--range", "0"}, "is 1 to"},
      {{"--rate", "1GB/s"}, "events a second"},
      {{"--wire", "shm", "--namespaces"}, "are for tcp"},
      {{"--credit", "4"}, "requires --managed"},
      {{"--wire", "verbs"}, "needs an address"},
      {{"--wire", "shm", "tcp://127.0.0.1:0"}, "excludes"},
      {{"--remote", "tcp://127.0.0.1:5600"}, "--remote"},
  };
  for (const auto& [words, text] : wrong) {
    Process bench(netio_command(quick(Words{"build"} + words)));
    EXPECT_EQ(bench.wait(), 2) << text;
    EXPECT_THAT(bench.err() + bench.out(), HasSubstr(text));
  }
}

// A unit that was left out is waited for, and what has come of its events is no event yet.
TEST_F(BenchBuild, a_build_end_counts_only_what_is_whole) {
  const Words plan = {"--readouts", "2", "--builders", "1"};
  WorkerEnd builder("netio", Words{"build", "--connections", "2"} + plan);
  const std::string port = builder.port();
  WorkerEnd first("netio", Words{"readout", "--ports", port, "--number", "0"} + plan);
  EXPECT_EQ(first.hear().at("ready"), true);
  (void)first.ask("record");
  first.await_messages(100);
  EXPECT_EQ(builder.ask("snap").at("events"), 0);
  WorkerEnd second("netio", Words{"readout", "--ports", port, "--number", "1"} + plan);
  EXPECT_EQ(second.hear().at("ready"), true);
  (void)second.ask("record");
  builder.await_messages(200);
  first.process().feed("stop\n");
  for (WorkerEnd* const unit : {&second, &first}) {
    const auto last = unit == &first ? unit->hear() : unit->ask("stop");
    EXPECT_EQ(last.at("sent"), last.at("settled"));
    EXPECT_EQ(last.at("lost"), 0);
  }
  const auto last = builder.ask("stop");
  EXPECT_EQ(last.at("faults"), 0);
  EXPECT_EQ(last.at("incomplete"), 0);
  EXPECT_EQ(last.at("open"), 0);
}

}  // namespace
}  // namespace netio::test
