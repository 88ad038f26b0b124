// `netio bench fanout`: that each option does what it says and is reported. The figures themselves
// are not tested.
#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/bench_support.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class BenchFanout : public Bench {
 protected:
  nlohmann::json fanout(const Words& how) {
    return result_of(Words{"fanout", "--rounds", "1"} + how);
  }
  static double median(const nlohmann::json& said, const char* system, const char* what) {
    return said["systems"][system][what]["median"].get<double>();
  }
};

TEST_F(BenchFanout, one_subscriber_is_compared_with_push_and_pull_and_with_peers) {
  for (const char* const address : {"tcp://127.0.0.1:0", "shm://*"}) {
    const auto said = fanout({address, "--tags", "100", "--against", "push,zmq"});
    EXPECT_EQ(said["complete"], true) << said_;
    EXPECT_EQ(said["case"]["policy"], "block");
    for (const char* const name : {"netio", "push", "zmq"}) {
      for (const char* const what :
           {"messages_per_s", "published_per_s", "publisher_cpu_ns_per_message"}) {
        EXPECT_GT(median(said, name, what), 0) << address << name << what;
      }
      EXPECT_EQ(said["systems"][name]["missed"]["max"], 0) << address << name;
    }
    EXPECT_GT(median(said, "netio", "bodies_encoded"), 0);
    EXPECT_TRUE(said["systems"]["zmq"]["bodies_encoded"].is_null());
    EXPECT_GT(said["ratio"]["push"]["messages_per_s"].get<double>(), 0);
    EXPECT_GT(said["ratio"]["zmq"]["publisher_cpu_ns_per_message"].get<double>(), 0);
    EXPECT_GT(said["control"]["messages_per_s"]["median"].get<double>(), 0);
    EXPECT_THAT(said_, HasSubstr("control: push / push"));
  }
}

TEST_F(BenchFanout, nng_is_compared_where_messages_may_be_lost) {
  const auto said = fanout({"--policy", "drop_new", "--tags", "10", "--against", "nng"});
  EXPECT_GT(median(said, "nng", "messages_per_s"), 0) << said_;
}

TEST_F(BenchFanout, what_nobody_wants_is_published_and_goes_nowhere) {
  for (const Words& how : std::vector<Words>{{}, {"--resolved"}}) {
    const auto said = fanout(Words{"--unsubscribed", "--against", "1000x1"} + how);
    EXPECT_EQ(said["case"]["recipients"], 0);
    EXPECT_GT(median(said, "netio", "published"), 0);
    EXPECT_EQ(said["systems"]["netio"]["unwanted"], said["systems"]["netio"]["published"]);
    EXPECT_EQ(median(said, "netio", "bodies_encoded"), 0);
    EXPECT_EQ(median(said, "netio", "messages_per_s"), 0);
    EXPECT_GT(median(said, "1000x1", "messages_per_s"), 0);
    EXPECT_GT(said["ratio"]["1000x1"]["publisher_cpu_ns_per_message"].get<double>(), 0);
  }
}

TEST_F(BenchFanout, subscribers_of_one_set_share_what_was_encoded) {
  for (const char* const address : {"tcp://127.0.0.1:0", "shm://*"}) {
    const auto said =
        fanout({address, "--subscribers", "3", "--order", "random", "--against", "none"});
    EXPECT_EQ(said["case"]["order"], "random");
    EXPECT_GT(median(said, "netio", "slowest_messages_per_s"), 0) << said_;
    EXPECT_LE(median(said, "netio", "slowest_messages_per_s"),
              median(said, "netio", "fastest_messages_per_s"));
    EXPECT_EQ(median(said, "netio", "bodies_encoded_per_message"), 1) << address;
    EXPECT_EQ(said["systems"]["netio"]["missed"]["max"], 0);
  }
}

TEST_F(BenchFanout, many_subscribers_share_a_few_processes) {
  const auto said = fanout({"--subscribers", "20", "--recipients", "18", "--tags", "50",
                            "--resolved", "--rate", "5k", "--against", "10x1"});
  EXPECT_EQ(said["case"]["recipients"], 18);
  EXPECT_GT(median(said, "netio", "slowest_messages_per_s"), 0) << said_;
}

TEST_F(BenchFanout, a_subscriber_that_is_stopped_costs_the_others_nothing) {
  const auto said = fanout({"--subscribers", "3", "--stop", "1", "--policy", "drop_new", "--rate",
                            "20k", "--size", "4KiB", "--against", "1000x2"});
  EXPECT_EQ(said["case"]["stopped"], 1);
  EXPECT_EQ(said["systems"]["netio"]["missed"]["max"], 0) << said_;
  EXPECT_GT(said["systems"]["netio"]["dropped"]["dropped as new"]["median"].get<double>(), 0);
  EXPECT_GT(said["ratio"]["1000x2"]["slowest_messages_per_s"].get<double>(), 0);
  EXPECT_THAT(said_, HasSubstr("dropped"));
}

