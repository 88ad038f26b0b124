// `netio bench --pattern request`: requests, one at a time and many under way, are answered in
// order by netio and by its peers. The figures themselves are not tested.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/bench_support.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;

class BenchRequest : public Bench {};

TEST_F(BenchRequest, round_trips_are_compared_with_a_pair_and_with_peers) {
  for (const char* const address : {"tcp://127.0.0.1:0", "shm://*", "inproc://*"}) {
    const auto said = result_of({"latency", address, "--pattern", "request", "--rounds", "1",
                                 "--against", "pair,raw,zmq,nng"});
    EXPECT_EQ(said["case"]["pattern"], "request");
    for (const char* const name : {"netio", "pair", "raw", "zmq", "nng"}) {
      EXPECT_GT(said["systems"][name]["rtt_us"]["p50"]["median"].get<double>(), 0) << name;
    }
    EXPECT_GT(said["ratio"]["pair"]["rtt_us_p50"].get<double>(), 0);
    EXPECT_THAT(said_, HasSubstr("Round trips of requests over "));
    EXPECT_THAT(said_, HasSubstr("control: raw / raw"));
  }
}

TEST_F(BenchRequest, many_under_way_are_compared_with_a_pair_and_with_peers) {
  for (const char* const address : {"tcp://127.0.0.1:0", "shm://*", "inproc://*"}) {
    const auto said = result_of(
        {"throughput", address, "--pattern", "request", "--concurrent", "100", "--rounds", "1"});
    EXPECT_EQ(said["case"]["concurrent"], 100);
    for (const char* const name : {"pair", "zmq", "nng"}) {
      EXPECT_GT(said["ratio"][name]["messages_per_s"].get<double>(), 0) << name;
    }
    EXPECT_FALSE(said["systems"].contains("raw"));
    EXPECT_THAT(said_, HasSubstr("100 requests under way, over "));
    EXPECT_THAT(said_, HasSubstr("answers/s"));
    EXPECT_THAT(said_, HasSubstr("control: pair / pair"));
  }
}

// Of any number and size, with every byte checked at both ends.
TEST_F(BenchRequest, every_end_answers_in_order) {
  for (const std::string system : {"netio", "zmq", "nng"}) {
    for (const Words& how : std::vector<Words>{
             {"--concurrent", "1"},
             {"--concurrent", "5", "--size", "70000", "--mode", "unbuffered"},
             {"--concurrent", "3000", "--wait", "spin"},
         }) {
      Words all = how + Words{"--verify"};
      if (system == "netio") all.push_back("--requests");
      WorkerEnd replier(system, Words{"reply"} + all);
      WorkerEnd requester(system, Words{"request", "--port", replier.port()} + all);
      EXPECT_EQ(requester.hear().at("ready"), true);
      requester.await_messages(20);
      requester.expect_ends_well();
      replier.expect_ends_well();
    }
  }
}

TEST_F(BenchRequest, an_open_loop_of_requests_is_timed) {
  const auto said = result_of(
      {"latency", "--pattern", "request", "--rate", "3k", "--rounds", "1", "--against", "pair"});
  EXPECT_GT(said["ratio"]["pair"]["rtt_us_p50"].get<double>(), 0);
}

TEST_F(BenchRequest, what_makes_no_sense_is_a_usage_error) {
  const std::vector<std::pair<Words, std::string>> wrong = {
      {{"throughput", "--concurrent", "10"}, "--concurrent is of --pattern request"},
      {{"throughput", "--pattern", "request", "--against", "raw"}, "many are under way"},
      {{"latency", "--against", "pair"}, "compared with --pattern request"},
      {{"latency", "--pattern", "push"}, "--pattern"},
      {{"throughput", "--pattern", "request", "--concurrent", "0"}, "is 1 to 100000"},
  };
  for (const auto& [words, text] : wrong) {
    Process bench(netio_command(quick(words)));
    EXPECT_EQ(bench.wait(), 2) << text;
    EXPECT_THAT(bench.err() + bench.out(), HasSubstr(text));
  }
}

}  // namespace
}  // namespace netio::test
