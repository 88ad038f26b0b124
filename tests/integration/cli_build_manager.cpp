// netio build manager: what it says when it is used wrongly, what it shows, and how it ends, with a
// unit and a builder that have no fragments.
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/manager_members.hpp"
#include "integration/cli_support.hpp"
#include "support/relay.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class CliBuildManager : public ::testing::Test {
 protected:
  static Words manager(const std::string& address, const Words& more = {}) {
    Words words = {"build", "manager", address, "--sources", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  Folder folder_;
};

TEST_F(CliBuildManager, has_a_help_with_its_exit_codes) {
  Process help(netio_command({"build", "manager", "--help"}));
  EXPECT_EQ(help.wait(), 0);
  for (const char* const option : {"--sources", "--builders", "--range", "--lease", "--unit-wait",
                                   "--events", "--json", "--stay", "Exit codes"}) {
    EXPECT_THAT(help.out(), HasSubstr(option));
  }
}

TEST_F(CliBuildManager, says_what_is_wrong_with_its_options) {
  const auto refuses = [](const Words& words, const std::string& why) {
    Process process(netio_command(words));
    EXPECT_EQ(process.wait(), 2) << process.err();
    EXPECT_THAT(process.err(), HasSubstr(why));
  };
  refuses({"build", "manager", "tcp://*:5550"}, "--sources");
  refuses({"build", "manager", "--sources", "2"}, "ADDRESS");
  refuses(manager("udp://*:5550"), "there is no transport 'udp'");
  refuses(manager("tcp://*:5550", {"--lease", "1ms"}), "is 10ms to 24h, not 1ms");
  refuses(manager("tcp://*:5550", {"--unit-wait", "48h"}), "is 10ms to 24h, not 48h");
  refuses(manager("tcp://*:5550", {"--builders", "0"}), "is 1 to 65,536, not 0");
  refuses(manager("tcp://*:5550", {"--range", "0"}), "is 1 to 2^48 events, not 0");
  refuses(manager("tcp://*:5550", {"--run", "3"}), "--events");
}

TEST_F(CliBuildManager, ends_with_ctrl_c_and_leaves_a_report) {
  const std::string json = folder_.path("manager.json");
  Process process(
      netio_command(manager(any_port, {"--builders", "3", "--range", "16", "--json=" + json})));
  const std::string address = address_of(process);
  EXPECT_TRUE(process.wait_for_err("waiting for units 0, 1")) << process.err();
  process.signal(SIGINT);
  EXPECT_EQ(process.wait(), 130) << process.err();
  EXPECT_THAT(process.out(), HasSubstr("assigned  0 events"));
  EXPECT_THAT(process.out(), HasSubstr("interrupted"));
  const auto said = read_json(json);
  EXPECT_EQ(said["command"], "build manager");
  EXPECT_EQ(said["outcome"], "interrupted");
  EXPECT_EQ(said["exit_code"], 130);
  EXPECT_EQ(said["plan"]["sources"], 2);
  EXPECT_EQ(said["plan"]["builders"], 3);
  EXPECT_EQ(said["plan"]["range_events"], 16);
  EXPECT_EQ(said["addresses"][0], address);
  EXPECT_EQ(said["assigned"], 0);
  EXPECT_EQ(said["open"], 0);
  EXPECT_EQ(said["units"]["came"], 0);
  EXPECT_EQ(said["per_unit"].size(), 2U);
  EXPECT_EQ(said["per_unit"][1]["connected"], false);
  EXPECT_EQ(said["per_builder"].size(), 3U);
  EXPECT_EQ(said["per_builder"][2]["lease"], "none");
}

TEST_F(CliBuildManager, listens_at_several_addresses) {
  const std::string name = "shm://build-manager-" + std::to_string(::getpid());
  Process process(netio_command(manager(any_port, {"--builders", "1", "--json"})));
  const std::string address = address_of(process);
  Words words = {"build", "manager", name, any_port, "--sources", "1"};
  Process both(netio_command(words));
  EXPECT_TRUE(both.wait_for_err("listening on " + name)) << both.err();
  EXPECT_TRUE(both.wait_for_err("listening on tcp://127.0.0.1:")) << both.err();
  both.signal(SIGTERM);
  EXPECT_EQ(both.wait(), 130);
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), 130);
}

TEST_F(CliBuildManager, says_that_its_address_is_in_use) {
  Process first(netio_command(manager(any_port)));
  const std::string address = address_of(first);
  Process second(netio_command(manager(address)));
  EXPECT_EQ(second.wait(), 1);
  EXPECT_THAT(second.err(), HasSubstr("netio build manager: "));
  EXPECT_THAT(second.err(), HasSubstr("in use"));
  first.signal(SIGINT);
  EXPECT_EQ(first.wait(), 130);
}

TEST_F(CliBuildManager, gives_up_when_nobody_comes_in_time) {
  Process process(netio_command(manager(any_port, {"--connect-timeout", "100ms"})));
  EXPECT_EQ(process.wait(), 1);
  EXPECT_THAT(process.err(), HasSubstr("unit 0 did not come within 0.100 s"));
}

