// netio build with an event manager: units, builders and the manager in processes of their own, and
// what is built when one of them is killed, hangs, or comes back.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/build_support.hpp"
#include "integration/cli_support.hpp"
#include "support/raw_tcp.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;
using Part = std::unique_ptr<Process>;

// Short ranges, so that every builder has some at any time. A busy machine may stop a builder for
// longer than its lease; then others build its events once more, marked.
class CliBuildManaged : public ::testing::Test {
 protected:
  [[nodiscard]] nlohmann::json report(const std::string& name) const {
    return read_json(folder_.path(name + ".json"));
  }
  [[nodiscard]] Part start(const std::string& name, Words words, const Words& more) const {
    words.insert(words.begin(), "build");
    words.insert(words.end(), {"--range", "16", "--json=" + folder_.path(name + ".json")});
    words.insert(words.end(), more.begin(), more.end());
    return std::make_unique<Process>(netio_command(words));
  }
  // Its report is "manager".
  [[nodiscard]] Part manager(const std::string& address, const Words& more = {}) const {
    return start("manager",
                 {"manager", address, "--sources", sources_, "--builders", builders_, "--lease",
                  "300ms", "--unit-wait", unit_wait_},
                 more);
  }
  // Its report is "builder-N", or another name. Its events are in a folder of that name.
  [[nodiscard]] Part builder(int number, const Words& more = {}, std::string name = {}) const {
    if (name.empty()) name = "builder-" + std::to_string(number);
    return start(name,
                 {"builder", builder_address_, "--manager", manager_, "--builder",
                  std::to_string(number), "--sources", sources_, "--builders", builders_,
                  "--deadline", deadline_, "--out", folder_.path(name)},
                 more);
  }
  // Its report is "unit-N".
  [[nodiscard]] Part unit(int source, const Words& more = {}) const {
    return start("unit-" + std::to_string(source),
                 {"readout", "--manager", manager_, "--source", std::to_string(source), "--sources",
                  sources_, "--builders", builders_, "--size", "64"},
                 more);
  }
  [[nodiscard]] std::string index(const std::string& folder) const {
    return folder_.path(folder) + "/builder-" + folder.substr(folder.size() - 1) + "-events.tsv";
  }
  // The builder writes more events than it has until now.
  [[nodiscard]] bool goes_on(const std::string& folder) const {
    const std::size_t before = read_file(index(folder)).size();
    return wait_until([&] { return read_file(index(folder)).size() > before + 20'000; });
  }
  void start_all(const Words& load, const Words& checks = {"--verify"}) {
    manager_process_ = manager(manager_);
    manager_ = address_of(*manager_process_);
    for (int each = 0; each < 2; ++each) builder_[each] = builder(each, checks);
    for (int each = 0; each < 2; ++each) unit_[each] = unit(each, load);
  }
  // Ctrl-C at the manager ends all.
  void drain() {
    manager_process_->signal(SIGINT);
    EXPECT_EQ(manager_process_->wait(60s), 130) << manager_process_->err();
    for (const Part& each : unit_) EXPECT_EQ(each->wait(60s), 0) << each->err();
    for (const Part& each : builder_) EXPECT_EQ(each->wait(60s), 0) << each->err();
  }
  // All events below the end of the run are in one of the folders, and what is there twice is
  // marked, but for once.
  void expect_all_built(const std::vector<std::string>& folders, std::uint64_t end) const {
    std::map<std::uint64_t, int> built;
    std::map<std::uint64_t, int> unmarked;
    for (const std::string& folder : folders) {
      for (const EventLine& line : index_of(index(folder))) {
        ++built[line.number];
        if (!line.state.ends_with(" again")) ++unmarked[line.number];
        EXPECT_TRUE(line.state.starts_with("complete")) << line.number;
      }
    }
    EXPECT_EQ(built.size(), end);
    EXPECT_EQ(built.empty() ? 0 : built.rbegin()->first + 1, end);
    for (const auto& [number, times] : unmarked) EXPECT_LE(times, 1) << number;
  }
  [[nodiscard]] std::uint64_t end_of_run() const {
    return report("manager")["assigned_below"]["number"];
  }

  Folder folder_;
  std::string sources_ = "2";
  std::string builders_ = "2";
  std::string unit_wait_ = "1min";
  std::string deadline_ = "1min";
  std::string builder_address_ = any_port;
  std::string manager_ = any_port;
  Part manager_process_;
  Part builder_[2];
  Part unit_[2];
};

const Words steady_load = {"--rate", "5k"};

class CliBuildManagedWires : public CliBuildManaged,
                             public ::testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(wires, CliBuildManagedWires, ::testing::Values("tcp", "shm"),
                         [](const auto& wire) { return std::string(wire.param); });

// One unit is started when the other one has sent everything, and misses nothing all the same.
TEST_P(CliBuildManagedWires, two_units_and_two_builders_build_every_event) {
  if (GetParam() == std::string("shm")) {
    manager_ = "shm://build-manager-of-" + std::to_string(::getpid());
    builder_address_ = "shm://*";
  }
  manager_process_ = manager(manager_);
  manager_ = address_of(*manager_process_);
  for (int each = 0; each < 2; ++each) builder_[each] = builder(each, {"--verify", "--complete"});
  unit_[0] = unit(0, {"--events", "20k"});
  ASSERT_TRUE(unit_[0]->wait_for_err("waiting for builders to be done")) << unit_[0]->err();
  unit_[1] = unit(1, {"--events", "20k", "--run", "1"});
  for (const Part& each : unit_) EXPECT_EQ(each->wait(60s), 0) << each->err();
  EXPECT_EQ(manager_process_->wait(), 0) << manager_process_->err();
  for (const Part& each : builder_) EXPECT_EQ(each->wait(), 0) << each->err();
  expect_all_built({"builder-0", "builder-1"}, 20'000);
  const auto books = report("manager");
  EXPECT_EQ(books["assigned"].get<int>() + books["again"].get<int>(),
            books["settled"].get<int>() + books["revoked"].get<int>());
  EXPECT_EQ(books["open"], 0);
  EXPECT_EQ(books["units"]["ended"], 2);
  std::uint64_t events = 0;
  std::uint64_t again = 0;
  for (const char* const name : {"builder-0", "builder-1"}) {
    const auto said = report(name);
    EXPECT_EQ(said["plan"]["managed"], true);
    EXPECT_EQ(said["manager"]["address"], manager_);
    EXPECT_EQ(said["manager"]["ended"], 1);
    EXPECT_EQ(said["manager"]["lost"], 0);
    EXPECT_EQ(said["incomplete"], 0);
    EXPECT_EQ(said["open"], 0);
    events += said["events"].get<std::uint64_t>();
    again += said["again"].get<std::uint64_t>();
  }
  EXPECT_GE(events, 20'000U);
  EXPECT_LE(events, 20'000U + again);
  for (const char* const name : {"unit-0", "unit-1"}) {
    const auto said = report(name);
    EXPECT_EQ(said["sent"], 20'000);
    EXPECT_EQ(said["settled"], 20'000);
    EXPECT_EQ(said["late"], 0);
    EXPECT_EQ(said["first"]["number"], 0);
    EXPECT_EQ(said["manager"]["came"], 1);
    EXPECT_EQ(said["builders"]["ended"].get<int>() + said["builders"]["connected"].get<int>(), 2);
    EXPECT_EQ(said["stop"], nullptr);
  }
}

TEST_F(CliBuildManaged, the_manager_says_where_the_run_ends) {
  manager_process_ = manager(manager_, {"--events", "5k"});
  manager_ = address_of(*manager_process_);
  for (int each = 0; each < 2; ++each) builder_[each] = builder(each);
  for (int each = 0; each < 2; ++each) unit_[each] = unit(each);
  for (const Part& each : unit_) EXPECT_EQ(each->wait(60s), 0) << each->err();
  EXPECT_EQ(manager_process_->wait(), 0) << manager_process_->err();
  for (const Part& each : builder_) EXPECT_EQ(each->wait(), 0) << each->err();
  expect_all_built({"builder-0", "builder-1"}, 5'000);
  EXPECT_EQ(report("unit-1")["next"]["number"], 5'000);
  EXPECT_EQ(report("unit-1")["stop"]["number"], 5'000);
}

TEST_F(CliBuildManaged, a_signal_to_the_manager_ends_all_in_order) {
  start_all(steady_load);
  ASSERT_TRUE(goes_on("builder-0") && goes_on("builder-1")) << manager_process_->err();
  drain();
  EXPECT_THAT(manager_process_->err(), HasSubstr("stopping in front of event "));
  expect_all_built({"builder-0", "builder-1"}, end_of_run());
  EXPECT_EQ(report("unit-0")["stop"]["number"], end_of_run());
}

TEST_F(CliBuildManaged, another_builder_takes_over_from_one_that_is_killed) {
  start_all({"--rate", "10k", "--events", "50k"});
  ASSERT_TRUE(goes_on("builder-1")) << builder_[1]->err();
  builder_[1]->signal(SIGKILL);
  EXPECT_EQ(builder_[1]->wait(), -SIGKILL);
  for (const Part& each : unit_) EXPECT_EQ(each->wait(60s), 0) << each->err();
  EXPECT_EQ(manager_process_->wait(60s), 0) << manager_process_->err();
  EXPECT_EQ(builder_[0]->wait(), 0) << builder_[0]->err();
  EXPECT_THAT(manager_process_->err(), HasSubstr("lost builder 1 "));
  EXPECT_EQ(report("manager")["builders"]["lost"], 1);
  EXPECT_EQ(report("unit-0")["settled"], 50'000);
  expect_all_built({"builder-0", "builder-1"}, 50'000);
}

TEST_F(CliBuildManaged, a_builder_that_is_restarted_at_another_port_takes_part_again) {
  start_all(steady_load);
  ASSERT_TRUE(goes_on("builder-1")) << builder_[1]->err();
  const std::string before = address_of(*builder_[1]);
  builder_[1]->signal(SIGKILL);
  EXPECT_EQ(builder_[1]->wait(), -SIGKILL);
  builder_[1] = builder(1, {"--verify"}, "again-1");
  EXPECT_NE(address_of(*builder_[1]), before);
  ASSERT_TRUE(goes_on("again-1")) << builder_[1]->err();
  drain();
  expect_all_built({"builder-0", "builder-1", "again-1"}, end_of_run());
  EXPECT_EQ(report("manager")["builders"]["restarted"], 1);
}

TEST_F(CliBuildManaged, a_new_manager_goes_on_and_nothing_is_lost) {
  manager_ = free_address();
  start_all(steady_load);
  ASSERT_TRUE(goes_on("builder-0") && goes_on("builder-1")) << manager_process_->err();
  manager_process_->signal(SIGKILL);
  EXPECT_EQ(manager_process_->wait(), -SIGKILL);
  manager_process_ = manager(manager_);
  ASSERT_EQ(address_of(*manager_process_), manager_);
  for (const Part& each : builder_) {
    ASSERT_TRUE(each->wait_for_err("is back anew")) << each->err();
  }
  ASSERT_TRUE(goes_on("builder-0") && goes_on("builder-1")) << manager_process_->err();
  drain();
  expect_all_built({"builder-0", "builder-1"}, end_of_run());
  EXPECT_EQ(report("builder-0")["manager"]["restarted"], 1);
  EXPECT_EQ(report("unit-0")["manager"]["restarted"], 1);
}

// It comes back, and begins above what the other unit has produced.
TEST_F(CliBuildManaged, only_events_that_a_killed_unit_has_not_sent_are_incomplete) {
  unit_wait_ = "1s";
  deadline_ = "1s";
  start_all(steady_load, {});
  ASSERT_TRUE(goes_on("builder-0")) << builder_[0]->err();
  unit_[1]->signal(SIGKILL);
  EXPECT_EQ(unit_[1]->wait(), -SIGKILL);
  const auto last_state = [&] {
    const auto lines = index_of(index("builder-0"));
    return lines.empty() ? "" : lines.back().state;
  };
  ASSERT_TRUE(wait_until([&] { return last_state() == "incomplete"; })) << builder_[0]->err();
  unit_[1] = unit(1, steady_load);
  ASSERT_TRUE(unit_[1]->wait_for_err("begins with event ")) << unit_[1]->err();
  ASSERT_TRUE(wait_until([&] { return last_state() == "complete"; })) << builder_[0]->err();
  drain();
  const std::uint64_t end = end_of_run();
  const std::uint64_t begin = report("unit-1")["first"]["number"];
  std::map<std::uint64_t, EventLine> lines;
  for (const char* const folder : {"builder-0", "builder-1"}) {
    for (const EventLine& each : index_of(index(folder))) lines[each.number] = each;
  }
  EXPECT_EQ(lines.size(), end);
  std::uint64_t missing = 0;
  for (const auto& [number, line] : lines) {
    EXPECT_EQ(line.sources[0], "64") << number;
    if (line.sources[1] == "64") continue;
    ++missing;
    EXPECT_TRUE(number >= begin || line.sources[1] != "late" || line.state == "incomplete");
  }
  EXPECT_GT(missing, 0U);
  EXPECT_GT(begin, 0U);
  EXPECT_LT(begin, end);
  EXPECT_EQ(report("unit-0")["late"], 0);
}

TEST_F(CliBuildManaged, a_builder_that_hangs_hands_over_nothing_that_another_has_built) {
  start_all(steady_load);
  ASSERT_TRUE(goes_on("builder-0") && goes_on("builder-1")) << manager_process_->err();
  builder_[1]->signal(SIGSTOP);
  const auto is_marked = [](const EventLine& line) { return line.state == "complete again"; };
  const auto marked = [&] {
    return std::ranges::count_if(index_of(index("builder-0")), is_marked);
  };
  const auto before = marked();
  EXPECT_TRUE(wait_until([&] { return marked() > before; })) << manager_process_->err();
  builder_[1]->signal(SIGCONT);
  ASSERT_TRUE(goes_on("builder-1")) << builder_[1]->err();
  drain();
  expect_all_built({"builder-0", "builder-1"}, end_of_run());
  EXPECT_GT(report("manager")["revoked"], 0);
}

// What was assigned before the manager had heard of it is nobody's fault; what it is too slow for
// after that is its own.
TEST_F(CliBuildManaged, a_unit_that_joins_late_and_then_falls_behind_is_told_so) {
  builders_ = "1";
  unit_wait_ = "200ms";
  deadline_ = "1s";
  const Words load = {"--rate", "1k"};
  manager_process_ = manager(manager_);
  manager_ = address_of(*manager_process_);
  builder_[0] = builder(0);
  unit_[0] = unit(0, load);
  ASSERT_TRUE(goes_on("builder-0")) << builder_[0]->err();
  unit_[1] = unit(1, load);
  const auto has_fragment = [](const EventLine& line) { return line.sources[1] == "64"; };
  // Far more than the builder is given at a time: the unit has heard that the first ones are built.
  EXPECT_TRUE(wait_until([&] {
    return std::ranges::count_if(index_of(index("builder-0")), has_fragment) > 500;
  })) << unit_[1]->err();
  unit_[1]->signal(SIGSTOP);
  EXPECT_TRUE(wait_until([&] {
    const std::vector<EventLine> lines = index_of(index("builder-0"));
    const auto last = std::find_if(lines.rbegin(), lines.rend(), has_fragment);
    return last - lines.rbegin() > 50;
  })) << manager_process_->err();
  manager_process_->signal(SIGINT);
  unit_[1]->signal(SIGCONT);
  EXPECT_EQ(unit_[0]->wait(60s), 0) << unit_[0]->err();
  EXPECT_EQ(unit_[1]->wait(60s), 1) << unit_[1]->err();
  EXPECT_THAT(unit_[1]->err(), HasSubstr("too late: the builders were done with their events\n"));
  EXPECT_GT(report("unit-1")["late"], 50);
  EXPECT_GT(report("unit-1")["settled"], 0);
}

// The fragments of a source, in the order of events, are the file again.
TEST_F(CliBuildManaged, files_come_out_as_they_went_in) {
  std::vector<std::string> files = {
      folder_.write("a", datagrams(std::vector<std::size_t>(900, 1'000))),
      folder_.write("b", datagrams({24, 100'000, 2'000'000, 50, 24}))};
  for (const std::string& each : recordings()) files.push_back(each);
  sources_ = std::to_string(files.size());
  manager_process_ = manager(manager_);
  manager_ = address_of(*manager_process_);
  for (int each = 0; each < 2; ++each) builder_[each] = builder(each, {"--complete"});
  std::vector<Part> units;
  for (std::size_t source = 0; source < files.size(); ++source) {
    units.push_back(start("unit",
                          {"readout", "--manager", manager_, "--source", std::to_string(source),
                           "--sources", sources_, "--builders", builders_},
                          {"--file", files[source], "--frame", datagram_frame}));
  }
  for (const Part& each : units) EXPECT_EQ(each->wait(60s), 0) << each->err();
  EXPECT_EQ(manager_process_->wait(), 0) << manager_process_->err();
  for (const Part& each : builder_) EXPECT_EQ(each->wait(), 0) << each->err();
  for (std::size_t source = 0; source < files.size(); ++source) {
    std::map<std::uint64_t, std::string> fragments;
    for (const char* const folder : {"builder-0", "builder-1"}) {
      const std::string of = folder_.path(folder) + "/" + folder + "-source-";
      const std::string bytes = read_file(of + std::to_string(source) + ".dat");
      std::size_t at = 0;
      for (const EventLine& line : index_of(index(folder))) {
        const std::string& cell = line.sources[source];
        if (cell == "none") continue;
        fragments[line.number] = bytes.substr(at, std::stoull(cell));
        at += fragments[line.number].size();
      }
      EXPECT_EQ(at, bytes.size());
    }
    std::string whole;
    for (const auto& [number, fragment] : fragments) whole += fragment;
    EXPECT_TRUE(whole == read_file(files[source])) << source;
  }
}

// Also events that it had built below others.
TEST_F(CliBuildManaged, a_builder_that_is_killed_appends_each_event_once) {
  builders_ = "1";
  manager_process_ = manager(manager_);
  manager_ = address_of(*manager_process_);
  builder_[0] = builder(0, {"--append"});
  for (int each = 0; each < 2; ++each) unit_[each] = unit(each, steady_load);
  for (int kills = 0; kills < 2; ++kills) {
    ASSERT_TRUE(goes_on("builder-0")) << builder_[0]->err();
    builder_[0]->signal(SIGKILL);
    EXPECT_EQ(builder_[0]->wait(), -SIGKILL);
    builder_[0] = builder(0, {"--append"});
  }
  ASSERT_TRUE(goes_on("builder-0")) << builder_[0]->err();
  manager_process_->signal(SIGINT);
  EXPECT_EQ(manager_process_->wait(60s), 130) << manager_process_->err();
  EXPECT_EQ(builder_[0]->wait(60s), 0) << builder_[0]->err();
  for (const Part& each : unit_) EXPECT_EQ(each->wait(60s), 0) << each->err();
  EXPECT_EQ(index_of(index("builder-0")).size(), end_of_run());
  expect_all_built({"builder-0"}, end_of_run());
}

TEST_F(CliBuildManaged, another_plan_is_refused_in_words) {
  manager_process_ = manager(manager_);
  manager_ = address_of(*manager_process_);
  sources_ = "3";
  const Part unit = this->unit(0, {"--connect-timeout", "3s"});
  const Part builder = this->builder(0, {"--connect-timeout", "3s"});
  for (const Part* const each : {&unit, &builder}) {
    EXPECT_EQ((*each)->wait(), 1) << (*each)->err();
    EXPECT_THAT((*each)->err(), HasSubstr("sources: 2 at the manager, 3 at the "));
    EXPECT_THAT((*each)->err(), HasSubstr("give the manager and all units and builders the same"));
  }
  EXPECT_GE(report("unit-0")["manager"]["refused"], 1);
  EXPECT_EQ(report("unit-0")["manager"]["came"], 0);
  manager_process_->signal(SIGINT);
  EXPECT_EQ(manager_process_->wait(), 130);
}

TEST_F(CliBuildManaged, a_manager_that_is_not_there_is_waited_for_as_long_as_was_asked) {
  manager_ = "tcp://127.0.0.1:1";
  const Part unit = this->unit(0, {"--connect-timeout", "300ms"});
  const Part builder = this->builder(0, {"--connect-timeout", "300ms"});
  for (const Part* const each : {&unit, &builder}) {
    EXPECT_EQ((*each)->wait(), 1) << (*each)->err();
    EXPECT_THAT((*each)->err(), HasSubstr("manager tcp://127.0.0.1:1 did not come within 0.300 s"));
    EXPECT_THAT((*each)->err(), HasSubstr("--connect-timeout waits longer"));
  }
}

TEST_F(CliBuildManaged, what_makes_no_sense_ends_with_2_and_names_the_option) {
  const Words readout = {"readout", "--source", "0", "--sources", "2"};
  const Words builder = {"builder", "--builder", "0", "--sources", "2"};
  const std::string manager = "tcp://127.0.0.1:1";
  const std::vector<std::pair<std::pair<Words, Words>, std::string>> cases = {
      {{readout, {"--manager", manager, any_port}}, "--manager: the manager says where builders"},
      {{readout, {any_port, "--builders", "1"}}, "--builders: is for a unit with --manager"},
      {{readout, {"--manager", "udp://h:1"}}, "there is no transport 'udp'"},
      {{builder, {}}, "ADDRESS is required"},
      {{builder, {any_port}}, "--builders is required"},
      {{builder, {any_port, "--builders", "1", "--weight", "2"}},
       "--weight: is for a builder with"},
      {{builder, {any_port, "--builders", "1", "--credit", "2"}},
       "--credit: is for a builder with"},
      {{builder, {"--manager", manager, "--credit", "0"}}, "--credit: is 1 to 1024 ranges, not 0"},
      {{builder, {"--manager", manager, "--weight", "0"}}, "--weight"},
      {{builder, {"--manager", manager, "--meet-within", "1s"}},
       "--meet-within: is for a builder without an event manager"},
      {{builder, {"--manager", manager, any_port, any_port}}, "is there twice"},
      {{builder, {"--manager", manager, "--builder", "1"}}, "--builder"},
  };
  for (const auto& [words, text] : cases) {
    const Part process = start("wrong", words.first, words.second);
    EXPECT_EQ(process->wait(), 2) << ::testing::PrintToString(words);
    EXPECT_THAT(process->err(), HasSubstr(text)) << ::testing::PrintToString(words);
  }
}

}  // namespace
}  // namespace netio::test
