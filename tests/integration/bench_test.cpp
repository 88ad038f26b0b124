// `netio bench` as people and scripts run it: what it reports, and what it says when a part of it
// is missing, dies or is in the way. The figures themselves are not tested.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/bench_support.hpp"
#include "integration/cli_support.hpp"
#include "support/raw_tcp.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

TEST_F(Bench, throughput_reports_systems_and_ratios) {
  const auto said = result_of({"throughput", "--rounds", "2", "--against", "raw"});
  EXPECT_EQ(said["case"]["size_bytes"], 64);
  EXPECT_EQ(said["complete"], true);
  EXPECT_THAT(said_, HasSubstr("; higher is better\n"));
  EXPECT_THAT(said_, HasSubstr("Ratios of the rates, round by round (above 1 netio is faster):\n"));
  for (const char* const name : {"netio", "raw"}) {
    const auto& system = said["systems"][name];
    for (const char* const what : {"messages_per_s", "bytes_per_s", "cpu_ns_per_message"}) {
      EXPECT_GT(system[what]["median"].get<double>(), 0) << name << " " << what;
      EXPECT_LE(system[what]["min"], system[what]["median"]);
      EXPECT_LE(system[what]["median"], system[what]["max"]);
    }
  }
  EXPECT_GT(said["ratio"]["raw"]["messages_per_s"].get<double>(), 0);
  EXPECT_GT(said["control"]["messages_per_s"]["median"].get<double>(), 0);
  EXPECT_THAT(said_, HasSubstr("netio / raw"));
}

TEST_F(Bench, every_peer_can_be_measured) {
  const auto said = result_of(
      {"throughput", "--rounds", "1", "--size", "4KiB", "--against", "raw,zmq,nng,iperf3"});
  for (const char* const name : {"netio", "raw", "zmq", "nng", "iperf3"}) {
    EXPECT_GT(said["systems"][name]["bytes_per_s"]["median"].get<double>(), 0) << name;
  }
}

TEST_F(Bench, latency_reports_percentiles_in_both_loops) {
  for (const char* const rate : {"", "5k"}) {
    Words words = {"latency",       "--rounds",          "1", "--against", "raw,zmq,nng",
                   "--percentiles", folder_.path("hgrm")};
    if (*rate != '\0') words.insert(words.end(), {"--rate", rate});
    const auto said = result_of(words);
    for (const char* const name : {"netio", "raw", "zmq", "nng"}) {
      const auto& times = said["systems"][name]["rtt_us"];
      EXPECT_GT(times["p50"]["median"].get<double>(), 0) << name;
      EXPECT_LE(times["p50"]["median"], times["p999"]["median"]) << name;
      const std::string text = read_file(folder_.path(std::string("hgrm/") + name + ".hgrm"));
      EXPECT_THAT(text, HasSubstr("1/(1-Percentile)"));
      EXPECT_THAT(text, HasSubstr("#[Max     ="));
    }
    EXPECT_GT(said["ratio"]["zmq"]["rtt_us_p50"].get<double>(), 0);
    EXPECT_THAT(said_, HasSubstr("; lower is better\n"));
  }
}

TEST_F(Bench, every_wait_and_mode_works) {
  for (const char* const wait : {"spin", "adaptive"}) {
    for (const char* const mode : {"buffered", "unbuffered"}) {
      const bool adaptive = std::string_view(wait) == "adaptive";
      const auto said =
          result_of({"throughput", "--rounds", "1", "--against", adaptive ? "none" : "raw",
                     "--wait", wait, "--mode", mode, "--no-check"});
      EXPECT_EQ(said_.find("Ratios") == std::string::npos, adaptive);
      EXPECT_EQ(said["case"]["wait"], wait);
      EXPECT_EQ(said["case"]["mode"], mode);
      EXPECT_GT(said["systems"]["netio"]["messages_per_s"]["median"].get<double>(), 0);
    }
  }
}

TEST_F(Bench, who_does_not_adapt_is_not_compared_with_who_does) {
  Process process(netio_command({"bench", "latency", "--wait", "adaptive", "--against", "raw"}));
  EXPECT_EQ(process.wait(), 2);
  EXPECT_THAT(process.err(), HasSubstr("does not know --wait adaptive"));
}

TEST_F(Bench, connections_that_cannot_be_are_refused_at_once) {
  Process::Options command = netio_command({"bench", "connections", "shm://*", "--count", "64"});
  command.arguments.insert(command.arguments.begin(),
                           {"/bin/sh", "-c", "ulimit -n 200; exec \"$@\"", "sh"});
  Process process(command);
  EXPECT_EQ(process.wait(), 1);
  EXPECT_THAT(process.err(), HasSubstr("64 connections take about 512 open files"));
  EXPECT_THAT(process.err(), HasSubstr("ulimit -n"));
}

