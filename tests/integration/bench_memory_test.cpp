// `netio bench` in shared memory and between threads of one process: what it reports, and that its
// floor there carries, checks and ends. The figures themselves are not tested.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/bench_support.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;

class BenchMemory : public Bench {};

// Those that run there and are built.
std::vector<std::string> systems() {
  std::vector<std::string> names = {"netio", "raw", "zmq", "nng"};
  if (fs::exists(build_folder() / "bench/bench-ucx")) names.emplace_back("ucx");
  return names;
}

TEST_F(BenchMemory, shared_memory_is_compared_with_the_floor_there_and_with_peers) {
  for (const Words& how :
       std::vector<Words>{{"shm://*"}, {"inproc://*", "--size", "64KiB", "--mode", "unbuffered"}}) {
    const auto said = result_of(Words{"throughput", "--rounds", "1"} + how);
    for (const std::string& name : systems()) {
      const auto& system = said["systems"][name];
      EXPECT_GT(system["messages_per_s"]["median"].get<double>(), 0) << how[0] << name;
      EXPECT_GT(system["cpu_ns_per_message"]["median"].get<double>(), 0) << how[0] << name;
    }
    EXPECT_GT(said["control"]["messages_per_s"]["median"].get<double>(), 0);
  }
}

TEST_F(BenchMemory, round_trips_in_memory_are_timed_in_both_loops) {
  const auto expect_times = [this](const Words& words, const std::vector<std::string>& names) {
    const auto said = result_of(words);
    for (const std::string& name : names) {
      ASSERT_TRUE(said["systems"].contains(name)) << name;
      EXPECT_GT(said["systems"][name]["rtt_us"]["p50"]["median"].get<double>(), 0) << name;
    }
  };
  expect_times({"latency", "shm://*", "--rounds", "1"}, systems());
  expect_times({"latency", "inproc://*", "--rounds", "1", "--rate", "5k"}, systems());
  // Spinning peers with threads of their own stand still for long on a machine that is busy.
  for (const char* const address : {"shm://*", "inproc://*"}) {
    expect_times({"latency", address, "--rounds", "1", "--wait", "spin", "--against", "raw"},
                 {"netio", "raw"});
  }
}

TEST_F(BenchMemory, many_connections_and_idle_pairs_are_measured_in_memory) {
  const auto said =
      result_of({"connections", "shm://*", "--count", "9", "--rounds", "1", "--against", "raw"});
  EXPECT_EQ(said["systems"]["netio"]["connected"], 9);
  EXPECT_GT(said["ratio"]["raw"]["messages_per_s"].get<double>(), 0);
  const auto apart = result_of({"idle", "shm://*"});
  EXPECT_TRUE(apart.contains("sender") && apart.contains("receiver"));
  EXPECT_GE(apart["core_percent_max"].get<double>(), 0);
  EXPECT_TRUE(result_of({"idle", "inproc://*"}).contains("both"));
}

TEST_F(BenchMemory, untouched_loans_are_timed_by_their_size) {
  const auto said =
      result_of({"loan", "shm://*", "--rounds", "1", "--size", "1MiB,64", "--no-check"});
  EXPECT_EQ(said["case"]["touch"], "none");
  EXPECT_EQ(said["case"]["wait"], "spin");
  EXPECT_EQ(said["complete"], true);
  ASSERT_EQ(said["sizes"].size(), 2U);
  EXPECT_EQ(said["sizes"][0]["size_bytes"], 64) << "the smallest is first";
  for (const auto& size : said["sizes"]) {
    const auto& times = size["rtt_us_p50"];
    EXPECT_GT(times["min"].get<double>(), 0);
    EXPECT_DOUBLE_EQ(size["one_way_us"].get<double>(), times["median"].get<double>() / 2);
  }
  EXPECT_GT(said["ratio"]["smallest"]["rtt_us_p50"].get<double>(), 0);
  EXPECT_GT(said["control"]["rtt_us_p50"]["median"].get<double>(), 0);
  EXPECT_THAT(said_, HasSubstr("1 MiB / 64 bytes"));
}

