// `netio bench mesh`: every node sends to every other one, and every pair is looked at. The figures
// themselves are not tested.
#include <csignal>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/bench_support.hpp"
#include "support/paths.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class BenchMesh : public Bench {
 protected:
  nlohmann::json meshed(const Words& how, int code = 0) {
    return result_of(Words{"mesh", "--rounds", "1", "--intervals", "4"} + how, code);
  }
  Words lines_of(const std::string& name) const {
    std::ifstream file(folder_.path(name));
    Words lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  // Each pair has a figure, and no node sends to itself.
  static void expect_whole(const nlohmann::json& matrix, std::size_t nodes) {
    ASSERT_EQ(matrix.size(), nodes);
    for (std::size_t from = 0; from < nodes; ++from) {
      ASSERT_EQ(matrix[from].size(), nodes);
      for (std::size_t to = 0; to < nodes; ++to) {
        if (from == to) {
          EXPECT_TRUE(matrix[from][to].is_null());
        } else {
          EXPECT_GE(matrix[from][to].get<double>(), 0) << from << " to " << to;
        }
      }
    }
  }
  static double median(const nlohmann::json& said, const char* system, const char* what) {
    return said["systems"][system][what]["median"].get<double>();
  }
  static void expect_gone(pid_t process) {
    for (int i = 0; i < 1000 && ::kill(process, 0) == 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_NE(::kill(process, 0), 0) << process;
  }
  // The nodes, once there are so many.
  static std::vector<pid_t> await_nodes(pid_t command, const std::string& program,
                                        std::size_t count) {
    for (int i = 0; i < 1000; ++i) {
      std::vector<pid_t> found = processes_below(command, program);
      if (found.size() == count) return found;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "there are not " << count << " nodes";
    return {};
  }
  // A mesh that runs until it is ended.
  static Process::Options endless(const Words& how) {
    return netio_command(Words{"bench", "mesh", "--rounds", "1", "--no-check", "--seconds", "600"} +
                         how);
  }
};

TEST_F(BenchMesh, each_node_sends_to_each_other_one) {
  const std::vector<Words> ways = {{}, {"--both-ways"}};
  for (const char* const wire : {"tcp", "shm"}) {
    for (const Words& way : ways) {
      const auto said = meshed(Words{"--wire", wire, "--nodes", "4"} + way);
      EXPECT_EQ(said["complete"], true) << said_;
      EXPECT_TRUE(said["failed"].empty()) << said_;
      EXPECT_EQ(said["case"]["scheme"], wire);
      EXPECT_EQ(said["case"]["nodes"], 4);
      EXPECT_EQ(said["case"]["both_ways"], !way.empty());
      EXPECT_EQ(said["case"]["size_bytes"], 65536);
      EXPECT_EQ(said["case"]["mode"], "unbuffered");
      expect_whole(said["systems"]["netio"]["matrix_bytes_per_s"], 4);
      expect_whole(said["systems"]["netio"]["matrix_rate_variation"], 4);
      EXPECT_GT(median(said, "netio", "bytes_per_s"), 0);
      EXPECT_GT(median(said, "netio", "cores"), 0);
      EXPECT_GE(median(said, "netio", "rate_variation_most"),
                median(said, "netio", "rate_variation"));
      EXPECT_LE(median(said, "netio", "pair_bytes_per_s_least"),
                median(said, "netio", "pair_bytes_per_s_most"));
      EXPECT_FALSE(said["systems"].contains("raw"));
      EXPECT_THAT(noted_, HasSubstr("every byte checked"));
      EXPECT_THAT(said_, HasSubstr("netio: rate of each pair, MB/s"));
    }
  }
}

// Three nodes one way: each sends to one and receives from the other. Two: one after the other.
TEST_F(BenchMesh, one_way_every_pair_has_its_turn) {
  for (const std::size_t nodes : {2U, 3U, 6U}) {
    const auto said = meshed({"--nodes", std::to_string(nodes), "--no-check", "--csv",
                              folder_.path("pairs.csv"), "--size", "1KiB"});
    expect_whole(said["systems"]["netio"]["matrix_bytes_per_s"], nodes);
    const Words lines = lines_of("pairs.csv");
    ASSERT_EQ(lines.size(), 1 + nodes * (nodes - 1)) << said_;
    std::set<std::string> pairs;
    for (std::size_t i = 1; i < lines.size(); ++i) {
      std::istringstream fields(lines[i]);
      Words words;
      for (std::string word; std::getline(fields, word, ',');) words.push_back(word);
      ASSERT_EQ(words.size(), 7U + 4U) << "four intervals";
      EXPECT_EQ(words[0], "1024");
      EXPECT_EQ(words[2], "netio");
      EXPECT_NE(words[3], words[4]);
      pairs.insert(words[3] + " to " + words[4]);
    }
    EXPECT_EQ(pairs.size(), nodes * (nodes - 1));
  }
}

TEST_F(BenchMesh, bare_connections_are_measured_in_the_same_run) {
  const auto said = meshed({"--nodes", "3", "--streams", "2", "--both-ways", "--against", "raw",
                            "--csv", folder_.path("pairs.csv")});
  EXPECT_EQ(said["complete"], true) << said_;
  EXPECT_TRUE(said["failed"].empty()) << said_;
  EXPECT_EQ(said["case"]["streams"], 2);
  for (const char* const name : {"netio", "raw"}) {
    expect_whole(said["systems"][name]["matrix_bytes_per_s"], 3);
    EXPECT_GT(median(said, name, "messages_per_s"), 0);
  }
  EXPECT_GT(said["ratio"]["raw"]["bytes_per_s"].get<double>(), 0);
  EXPECT_GT(said["ratio_spread"]["raw"]["rate_variation"]["max"].get<double>(), 0);
  EXPECT_GT(said["control"]["bytes_per_s"]["median"].get<double>(), 0);
  EXPECT_THAT(said_, HasSubstr("sum: netio / raw"));
  const Words lines = lines_of("pairs.csv");
  ASSERT_EQ(lines.size(), 1U + 3 * 6);
  EXPECT_THAT(lines[0], StartsWith("size_bytes,round,system,from,to,bytes_per_s,rate_variation,"));
  EXPECT_THAT(lines[1], StartsWith("65536,1,raw,0,1,"));
  EXPECT_THAT(lines[7], StartsWith("65536,1,netio,0,1,"));
  EXPECT_THAT(lines[13], StartsWith("65536,1,raw,0,1,"));
}

TEST_F(BenchMesh, each_node_may_have_a_network_of_its_own) {
  const auto said = meshed({"--nodes", "3", "--namespaces", "--against", "raw", "--both-ways"});
  if (said.contains("skipped")) {
    EXPECT_THAT(said["advice"].get<std::string>(), HasSubstr("--namespaces"));
    GTEST_SKIP() << said["skipped"];
  }
  EXPECT_EQ(said["complete"], true) << said_;
  EXPECT_EQ(said["case"]["namespaces"], true);
  for (const char* const name : {"netio", "raw"}) {
    expect_whole(said["systems"][name]["matrix_bytes_per_s"], 3);
    EXPECT_GT(median(said, name, "bytes_per_s"), 0);
  }
  EXPECT_THAT(said_, HasSubstr("over tcp between network namespaces"));
}

TEST_F(BenchMesh, a_machine_without_namespaces_is_told_what_to_do) {
  Process::Options options;
  options.arguments = {
      "/bin/sh", "-c",
      "unshare -Ur true 2>/dev/null || exit 77\n"
      "exec unshare -Ur /bin/sh -c 'cd /proc/sys/user && echo 0 >max_user_namespaces "
      "&& echo 0 >max_net_namespaces || exit 77\n"
      "exec \"$0\" bench mesh --namespaces' \"$0\"",
      netio_program()};
  Process bench(std::move(options));
  const auto code = bench.wait(std::chrono::seconds(60));
  if (code == 77) GTEST_SKIP() << "no user namespace in which that may be tried";
  EXPECT_EQ(code, 0) << bench.err();
  EXPECT_THAT(bench.out(), StartsWith("SKIPPED: this machine permits no network namespaces: "));
  EXPECT_THAT(bench.out(), HasSubstr("or leave out --namespaces"));
}

TEST_F(BenchMesh, it_runs_on_a_fabric) {
  Process info(netio_command({"info", "--json"}));
  ASSERT_EQ(info.wait(), 0);
  if (info.out().find("ofi+tcp") == std::string::npos) GTEST_SKIP() << "no fabric ofi+tcp";
  const auto said = meshed({"ofi+tcp://127.0.0.1:0", "--nodes", "3", "--both-ways"});
  EXPECT_EQ(said["complete"], true) << said_;
  EXPECT_TRUE(said["failed"].empty()) << said_;
  expect_whole(said["systems"]["netio"]["matrix_bytes_per_s"], 3);
}

TEST_F(BenchMesh, it_is_drawn) {
  const Words how = {"--nodes", "3", "--no-check", "--against", "raw"};
  for (const char* const name : {"mesh.svg", "mesh.png"}) {
    Process bench(netio_command(quick(
        Words{"mesh", "--rounds", "1", "--intervals", "4", "--plot", folder_.path(name)} + how)));
    const auto code = bench.wait(std::chrono::seconds(120));
    if (bench.err().find("needs gnuplot") != std::string::npos) GTEST_SKIP() << "no gnuplot";
    EXPECT_EQ(code, 0) << bench.err();
    EXPECT_GT(fs::file_size(folder_.path(name)), 1000U);
  }
}

TEST_F(BenchMesh, a_node_that_is_killed_is_named_and_the_others_end) {
  const std::vector<Words> cases = {
      {"--wire", "tcp"}, {"--both-ways"}, {"--wire", "shm"}, {"--namespaces", "--both-ways"}};
  for (const Words& how : cases) {
    Process bench(endless(how + Words{"--nodes", "4", "--json=" + folder_.path("result.json")}));
    const std::vector<pid_t> nodes = await_nodes(bench.pid(), "bench-netio", 4);
    if (nodes.empty()) {
      if (bench.out().find("SKIPPED") != std::string::npos) continue;
      FAIL() << bench.err();
    }
    // Some nodes connect by then, and others send.
    if (how.size() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(700));
    ASSERT_EQ(::kill(nodes[2], SIGKILL), 0);
    EXPECT_EQ(bench.wait(std::chrono::seconds(120)), 1) << bench.out();
    const std::string why =
        read_json(folder_.path("result.json"))["failed"]["netio"].get<std::string>();
    EXPECT_THAT(why, HasSubstr("netio node "));
    EXPECT_THAT(why, HasSubstr("(process " + std::to_string(nodes[2])));
    EXPECT_THAT(why, HasSubstr("was killed by signal 9"));
    EXPECT_THAT(bench.out(), HasSubstr("FAILED netio node "));
    EXPECT_THAT(bench.out(), HasSubstr("INCOMPLETE: 0 of 1 rounds"));
    for (const pid_t node : nodes) expect_gone(node);
  }
}

TEST_F(BenchMesh, nothing_is_left_after_ctrl_c_or_when_the_command_is_killed) {
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    Process bench(endless({"--nodes", "3", "--namespaces"}));
    const std::vector<pid_t> nodes = await_nodes(bench.pid(), "bench-netio", 3);
    if (nodes.empty() && bench.out().find("SKIPPED") != std::string::npos) {
      GTEST_SKIP() << bench.out();
    }
    ASSERT_EQ(::kill(bench.pid(), signal), 0);
    const auto code = bench.wait(std::chrono::seconds(120));
    if (signal != SIGKILL) {
      EXPECT_EQ(code, 130) << bench.err();
      EXPECT_THAT(bench.out(), HasSubstr("INCOMPLETE: 0 of 1 rounds"));
    }
    for (const pid_t node : nodes) expect_gone(node);
  }
}

TEST_F(BenchMesh, what_cannot_be_measured_is_a_usage_error) {
  const std::vector<std::pair<Words, std::string>> wrong = {
      {{"--nodes", "0"}, "a mesh of 0 nodes has no pair"},
      {{"--nodes", "1"}, "a mesh of 1 node has no pair"},
      {{"--nodes", "251"}, "250 nodes at most, not 251"},
      {{"--nodes", "-1"}, "--nodes"},
      {{"--nodes", "many"}, "--nodes"},
      {{"--streams", "0"}, "1 to 64"},
      {{"--intervals", "1"}, "2 to 10000"},
      {{"--intervals", "1000"}, "an interval is 5 ms at least"},
      {{"inproc://here"}, "are processes"},
      {{"shm:///tmp/here"}, "leave its path behind"},
      {{"tcp://127.0.0.1:5600"}, "several nodes cannot have one port"},
      {{"--wire", "shm", "--namespaces"}, "is not reached over shm"},
      {{"--wire", "shm", "--against", "raw"}, "not measured in a mesh over shm"},
      {{"--against", "zmq"}, "not measured in a mesh"},
      {{"--wire", "verbs"}, "needs an address"},
      {{"--plot", "mesh.svg", "--size", "64,128"}, "one --size"},
      {{"--plot", "mesh.txt"}, ".svg or .png"},
      {{"--remote", "tcp://127.0.0.1:5600"}, "--remote"},
      {{"--nodes", "250", "--size", "1GiB", "--streams", "64"}, "of memory"},
  };
  for (const auto& [words, text] : wrong) {
    Process bench(netio_command(quick(Words{"mesh"} + words)));
    EXPECT_EQ(bench.wait(), 2) << text;
    EXPECT_THAT(bench.err() + bench.out(), HasSubstr(text));
  }
}

TEST_F(BenchMesh, too_few_descriptors_are_said_before_it_begins) {
  Process::Options options;
  options.arguments = {"/bin/sh", "-c", "ulimit -n 80; exec \"$0\" bench mesh --nodes 60",
                       netio_program()};
  Process bench(std::move(options));
  EXPECT_EQ(bench.wait(), 2);
  EXPECT_THAT(bench.err(), HasSubstr("open files in a process, and a process may have 80 here"));
  EXPECT_THAT(bench.err(), HasSubstr("ulimit -n"));
}

// By hand: a node counts what came by its sender, and refuses what it was not told of.
TEST_F(BenchMesh, a_node_says_what_came_from_whom) {
  for (const char* const system : {"netio", "raw"}) {
    const Words plan = {"node", "--nodes", "3", "--connections", "3", "--size", "100", "--verify"};
    WorkerEnd receiver(system, plan + Words{"--node", "1"});
    WorkerEnd sender(system, plan + Words{"--node", "2", "--targets", "1"});
    const std::string ports = "0 " + receiver.port() + " " + sender.port();
    receiver.process().feed(ports + "\n");
    sender.process().feed(ports + "\n");
    EXPECT_EQ(receiver.hear().at("ready"), true);
    EXPECT_EQ(sender.hear().at("ready"), true);
    EXPECT_EQ(receiver.ask("snap").at("from"), (std::vector<int>{0, 0, 0}));
    (void)receiver.ask("record");
    (void)sender.ask("record");
    receiver.await_messages(1000);
    const auto from = receiver.ask("snap").at("from").get<std::vector<std::uint64_t>>();
    EXPECT_EQ(from[0] + from[1], 0U);
    EXPECT_GE(from[2], 1000U);
    EXPECT_EQ(sender.ask("snap").at("messages"), 0);
    sender.expect_ends_well();
    receiver.expect_ends_well();
  }
}

}  // namespace
}  // namespace netio::test
