// What can be asked, what cannot, and what `netio info` knows.
#include <cstdint>
#include <string>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/cli_support.hpp"
#include "support/sanitized.hpp"

namespace netio::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CliUsage, what_makes_no_sense_ends_with_2_and_says_why) {
  const std::string address = "tcp://127.0.0.1:1";
  const std::vector<std::pair<Words, std::string>> cases = {
      {{}, "Subcommands:"},
      {{"transmogrify"}, "transmogrify"},
      {{"send"}, "ADDRESS"},
      {{"send", "localhost:5555"}, "error: address \"localhost:5555\": the scheme is missing"},
      {{"recv", "tcp://::1:5555"}, "like tcp://[::1]:5000"},
      {{"recv", "tcp://localhost:port"}, "error: address \"tcp://localhost:port\": \"port\" is"},
      {{"send", "tcp://*:5555"}, "error: connect tcp://*:5555: "},
      {{"recv", "tcp://localhost:1?fast=1"}, "error: bind tcp://localhost:1?fast=1: "},
      {{"send", address, "--frame", "spiral"}, "\"spiral\" is none of whole, line"},
      {{"send", address, "--frame", "fixed:0"}, "at least 1 byte"},
      {{"send", address, "--frame", "length:20,4"}, "length:OFFSET,WIDTH,ADJUST"},
      {{"send", address, "--frame", "length:20,3,0"}, "WIDTH is 1, 2, 4 or 8 bytes, not 3"},
      {{"send", address, "--frame", "length:x,4,0"}, "OFFSET \"x\" is not a number"},
      {{"send", address, "file", "--size", "64"}, "not both"},
      {{"send", address, "--size", "64 parsecs"}, "is not a number of bytes"},
      {{"send", address, "--size", "-1"}, "-1"},
      {{"send", address, "--size", "2GiB"}, "2 GiB is larger than --message-max, 1 GiB"},
      {{"send", address, "--size", "8", "--verify"}, "at least 16 bytes"},
      {{"send", address, "--head", "some"}, "is not a number of bytes"},
      {{"send", address, "--rate", "0"}, "is not a rate"},
      {{"send", address, "--to-all", "--head", "4"}, "--head"},
      {{"send", address, "--wait-for", "0"}, "is at least 1"},
      {{"send", address, "--wait-for", "2"}, "with --bind several can come"},
      {{"pub", address, "--connect", "--wait-for", "2"}, "with --bind several can come"},
      {{"send", address, "--seconds", "soon"}, "is not a time"},
      {{"send", address, "--mode", "fast"}, "buffered or unbuffered"},
      {{"send", address, "--bind", "--connect"}, "--connect"},
      {{"recv", address, "--wait", "loudly"}, "sleep, spin, adaptive"},
      {{"recv", address, "--shared"}, "--verify"},
      {{"sub", address, "--tag", "seven"}, "\"seven\" is no tag: a tag is a number such as 7"},
      {{"sub", address, "--tag", "1,9-3"}, "\"9-3\" ends before it begins: write 3-9"},
      {{"sub", address, "--tag", "0x1ffffffffffffffff"}, "a tag has 64 bits"},
      {{"sub", address, "--policy", "maybe"}, "none of block, drop_new, drop_old, sample, disc"},
      {{"sub", address, "--behind-for", "1s"}, "needs --policy disconnect"},
      {{"pub", address, "--tags", "1,2"}, "one tag, or those of one range"},
      {{"pub", address, "--size", "8", "--verify"}, "at least 16 bytes"},
      {{"pub", "localhost:5555"}, "error: address \"localhost:5555\": the scheme is missing"},
      {{"sub", "tcp://*:5555"}, "error: connect tcp://*:5555: "},
      {{"recv", "OFI+TCP://127.0.0.1:1"}, "write it in lower case"},
      {{"recv", "ofi+://127.0.0.1:1"}, "the provider is missing"},
      {{"recv", address, "--out", "-", "--json"}, "use --json=FILE"},
      {{"info", "--frame", "line"}, "--frame"},
      {{"send", "tcp://localhost"}, "the port is missing\n  write it like tcp://host:5000"},
      {{"send", "udp://localhost:1"}, "there is no transport 'udp'\n  this build knows tcp://"},
      {{"send", address, "a", "b"}, "netio send: error: \"b\" is one argument too many"},
      {{"recv", address, "copy.dat"}, "to write to a file: --out copy.dat"},
      {{"sub", address, "copy.dat"}, "to write to a file: --out copy.dat"},
      {{"recv", "tcp://[fe80::1]:5555"}, "a link-local address needs its interface"},
      {{"send", address, "--size"}, "--size"},
      {{"send", address, "--count", "1e3"}, "is not a count"},
      {{"recv", address, "--count", "0"}, "is at least 1"},
      {{"snd"}, "netio: error: there is no command snd\n  did you mean send?"},
      {{"recv", address, "--quite"}, "no option --quite\n  did you mean --quiet?"},
      {{"--polcy"}, "no option --polcy\n  netio --help says what it takes"},
      {{"bench"}, "a command is missing: throughput, latency"},
      {{"bench", "latncy"},
       "netio bench: error: there is no command latncy\n  did you mean latency?"},
      {{"bench", "fanout", "--policy", "maybe"}, "none of block, drop_new, drop_old, sample, disc"},
      {{"bench", "surface", "--api", "fortran"}, "\"fortran\" is none of c, coroutine"},
      {{"bench", "latency", "--rate", "1GB/s"}, "in requests a second here"},
      {{"bench", "serve", address, "--json"}, "there is no option --json"},
      {{"ping"}, "ADDRESS"},
      {{"ping", "tcp://*:5555"}, "error: connect tcp://*:5555: "},
      {{"ping", address, "--size", "15"}, "a ping has at least 16 bytes"},
      {{"ping", address, "--size", "2GiB"}, "2 GiB is larger than --message-max, 1 GiB"},
      {{"ping", address, "--timeout", "0"}, "is more than 0"},
      {{"ping", address, "--count", "0"}, "is at least 1"},
      {{"ping", address, "--interval", "often"}, "is not a time"},
      {{"echo"}, "ADDRESS"},
      {{"echo", "localhost"}, "error: address \"localhost\": the scheme is missing"},
      {{"echo", "inproc://name"}, "shm://NAME"},
      {{"echo", address, "--bind", "--connect"}, "--connect"},
      {{"request"}, "ADDRESS"},
      {{"request", "tcp://*:5555", "--text", "x"}, "error: connect tcp://*:5555: "},
      {{"request", address, "file", "--text", "x"}, "either a file or --text, not both"},
      {{"request", address, "--text", "x", "--within", "0"}, "is more than 0"},
      {{"request", address, "--text", "x", "--within", "soon"}, "is not a time"},
      {{"request", address, "--text", "x", "--count", "0"}, "is at least 1"},
      {{"request", address, "--text", "x", "--concurrent", "2M"}, "is at most 1,048,576"},
      {{"request", address, "--text", "long", "--message-max", "3"}, "larger than --message-max"},
      {{"request", address, "--text", "x", "--out", "-", "--json"}, "use --json=FILE"},
      {{"reply"}, "ADDRESS"},
      {{"reply", address, "--text", "x", "--echo"}, "--text"},
      {{"reply", "inproc://name"}, "shm://NAME"},
      {{"completion"}, "SHELL is required"},
      {{"completion", "fish"}, "is bash or zsh, not \"fish\""},
      {{"man", "bench", "lunch"}, "there is no netio bench lunch"},
  };
  for (const auto& [words, text] : cases) {
    Process process(netio_command(words));
    EXPECT_EQ(process.wait(), 2) << ::testing::PrintToString(words);
    EXPECT_THAT(process.err(), HasSubstr(text)) << ::testing::PrintToString(words);
    EXPECT_EQ(process.out(), "");
  }
}