TEST_F(BenchMemory, written_and_read_loans_are_compared_with_the_floor) {
  const auto said = result_of(
      {"loan", "inproc://*", "--touch", "all", "--rounds", "1", "--against", "raw", "--no-check"});
  EXPECT_EQ(said["case"]["what"], "loan");
  EXPECT_EQ(said["case"]["touch"], "all");
  EXPECT_EQ(said["case"]["wait"], "sleep");
  EXPECT_EQ(said["case"]["size_bytes"], 64U << 10U);
  EXPECT_GT(said["systems"]["netio"]["bytes_per_s"]["median"].get<double>(), 0);
  EXPECT_GT(said["ratio"]["raw"]["bytes_per_s"].get<double>(), 0);
  EXPECT_GT(said["control"]["messages_per_s"]["median"].get<double>(), 0);
  EXPECT_THAT(said_, HasSubstr("loans, written and read"));
}

TEST_F(BenchMemory, the_floor_carries_messages_of_any_size) {
  for (const Words& how : std::vector<Words>{
           {"--size", "8"},
           {"--size", "61", "--wait", "spin"},
           {"--size", "4096", "--wait", "adaptive"},
           {"--size", "65536", "--mode", "unbuffered"},
           {"--size", "3000000"},
       }) {
    const Words all = how + Words{"--verify"};
    MemoryEnd receiver(Words{"receive"} + all);
    EXPECT_EQ(receiver.hear().at("ready"), true);
    MemoryEnd sender(Words{"send"} + all);
    EXPECT_EQ(sender.hear().at("ready"), true);
    receiver.await_messages(100);
    sender.expect_ends_well();
    receiver.expect_ends_well();
  }
}

TEST_F(BenchMemory, the_floor_sees_what_came_out_of_order) {
  MemoryEnd receiver({"receive"});
  EXPECT_EQ(receiver.hear().at("ready"), true);
  MemoryEnd sender({"send", "--connection-first", "1"});  // a number that is not expected
  EXPECT_EQ(sender.hear().at("ready"), true);
  receiver.await_messages(100);
  EXPECT_GT(receiver.ask("snap").at("faults"), 0);
}

// nng ends a request whose answer does not come in time: what a busy machine does, a stop does too.
TEST_F(BenchMemory, requests_of_nng_survive_an_answer_that_is_late) {
  if (!fs::exists(build_folder() / "bench/bench-nng")) GTEST_SKIP() << "built without nng";
  MemoryEnd replier({"reply", "--verify"}, "nng");
  EXPECT_EQ(replier.hear().at("ready"), true);
  MemoryEnd requester({"request", "--verify"}, "nng");
  EXPECT_EQ(requester.hear().at("ready"), true);
  requester.await_messages(10);
  replier.process().signal(SIGSTOP);
  const auto count = [&] { return requester.ask("snap").at("messages").get<std::uint64_t>(); };
  // Until nothing has come for longer than a wait for an answer may take.
  for (std::uint64_t last = count() - 1; last != count(); last = count()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  replier.process().signal(SIGCONT);
  requester.await_messages(10);
  requester.expect_ends_well();
  replier.expect_ends_well();
}

TEST_F(BenchMemory, one_process_can_be_both_ends) {
  for (const char* const system : {"raw", "netio"}) {
    MemoryEnd both({"send", "--both", "--verify"}, system);
    EXPECT_EQ(both.hear().at("ready"), true);
    both.await_messages(1000);
    both.expect_ends_well();
  }
  EXPECT_THAT(MemoryEnd({"receive", "--both"}).hear().at("error").get<std::string>(),
              HasSubstr("--both is for send and request"));
}

// What nobody touches in a measurement is written and read in the round before it.
TEST_F(BenchMemory, the_bytes_of_loans_are_checked) {
  for (const Words& how : std::vector<Words>{{"request"}, {"send", "--mode", "unbuffered"}}) {
    for (const char* const bytes : {"8", "1000000"}) {
      const Words all = {"--loan", "--verify", "--size", bytes};
      MemoryEnd both(how + Words{"--both"} + all, "netio");
      EXPECT_EQ(both.hear().at("ready"), true);
      both.await_messages(20);
      both.expect_ends_well();
    }
  }
  EXPECT_THAT(MemoryEnd({"send", "--loan"}).hear().at("error").get<std::string>(),
              HasSubstr("raw has no loans"));
}

TEST_F(BenchMemory, a_name_that_is_taken_is_refused) {
  MemoryEnd receiver({"receive"});
  EXPECT_EQ(receiver.hear().at("ready"), true);
  EXPECT_THAT(MemoryEnd({"receive"}).hear().at("error").get<std::string>(),
              HasSubstr("ddress already in use"));
  EXPECT_THAT(MemoryEnd({"send", "--both"}).hear().at("error").get<std::string>(),
              HasSubstr("ddress already in use"));
}

}  // namespace
}  // namespace netio::test
