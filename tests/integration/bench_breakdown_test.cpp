// `netio bench breakdown`: each part of a message's time is found where it is. Figures depend on
// what else the machine does, so what is compared is the shortest time of many.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/bench_support.hpp"

namespace netio::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr double delay_us = 200;

class BenchBreakdown : public Bench {
 protected:
  json parts_of(const Words& words) { return result_of(Words{"breakdown"} + words); }

  std::string name() const { return "test-" + std::to_string(::getpid()); }

  // The parts of all messages in the middle make up their whole time.
  static void expect_complete(const json& said) {
    EXPECT_EQ(said["complete"], true);
    EXPECT_GT(said["messages"].get<int>(), 0);
    double sum = 0;
    for (const char* const way : {"there", "back"}) {
      if (!said.contains(way)) continue;
      for (const auto& part : said[way]) sum += part["us"]["middle"].get<double>();
    }
    const double whole = said["sum_us"]["middle"].get<double>();
    EXPECT_GT(whole, 0);
    EXPECT_NEAR(sum / whole, 1, 0.001);
  }
  static double least(const json& said, const char* way, const std::string& part) {
    return said[way][part]["us"]["min"].get<double>();
  }
  // The part takes so much longer, and no other does. Without the delay it was measured twice, as
  // the machine may be busy at one time.
  static void expect_found(const json& said, const std::string& delayed, const json& before,
                           const json& after) {
    for (const char* const way : {"there", "back"}) {
      if (!said.contains(way)) continue;
      for (const auto& [part, figures] : said[way].items()) {
        const double usual = std::min(least(before, way, part), least(after, way, part));
        const double more = least(said, way, part) - usual;
        if (way == std::string("there") && part == delayed) {
          EXPECT_GE(more, delay_us * 0.99) << part;
        } else {
          EXPECT_LT(more, delay_us / 2) << way << " " << part;
        }
      }
    }
  }
};

TEST_F(BenchBreakdown, the_parts_of_a_round_trip_make_up_its_time) {
  for (const char* const wait : {"sleep", "spin"}) {
    const json said = parts_of({"--wait", wait});
    expect_complete(said);
    for (const char* const way : {"there", "back"}) {
      for (const char* const part : {"write", "read"}) {
        EXPECT_GT(said[way][part]["us"]["p99"].get<double>(), 0) << part;
      }
      for (const char* const part : {"gather", "doorbell"}) {
        EXPECT_EQ(said[way][part]["us"]["p99"], 0) << part;
      }
    }
    EXPECT_EQ(said["there"]["write"]["end"], "sender");
    EXPECT_EQ(said["there"]["read"]["end"], "receiver");
    // Of the same round trips, timed by the program.
    EXPECT_GT(said["sum_over_outside"].get<double>(), 0.5);
    EXPECT_LT(said["sum_over_outside"].get<double>(), 1.5);
    EXPECT_GT(said["outside_without_points_us"]["p50"].get<double>(), 0);
    EXPECT_THAT(said_, HasSubstr("Where the time of a round trip goes, over tcp"));
    EXPECT_THAT(said_, HasSubstr("Sum of the parts"));
  }
}

TEST_F(BenchBreakdown, every_wire_has_points) {
  Process info(netio_command({"info", "--json"}));
  ASSERT_EQ(info.wait(), 0);
  std::vector<std::string> addresses = {"shm://" + name(), "inproc://" + name()};
  if (info.out().find("ofi+tcp") != std::string::npos) {
    addresses.emplace_back("ofi+tcp://127.0.0.1:0");
  }
  for (const std::string& address : addresses) {
    const json all = parts_of({address, "--size", "64,1MiB"});
    for (const json& said : all) {
      expect_complete(said);
      EXPECT_GT(said["there"]["read"]["us"]["p99"].get<double>(), 0) << address;
    }
  }
}

TEST_F(BenchBreakdown, one_way_a_receiver_in_shared_memory_is_rung) {
  const json said = parts_of({"shm://" + name(), "--pattern", "push", "--mode", "buffered"});
  expect_complete(said);
  EXPECT_FALSE(said.contains("back"));
  EXPECT_GT(said["there"]["gather"]["us"]["p50"].get<double>(), 0);
  EXPECT_GT(said["there"]["doorbell"]["us"]["p99"].get<double>(), 0);
  EXPECT_EQ(said["case"]["rate_per_s"], 1000);
  EXPECT_TRUE(said.contains("outside_us"));
}

TEST_F(BenchBreakdown, a_delay_is_found_in_its_part) {
  const json before = parts_of({});
  std::map<std::string, json> delayed;
  for (const char* const part : {"encode", "post", "write", "read", "decode", "call-back"}) {
    delayed[part] = parts_of({"--delay", std::string(part) + "=200us"});
    EXPECT_THAT(said_, HasSubstr("DELAYED")) << part;
  }
  const json after = parts_of({});
  for (const auto& [part, said] : delayed) {
    expect_found(said, part, before, after);
    EXPECT_EQ(said["case"]["delay_ns"], part + "=200000");
  }
}