TEST(CliUsage, help_has_examples_and_exit_codes) {
  for (const Words& words : std::vector<Words>{{"--help"},
                                               {"send", "--help"},
                                               {"recv", "-h"},
                                               {"pub", "--help"},
                                               {"sub", "--help"},
                                               {"request", "--help"},
                                               {"reply", "--help"},
                                               {"echo", "--help"},
                                               {"ping", "--help"}}) {
    Process process(netio_command(words));
    EXPECT_EQ(process.wait(), 0);
    EXPECT_THAT(process.out(),
                ContainsRegex("\n  netio (send|recv|pub|sub|request|reply|echo|ping) '?tcp://"));
    EXPECT_THAT(process.out(), HasSubstr("Exit codes: 0 "));
  }
}

TEST(CliUsage, help_knows_the_addresses_of_fabrics) {
  for (const char* const command :
       {"send", "recv", "pub", "sub", "request", "reply", "echo", "ping"}) {
    Process process(netio_command({command, "--help"}));
    EXPECT_EQ(process.wait(), 0);
    for (const char* const text : {"verbs://", "ofi+PROVIDER://", "?window="}) {
      EXPECT_THAT(process.out(), HasSubstr(text));
    }
  }
}

TEST(CliUsage, version_is_one_line) {
  Process process(netio_command({"--version"}));
  EXPECT_EQ(process.wait(), 0);
  EXPECT_TRUE(process.out().starts_with("netio 0.")) << process.out();
}