TEST_F(Bench, each_part_has_its_own_help) {
  Process loan(netio_command({"bench", "loan", "--help"}));
  EXPECT_EQ(loan.wait(), 0);
  EXPECT_THAT(loan.out(), HasSubstr("(shm://*)"));
  EXPECT_THAT(loan.out(), HasSubstr("Exit codes: 0 measured"));
  EXPECT_EQ(loan.out().find("{false}"), std::string::npos);
  EXPECT_EQ(loan.out().find("netio recv"), std::string::npos);
}

TEST_F(Bench, several_sizes_are_drawn) {
  const auto said = result_of({"throughput", "--rounds", "1", "--against", "raw", "--size",
                               "64,64KiB,1MiB", "--plot", folder_.path("rates.svg")});
  ASSERT_EQ(said.size(), 3U);
  EXPECT_EQ(said[2]["case"]["size_bytes"], 1U << 20U);
  EXPECT_THAT(read_file(folder_.path("rates.svg")), HasSubstr("raw"));
}

TEST_F(Bench, round_trips_are_drawn) {
  (void)result_of({"latency", "--rounds", "1", "--against", "raw", "--no-check", "--plot",
                   folder_.path("trips.png")});
  EXPECT_THAT(read_file(folder_.path("trips.png")), StartsWith("\x89PNG"));
}

TEST_F(Bench, many_connections_are_counted) {
  const auto said =
      result_of({"connections", "--count", "20", "--rounds", "1", "--against", "raw"});
  EXPECT_EQ(said["systems"]["netio"]["connected"], 20);
  const auto& cpu = said["systems"]["netio"]["receiver_cpu_ns_per_message_to_one_connection"];
  EXPECT_GT(cpu["median"].get<double>(), 0);
  EXPECT_GT(said["ratio"]["raw"]["messages_per_s"].get<double>(), 0);
}

TEST_F(Bench, an_idle_pair_is_measured) {
  const auto said = result_of({"idle"});
  EXPECT_GE(said["core_percent_max"].get<double>(), 0);
}

TEST_F(Bench, what_makes_no_sense_is_a_usage_error) {
  const std::vector<std::pair<Words, std::string>> wrong = {
      {{"throughput", "--against", "carrier-pigeon"}, "carrier-pigeon"},
      {{"throughput", "--size", "4"}, "8 bytes"},
      {{"throughput", "--size", "64", "--against", "iperf3"}, "4096"},
      {{"latency", "--size", "8KiB", "--against", "iperf3"}, "no round trips"},
      {{"throughput", "tcp://a-name:0"}, "not an IP address"},
      {{"throughput", "shm://"}, "not an address that can be measured"},
      {{"throughput", "inproc://here?window=3"}, "not an address that can be measured"},
      {{"throughput", "shm://here", "--size", "4KiB", "--against", "iperf3"}, "only on tcp"},
      {{"throughput", "shm://here", "--remote", "tcp://127.0.0.1:1"}, "of one machine"},
      {{"connections", "inproc://here"}, "between processes"},
      {{"loan", "--against", "raw"}, "against nobody"},
      {{"loan", "--touch", "some"}, "none or all"},
      {{"throughput", "ofi+://127.0.0.1:0"}, "not an address that can be measured"},
      {{"throughput", "ofi+tcp://127.0.0.1:0", "--against", "raw"}, "only on tcp"},
      {{"throughput", "--against", "fabric"}, "only on fabrics"},
      {{"throughput", "shm://here", "--against", "fabric"}, "cannot sleep"},
      {{"latency", "shm://here", "--against", "aeron"}, "cannot sleep"},
      {{"throughput", "inproc://here", "--against", "iceoryx2"}, "only on shm"},
      {{"connections", "shm://here", "--wait", "spin", "--against", "fabric"}, "many connections"},
      {{"throughput", "--window", "8"}, "--window is for fabrics"},
      {{"throughput", "tcp://127.0.0.1:0?engine=ring"}, "is not what an address"},
      {{"throughput", "ofi+tcp://127.0.0.1:0?slots=4"}, "is not what an address"},
      {{"throughput", "ofi+tcp://127.0.0.1:0?engine=ring&slots=501"}, "\"slots=501\" is not what"},
      {{"latency", "ofi+tcp://127.0.0.1:0?engine=ring&slot_bytes=much"},
       "\"slot_bytes=much\" is not"},
      {{"fanout", "ofi+tcp://127.0.0.1:0?engine=ring"}, "a fanout is not measured by a ring"},
      {{"throughput", "ofi+tcp://127.0.0.1:0", "--against", "messages"}, "?engine=ring"},
      {{"throughput", "ofi+tcp://127.0.0.1:0?engine=ring", "--size", "64,65KiB", "--against",
        "fabric"},
       "larger than a slot"},
      {{"throughput", "--plot", "picture.gif"}, ".svg or .png"},
      {{"throughput", "--plot", "/no/such/picture.svg"}, "cannot open /no/such/picture.svg"},
      {{"latency", "--percentiles", "/dev/null/here"}, "cannot make the folder /dev/null/here"},
      {{"latency", "--rate", "1GB/s"}, "requests a second"},
  };
  for (const auto& [words, text] : wrong) {
    Process bench(netio_command(quick(words)));
    EXPECT_NE(bench.wait(), 0) << text;
    EXPECT_THAT(bench.err() + bench.out(), HasSubstr(text));
  }
}