// A unit of a system without a manager takes it for a builder.
TEST_F(CliBuildManager, refuses_a_unit_that_takes_it_for_a_builder) {
  Process process(netio_command(manager(any_port, {"--json"})));
  const std::string address = address_of(process);
  Process unit(netio_command({"build", "readout", address, "--source", "0", "--sources", "2",
                              "--events", "10", "--connect-timeout", "5s"}));
  EXPECT_EQ(unit.wait(), 1) << unit.err();
  EXPECT_TRUE(process.wait_for_err("refused tcp://")) << process.err();
  EXPECT_THAT(process.err(), HasSubstr("readout"));
  process.signal(SIGINT);
  EXPECT_EQ(process.wait(), 130);
}

// One unit is gone, the other one has never come, and no builder either.
TEST_F(CliBuildManager, waits_for_nobody_who_is_not_here_when_it_is_interrupted) {
  Process process(netio_command(manager(any_port, {"--builders", "1", "--range", "16"})));
  Relay relay(address_of(process));
  Context context;
  Pump pump{&context};
  ScriptedUnit unit(context, detail::BuildPlan{2, 1, 16, true}, 0);
  unit.connect(relay.address());
  ASSERT_SOON(pump, unit.welcomes == 1);
  unit.produce(48);
  ASSERT_SOON(pump, process.err().find("waiting for builder 0") != std::string::npos);
  relay.forbid(true);
  relay.cut();
  ASSERT_SOON(pump, process.err().find("waiting for units 0, 1") != std::string::npos);
  process.signal(SIGINT);
  EXPECT_EQ(process.wait(), 130) << process.err();
}

// One unit and one builder of this process.
class CliBuildManagerAtWork : public CliBuildManager {
 protected:
  void start(const Words& more) {
    Words words = {"build", "manager", any_port, "--sources",       "1",     "--range",
                   "16",    "--lease", "100ms",  "--json=" + json_, "--run", "0"};
    words.insert(words.end(), more.begin(), more.end());
    process_.emplace(netio_command(words));
    const std::string address = address_of(*process_);
    unit_.connect(address);
    builder_.connect(address);
    ASSERT_SOON(pump_, unit_.welcomes == 1 && builder_.has_lease());
  }
  void expect_end(int code) {
    ASSERT_SOON(pump_, unit_.downs == 1);
    EXPECT_EQ(process_->wait(), code) << process_->err();
  }

  const detail::BuildPlan plan_{1, 1, 16, true};
  const std::string json_ = folder_.path("manager.json");
  Context context_;
  Pump pump_{&context_};
  ScriptedUnit unit_{context_, plan_, 0};
  ScriptedBuilder builder_{context_, plan_, 0};
  std::optional<Process> process_;
};

TEST_F(CliBuildManagerAtWork, ends_when_the_events_that_it_was_asked_for_are_built) {
  builder_.finishes = true;
  start({"--events", "64"});
  EXPECT_EQ(unit_.stop, (EventId{0, 64}));
  unit_.produce(64);
  expect_end(0);
  const auto said = read_json(json_);
  EXPECT_EQ(said["outcome"], "done");
  EXPECT_EQ(said["events"], 64);
  EXPECT_EQ(said["assigned"], 4);
  EXPECT_EQ(said["settled"], 4);
  EXPECT_EQ(said["open"], 0);
  EXPECT_EQ(said["produced"]["number"], 64);
  EXPECT_EQ(said["per_builder"][0]["done"], 4);
  EXPECT_THAT(process_->out(), HasSubstr("assigned  64 events"));
  EXPECT_THAT(process_->out(), HasSubstr("builder 0: 4 ranges done"));
}

TEST_F(CliBuildManagerAtWork, builds_what_was_produced_when_it_is_interrupted) {
  start({"--events", "1M"});
  unit_.produce(48);
  ASSERT_SOON(pump_, builder_.open.size() == 3);
  ASSERT_SOON(pump_, process_->err().find("3 open") != std::string::npos);
  process_->signal(SIGINT);
  ASSERT_SOON(pump_, unit_.stop == (EventId{0, 48}));
  const std::string said_so = "stopping in front of event 48 of run 0";
  ASSERT_SOON(pump_, process_->err().find(said_so) != std::string::npos);
  builder_.finish_all();
  expect_end(130);
  const auto said = read_json(json_);
  EXPECT_EQ(said["settled"], 3);
  EXPECT_EQ(said["open"], 0);
  EXPECT_EQ(said["events"], 48);
}

TEST_F(CliBuildManagerAtWork, ends_at_once_when_it_is_interrupted_again) {
  start({"--events", "1M"});
  unit_.produce(48);
  ASSERT_SOON(pump_, builder_.open.size() == 3);
  process_->signal(SIGINT);
  ASSERT_SOON(pump_, unit_.stop == (EventId{0, 48}));
  process_->signal(SIGINT);
  expect_end(130);
  EXPECT_NE(read_json(json_)["open"], 0);
}

}  // namespace
}  // namespace netio::test