TEST(CliUsage, threads_of_one_process_are_not_two_commands) {
  for (const char* const role : {"send", "recv"}) {
    Process process(netio_command({role, "inproc://name"}));
    EXPECT_EQ(process.wait(), 2);
    EXPECT_THAT(process.err(), HasSubstr("shm://NAME"));
    Process help(netio_command({role, "--help"}));
    EXPECT_EQ(help.wait(), 0);
    EXPECT_THAT(help.out(), HasSubstr("shm://name"));
  }
}

TEST(CliUsage, what_lacks_in_shared_memory_is_said_without_advice_for_other_wires) {
  Process nobody(netio_command({"send", "shm://nobody-" + std::to_string(::getpid()), "--count",
                                "1", "--connect-timeout", "100ms"}));
  EXPECT_EQ(nobody.wait(), 1);
  EXPECT_THAT(nobody.err(), HasSubstr("start the other side there"));
  EXPECT_THAT(nobody.err(), Not(HasSubstr("host and port")));
  if (sanitized) return;  // as what follows is less than a sanitizer takes
  // Less than the memory of one context.
  Process::Options command = netio_command({"send", "shm://nobody", "--count", "1"});
  command.arguments.insert(command.arguments.begin(),
                           {"/bin/sh", "-c", "ulimit -v 1000000; exec \"$@\"", "sh"});
  Process narrow(command);
  EXPECT_EQ(narrow.wait(), 1);
  EXPECT_THAT(narrow.err(), HasSubstr("ulimit -v"));
  EXPECT_THAT(narrow.err(), HasSubstr("large_bytes_max"));
  EXPECT_THAT(narrow.err(), Not(HasSubstr("ulimit -n")));
}