TEST_F(Bench, a_port_taken_is_named) {
  const RawListener taken;
  result_of({"throughput", taken.address(), "--rounds", "1", "--against", "raw"}, 1);
  EXPECT_THAT(said_, HasSubstr("FAILED raw"));
  EXPECT_THAT(said_, HasSubstr("ddress already in use"));
}

// Its peers are measured all the same, nothing hangs and nothing is left.
TEST_F(Bench, an_end_that_dies_is_named) {
  Process bench(
      netio_command({"bench", "throughput", "--rounds", "2", "--seconds", "300ms", "--against",
                     "raw,zmq", "--no-check", "--json=" + folder_.path("result.json")}));
  ::kill(await_process_below(bench.pid(), "bench-zmq"), SIGKILL);
  EXPECT_EQ(bench.wait(60s), 1) << bench.err();
  EXPECT_THAT(bench.out(), HasSubstr("FAILED zmq"));
  const auto said = read_json(folder_.path("result.json"));
  EXPECT_EQ(said["systems"].count("zmq"), 0U);
  EXPECT_GT(said["systems"]["netio"]["messages_per_s"]["median"].get<double>(), 0);
  EXPECT_THAT(said["failed"]["zmq"].get<std::string>(), HasSubstr("killed by signal 9"));
}

TEST_F(Bench, an_interrupted_run_never_looks_whole) {
  Process bench(
      netio_command({"bench", "throughput", "--rounds", "50", "--seconds", "100ms", "--against",
                     "raw", "--no-check", "--json=" + folder_.path("result.json")}));
  ASSERT_TRUE(bench.wait_for_err("round 3 of 50")) << bench.err();
  const pid_t worker = await_process_below(bench.pid(), "bench-raw");
  bench.signal(SIGINT);
  EXPECT_EQ(bench.wait(10s), 130);
  EXPECT_THAT(bench.out(), HasSubstr("INCOMPLETE: "));
  const auto said = read_json(folder_.path("result.json"));
  EXPECT_EQ(said["complete"], false);
  EXPECT_LT(said["case"]["rounds"].get<int>(), 50);
  EXPECT_NE(::kill(worker, 0), 0) << "a worker was left behind";
}

// A copy of the command beside which there are no programs, or not all.
TEST_F(Bench, a_missing_program_is_named) {
  const fs::path copy = folder_.path("netio");
  fs::copy_file(netio_program(), copy);
  const auto run = [&](Words words) {
    words.insert(words.begin(), copy.string());
    Process::Options options;
    options.arguments = std::move(words);
    Process bench(std::move(options));
    const std::optional<int> code = bench.wait(60s);
    return std::make_pair(code.value_or(-1), bench.err() + bench.out());
  };
  auto [code, text] = run({"bench", "throughput"});
  EXPECT_EQ(code, 1);
  EXPECT_THAT(text, HasSubstr("netio cannot be measured: its program is not there"));

  fs::create_directory(folder_.path("bench"));
  for (const char* const name : {"bench/bench-netio", "bench/bench-raw"}) {
    fs::copy_file(build_folder() / name, folder_.path(name));
  }
  std::tie(code, text) = run({"bench", "throughput", "--against", "zmq"});
  EXPECT_EQ(code, 1);
  EXPECT_THAT(text, HasSubstr("Install libzmq3-dev"));
  for (const char* const peer : {"iceoryx2", "aeron"}) {
    std::tie(code, text) =
        run({"bench", "throughput", "shm://*", "--wait", "spin", "--against", peer});
    EXPECT_EQ(code, 1);
    EXPECT_THAT(text, HasSubstr("Build it with this command: script/bench --peers"));
  }
  std::tie(code, text) = run({"bench", "throughput", "--rounds", "1", "--seconds", "100ms"});
  EXPECT_EQ(code, 0);
  EXPECT_THAT(text, HasSubstr("zmq is not there (package libzmq3-dev)"));
}