// At 1,000 messages a second the receiver has gone to sleep before the next message comes.
TEST_F(BenchBreakdown, a_delay_of_the_doorbell_or_the_wake_up_is_found) {
  const Words how = {"shm://" + name(), "--pattern", "push"};
  for (const char* const part : {"doorbell", "wake-up"}) {
    const json said = parts_of(how + Words{"--delay", std::string(part) + "=200us"});
    // On a busy machine some messages find the receiver awake.
    EXPECT_GE(said["there"][part]["us"]["p99"].get<double>(), delay_us * 0.99) << part;
    for (const char* const other : {"encode", "post", "write", "read", "decode", "call-back"}) {
      EXPECT_LT(least(said, "there", other), delay_us / 2) << other;
    }
  }
}

TEST_F(BenchBreakdown, is_written_as_values_and_as_a_picture) {
  const bool draws = std::system("gnuplot --version >/dev/null 2>&1") == 0;
  Words words = {"--size", "64,4KiB", "--csv", folder_.path("parts.csv")};
  if (draws) words = words + Words{"--plot", folder_.path("parts.svg")};
  const json said = parts_of(words);
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[1]["case"]["size_bytes"], 4096);
  const std::string csv = read_file(folder_.path("parts.csv"));
  EXPECT_THAT(csv, testing::StartsWith("size_bytes,way,part,end,min_us,p50_us,"));
  EXPECT_THAT(csv, HasSubstr("\n4096,back,wake-up,receiver,"));
  if (!draws) return;
  const std::string picture = read_file(folder_.path("parts.svg"));
  for (const char* const text : {"4 KiB, ", ">write<", ">decode<"}) {
    EXPECT_THAT(picture, HasSubstr(text));
  }
}

TEST_F(BenchBreakdown, what_makes_no_sense_is_a_usage_error) {
  const std::vector<std::pair<Words, std::string>> wrong = {
      {{"--delay", "wire=1us"}, "one of the parts encode, post, write"},
      {{"--delay", "write"}, "say how long, such as write=200us"},
      {{"--delay", "write=2s"}, "1ns to 1s"},
      {{"--rate", "100"}, "--pattern push"},
      {{"--remote", "tcp://127.0.0.1:1"}, "--remote"},
      {{"--plot", "picture.gif"}, ".svg or .png"},
  };
  for (const auto& [words, text] : wrong) {
    Process bench(netio_command(quick(Words{"breakdown"} + words)));
    EXPECT_EQ(bench.wait(), 2) << text;
    EXPECT_THAT(bench.err(), HasSubstr(text));
  }
  Process bench(netio_command(quick({"breakdown", "--csv", "/no/such/parts.csv"})));
  EXPECT_EQ(bench.wait(), 1);
  EXPECT_THAT(bench.err(), HasSubstr("cannot write /no/such/parts.csv"));
  // It is no peer, and only the program with points has delays.
  Process peer(netio_command(quick({"throughput", "--against", "netio-points"})));
  EXPECT_EQ(peer.wait(), 2);
  WorkerEnd plain("netio", {"receive", "--delay", "read=1"});
  EXPECT_THAT(plain.hear().at("error").get<std::string>(), HasSubstr("has no points"));
}

// The name of a process has 15 characters.
constexpr const char* with_points = "bench-netio-poi";

TEST_F(BenchBreakdown, an_interrupted_run_leaves_no_process) {
  Process bench(netio_command(
      {"bench", "breakdown", "--seconds", "30s", "--json=" + folder_.path("result.json")}));
  ASSERT_TRUE(bench.wait_for_err("with points")) << bench.err();
  const pid_t worker = await_process_below(bench.pid(), with_points);
  bench.signal(SIGINT);
  EXPECT_EQ(bench.wait(std::chrono::seconds(20)), 130);  // of the 60 that it was to take
  EXPECT_EQ(read_json(folder_.path("result.json"))["complete"], false);
  EXPECT_THAT(bench.out(), HasSubstr("INCOMPLETE: 0 of 1 sizes"));
  EXPECT_NE(::kill(worker, 0), 0) << "left behind";
}

TEST_F(BenchBreakdown, an_end_that_dies_is_named) {
  Process bench(netio_command({"bench", "breakdown", "--seconds", "30s"}));
  ::kill(await_process_below(bench.pid(), with_points), SIGKILL);
  EXPECT_EQ(bench.wait(std::chrono::seconds(60)), 1);
  EXPECT_THAT(bench.out(), HasSubstr("FAILED netio-points"));
  EXPECT_THAT(processes_below(bench.pid(), with_points), testing::IsEmpty());
}

}  // namespace
}  // namespace netio::test