TEST_F(BenchFanout, every_policy_is_measured) {
  for (const char* const policy : {"drop_new", "drop_old", "sample", "disconnect"}) {
    const auto said = fanout({"--policy", policy, "--rate", "10k", "--against", "none"});
    EXPECT_EQ(said["case"]["policy"], policy);
    EXPECT_GT(median(said, "netio", "messages_per_s"), 0) << said_;
  }
}

TEST_F(BenchFanout, what_makes_no_sense_is_a_usage_error) {
  const std::vector<std::pair<Words, std::string>> wrong = {
      {{"inproc://here"}, "between processes"},
      {{"--size", "64,128"}, "one --size"},
      {{"--subscribers", "0"}, "1 to 10000"},
      {{"--stop", "1", "--policy", "drop_new"}, "nobody would be left"},
      {{"--subscribers", "2", "--recipients", "3"}, "more --recipients than --subscribers"},
      {{"--subscribers", "2", "--stop", "1"}, "waits for ever"},
      {{"--subscribers", "2", "--against", "push"}, "one receiver"},
      {{"--unsubscribed", "--against", "push"}, "takes all"},
      {{"--policy", "drop_old", "--against", "zmq"}, "cannot do what --policy drop_old"},
      {{"--against", "nng"}, "cannot do what --policy block"},
      {{"--against", "raw"}, "not measured as a publisher"},
      {{"--against", "0x1"}, "no number of tags"},
      {{"--order", "falling"}, "turn or random"},
      {{"--rate", "1GB/s"}, "messages a second"},
      {{"ofi+tcp://127.0.0.1:0", "--against", "zmq"}, "only on tcp"},
  };
  for (const auto& [words, text] : wrong) {
    Process bench(netio_command(quick(Words{"fanout"} + words)));
    EXPECT_NE(bench.wait(), 0) << text;
    EXPECT_THAT(bench.err() + bench.out(), HasSubstr(text));
  }
}

// Also those that stand still: they are woken and told, not waited for.
TEST_F(BenchFanout, an_interrupted_run_leaves_no_process) {
  Process bench(netio_command({"bench", "fanout", "--subscribers", "3", "--stop", "2", "--policy",
                               "drop_new", "--rate", "1k", "--seconds", "30s", "--against", "none",
                               "--no-check", "--json=" + folder_.path("result.json")}));
  ASSERT_TRUE(bench.wait_for_err("round 1")) << bench.err();
  std::vector<pid_t> workers;
  for (int i = 0; i < 2000 && workers.size() < 4; ++i) {
    std::this_thread::sleep_for(10ms);
    workers = processes_below(bench.pid(), "bench-netio");
  }
  EXPECT_EQ(workers.size(), 4U);
  bench.signal(SIGINT);
  EXPECT_EQ(bench.wait(20s), 130);  // of the 30 that it was to take
  EXPECT_EQ(read_json(folder_.path("result.json"))["complete"], false);
  for (const pid_t worker : workers) EXPECT_NE(::kill(worker, 0), 0) << "left behind";
}

// A subscriber that was not told of a gap finds one.
TEST_F(BenchFanout, a_subscriber_checks_every_byte_and_number) {
  for (const char* const system : {"netio", "zmq"}) {
    const Words how = {"--tags", "7", "--size", "100", "--verify"};
    WorkerEnd publisher(system, Words{"publish"} + how);
    const std::string port = publisher.port();
    WorkerEnd well(system, Words{"subscribe", "--port", port} + how);
    EXPECT_EQ(well.hear().at("ready"), true);
    WorkerEnd wrong(system, Words{"subscribe", "--port", port, "--tags", "7", "--size", "99"});
    EXPECT_EQ(wrong.hear().at("ready"), true);
    (void)publisher.ask("record");
    well.await_messages(1000);
    EXPECT_EQ(well.ask("snap").at("faults"), 0);
    EXPECT_GT(wrong.ask("snap").at("faults"), 0);
    EXPECT_EQ(publisher.ask("stop").at("end"), true);
    EXPECT_EQ(well.ask("stop").at("end"), true);
    EXPECT_EQ(wrong.ask("stop").at("end"), true);
  }
  EXPECT_THAT(WorkerEnd("raw", {"publish"}).hear().at("error").get<std::string>(),
              HasSubstr("no publisher"));
}

}  // namespace
}  // namespace netio::test