TEST_F(Bench, one_core_is_said_and_enough) {
  Process::Options options =
      netio_command(quick({"throughput", "--rounds", "1", "--against", "raw", "--no-check"}));
  options.arguments.insert(options.arguments.begin(), {"/usr/bin/taskset", "-c", "0"});
  Process bench(std::move(options));
  EXPECT_EQ(bench.wait(60s), 0) << bench.err();
  EXPECT_THAT(bench.err(), HasSubstr("one core only"));
}

TEST_F(Bench, another_machine_that_is_not_there_is_named) {
  Process bench(netio_command({"bench", "throughput", "--remote", "tcp://no-such-host.invalid:1"}));
  EXPECT_EQ(bench.wait(60s), 1);
  EXPECT_THAT(bench.err(), HasSubstr("Start `netio bench serve`"));
}

// Two network namespaces, joined by a cable of their own: two hosts as far as TCP can tell.
class BenchRemote : public Bench {
 protected:
  void SetUp() override {
    Bench::SetUp();
    if (const std::string lack = no_namespaces(); !lack.empty()) {
      if (std::getenv("NETIO_NAMESPACES_REQUIRED") != nullptr) FAIL() << lack;
      GTEST_SKIP() << lack;
    }
    ASSERT_TRUE(ip("link add " + cable_ + "a netns " + first_ + " type veth peer name " + cable_ +
                   "b netns " + second_));
    for (const auto& [host, end, number] :
         {std::tuple(first_, "a", "1"), std::tuple(second_, "b", "2")}) {
      ASSERT_TRUE(ip("-n " + host + " address add 10.77.0." + number + "/24 dev " + cable_ + end));
      ASSERT_TRUE(ip("-n " + host + " link set " + cable_ + end + " up"));
    }
  }
  // Why there are none; empty: both were made, and can be entered. (A container may be allowed to
  // make them, and not to enter them.)
  std::string no_namespaces() const {
    if (::geteuid() != 0) return "making network namespaces needs root";
    for (const std::string& host : {first_, second_}) {
      if (!ip("netns add " + host)) return "no network namespaces can be made here";
      if (!ip("netns exec " + host + " true")) return "network namespaces cannot be entered here";
    }
    return {};
  }
  void TearDown() override {
    (void)ip("netns delete " + first_);
    (void)ip("netns delete " + second_);
  }
  static bool ip(const std::string& words) {
    return std::system(("ip " + words + " 2>/dev/null").c_str()) == 0;
  }
  static Process::Options on(const std::string& host, Words words) {
    Process::Options options = netio_command(std::move(words));
    options.arguments.insert(options.arguments.begin(),
                             {"/usr/bin/env", "ip", "netns", "exec", host});
    return options;
  }

  const std::string number_ = std::to_string(::getpid());
  const std::string first_ = "netio-a-" + number_;
  const std::string second_ = "netio-b-" + number_;
  const std::string cable_ = "nio" + number_;
};

TEST_F(BenchRemote, both_measurements_run_between_two_hosts) {
  Process serve(on(first_, {"bench", "serve", "tcp://10.77.0.1:5600"}));
  ASSERT_TRUE(serve.wait_for_err("listening at")) << serve.err();
  for (const char* const what : {"throughput", "latency"}) {
    Process bench(on(
        second_, quick({what, "tcp://10.77.0.1:0", "--remote", "tcp://10.77.0.1:5600", "--rounds",
                        "1", "--against", "raw", "--json=" + folder_.path("result.json")})));
    EXPECT_EQ(bench.wait(60s), 0) << bench.err();
    const auto said = read_json(folder_.path("result.json"));
    EXPECT_GT(said["systems"]["netio"]["messages_per_s"]["median"].get<double>(), 0);
    EXPECT_GT(said["ratio"]["raw"]["messages_per_s"].get<double>(), 0);
  }
  // A host that is lost is named.
  Process bench(on(second_, {"bench", "throughput", "tcp://10.77.0.1:0", "--remote",
                             "tcp://10.77.0.1:5600", "--seconds", "30s", "--against", "raw"}));
  ASSERT_TRUE(bench.wait_for_err("round 1")) << bench.err();
  serve.signal(SIGKILL);
  EXPECT_EQ(bench.wait(60s), 1) << bench.err();
  EXPECT_THAT(bench.out() + bench.err(), HasSubstr("lost"));
}

}  // namespace
}  // namespace netio::test