TEST(CliUsage, info_knows_transports_addresses_and_limits) {
  Process text(netio_command({"info"}));
  EXPECT_EQ(text.wait(), 0) << text.err();
  EXPECT_THAT(text.out(), HasSubstr("tcp://HOST:PORT"));
  EXPECT_THAT(text.out(), HasSubstr("shm://NAME"));
  EXPECT_THAT(text.out(), HasSubstr("inproc://NAME"));
  EXPECT_THAT(text.out(), Not(HasSubstr("shm              no connected endpoints")));
  EXPECT_THAT(text.out(), HasSubstr("open files"));

  Process process(netio_command({"info", "--json"}));
  EXPECT_EQ(process.wait(), 0) << process.err();
  const auto json = nlohmann::json::parse(process.out(), nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << process.out();
  EXPECT_EQ(json["transports"][0]["scheme"], "tcp");
  EXPECT_EQ(json["transports"][0]["usable"], true);
  EXPECT_EQ(json["transports"][1]["scheme"], "shm");
  EXPECT_EQ(json["transports"][1]["usable"], true);
  EXPECT_FALSE(json["interfaces"].empty());
  EXPECT_GT(json["limits"]["cpus_usable"], 0);
  // The soft limit was raised.
  EXPECT_EQ(json["limits"]["open_files"]["soft"], json["limits"]["open_files"]["hard"]);
}

#ifdef NETIO_WITH_FABRIC

TEST(CliUsage, info_lists_fabrics_with_the_addresses_to_use) {
  Process process(netio_command({"info", "--json"}));
  EXPECT_EQ(process.wait(), 0) << process.err();
  const auto json = nlohmann::json::parse(process.out(), nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << process.out();
  const auto& fabrics = json["fabrics"];
  EXPECT_EQ(fabrics["built"], true);
  EXPECT_EQ(fabrics["error"], nullptr);
  EXPECT_TRUE(json["limits"]["locks_enough_for_rdma"].is_boolean());

  // The provider that works everywhere, over the loop-back interface.
  bool listed = false;
  for (const auto& device : fabrics["devices"]) {
    EXPECT_EQ(device["usable"], !device["addresses"].empty()) << device;
    if (device["provider"] != "tcp" || device["device"] != "lo") continue;
    for (const auto& address : device["addresses"]) listed |= address == "ofi+tcp://127.0.0.1";
    EXPECT_EQ(device["connected"], true);
    EXPECT_EQ(device["rma"], true);
    EXPECT_GT(device["message_bytes_max"].get<std::uint64_t>(), 65536U);
    EXPECT_TRUE(device["registers_memory"].is_boolean());
  }
  EXPECT_TRUE(listed) << fabrics;

  Process text(netio_command({"info"}));
  EXPECT_EQ(text.wait(), 0) << text.err();
  EXPECT_THAT(text.out(), HasSubstr("\nfabrics\n"));
  EXPECT_THAT(text.out(), HasSubstr("ofi+tcp://127.0.0.1:PORT"));
  EXPECT_THAT(text.out(), HasSubstr("no connected endpoints: netio cannot use it yet"));
}

TEST(CliUsage, an_address_that_info_lists_can_be_bound) {
  Process recv(netio_command({"recv", "ofi+tcp://127.0.0.1:0"}));
  EXPECT_TRUE(address_of(recv).starts_with("ofi+tcp://127.0.0.1:"));
}

#else

TEST(CliUsage, info_says_how_to_get_fabrics) {
  Process text(netio_command({"info"}));
  EXPECT_EQ(text.wait(), 0) << text.err();
  EXPECT_THAT(text.out(), HasSubstr("install libfabric-dev"));

  Process process(netio_command({"info", "--json"}));
  EXPECT_EQ(process.wait(), 0) << process.err();
  const auto json = nlohmann::json::parse(process.out(), nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << process.out();
  EXPECT_EQ(json["fabrics"]["built"], false);
  EXPECT_THAT(json["fabrics"]["error"].get<std::string>(), HasSubstr("libfabric-dev"));
  EXPECT_TRUE(json["fabrics"]["devices"].empty());
}

#endif

TEST(CliUsage, info_says_when_too_little_memory_may_be_locked) {
  Process::Options options;
  options.arguments = {"/bin/sh", "-c", "ulimit -l 64; \"$0\" info --json && exec \"$0\" info >&2",
                       netio_program()};
  Process process(options);
  EXPECT_EQ(process.wait(), 0) << process.err();
  const auto json = nlohmann::json::parse(process.out(), nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << process.out();
  const auto& limits = json["limits"];
  EXPECT_EQ(limits["locked_bytes"]["soft"], 65536);
  EXPECT_EQ(limits["locks_enough_for_rdma"], limits["locks_without_limit"]);
  const bool unlimited = limits["locks_without_limit"].get<bool>();
  EXPECT_THAT(process.err(), HasSubstr(unlimited ? "64 KiB; not a limit for this process"
                                                 : "64 KiB; too little for RDMA"));
}

TEST(CliUsage, a_full_standard_output_is_an_error) {
  for (const Words& words :
       std::vector<Words>{{"info"}, {"--help"}, {"--version"}, {"man"}, {"completion", "bash"}}) {
    auto options = netio_command(words);
    options.stdout_path = "/dev/full";
    Process process(std::move(options));
    EXPECT_EQ(process.wait(), 1) << words.front();
    EXPECT_THAT(process.err(), HasSubstr("No space left on device")) << words.front();
  }
}

TEST(CliUsage, a_reader_that_left_is_no_failure) {
  Process::Options options;
  // The reader is gone before there is anything to read.
  options.arguments = {"/bin/bash", "-c",
                       "for words in info --help man 'completion bash'; do\n"
                       "  { sleep 0.1; \"$0\" $words; echo $? >&2; } | true\n"
                       "done",
                       netio_program()};
  Process process(std::move(options));
  EXPECT_EQ(process.wait(), 0);
  EXPECT_EQ(process.err(), "0\n0\n0\n0\n");
}

TEST(CliUsage, a_report_that_cannot_be_written_is_an_error) {
  const Folder folder;
  for (const auto& [path, why] : std::vector<std::pair<std::string, std::string>>{
           {folder.path("no/such/folder"), "No such file or directory"},
           {folder.path(""), "Is a directory"},
           {"/dev/full", "No space left on device"}}) {
    for (const Words& words : std::vector<Words>{{"info"},
                                                 {"recv", any_port, "--connect-timeout", "1ms"},
                                                 {"echo", any_port, "--connect-timeout", "1ms"}}) {
      auto options = netio_command(words);
      options.arguments.push_back("--json=" + path);
      Process process(std::move(options));
      EXPECT_EQ(process.wait(), 1) << words.front() << ' ' << path;
      EXPECT_THAT(process.err(), HasSubstr(path)) << words.front();
      EXPECT_THAT(process.err(), HasSubstr(why)) << words.front();
    }
  }
}

TEST(CliUsage, what_has_a_report_has_it_as_json) {
  for (const Words& words : std::vector<Words>{{"send"},
                                               {"recv"},
                                               {"pub"},
                                               {"sub"},
                                               {"echo"},
                                               {"ping"},
                                               {"info"},
                                               {"bench", "throughput"},
                                               {"bench", "latency"},
                                               {"bench", "loan"},
                                               {"bench", "connections"},
                                               {"bench", "fanout"},
                                               {"bench", "surface"},
                                               {"bench", "copies"},
                                               {"bench", "relay"},
                                               {"bench", "build"},
                                               {"bench", "mesh"},
                                               {"bench", "scan"},
                                               {"bench", "breakdown"},
                                               {"bench", "idle"}}) {
    Words help = words;
    help.emplace_back("--help");
    Process process(netio_command(help));
    EXPECT_EQ(process.wait(), 0);
    EXPECT_THAT(process.out(), HasSubstr("\n  --json ")) << words.back();
  }
}

TEST(CliUsage, a_quiet_command_still_gives_what_it_was_asked_for) {
  Process text(netio_command({"info", "-q"}));
  EXPECT_EQ(text.wait(), 0);
  EXPECT_THAT(text.out(), HasSubstr("tcp://HOST:PORT"));
  Process json(netio_command({"info", "-q", "--json"}));
  EXPECT_EQ(json.wait(), 0);
  EXPECT_FALSE(nlohmann::json::parse(json.out(), nullptr, false).is_discarded());
  EXPECT_EQ(json.err(), "");
}

}  // namespace
}  // namespace netio::test
