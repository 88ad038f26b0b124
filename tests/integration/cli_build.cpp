// netio build: units and builders in processes of their own, what is built when one of them is
// killed, and what is said when they do not fit each other.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/build_support.hpp"
#include "integration/cli_support.hpp"
#include "support/raw_tcp.hpp"
#include "support/time_limit.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;
using Running = std::unique_ptr<Process>;

class CliBuild : public ::testing::Test {
 protected:
  CliBuild() { extend_time_limit(3); }

  [[nodiscard]] std::string json_option(const std::string& name) const {
    return "--json=" + folder_.path(name + ".json");
  }
  [[nodiscard]] nlohmann::json report(const std::string& name) const {
    return read_json(folder_.path(name + ".json"));
  }
  // Its report is "builder-N".
  [[nodiscard]] Running builder(const std::string& address, int number, int builders, int sources,
                                const Words& more = {}) const {
    Words words = {"build",        "builder",
                   address,        "--builder",
                   text(number),   "--builders",
                   text(builders), "--sources",
                   text(sources),  json_option("builder-" + text(number))};
    words.insert(words.end(), more.begin(), more.end());
    return std::make_unique<Process>(netio_command(words));
  }
  // Its report is "unit-N".
  [[nodiscard]] Running unit(const Words& addresses, int source, int sources,
                             const Words& more = {}) const {
    Words words = {"build", "readout"};
    words.insert(words.end(), addresses.begin(), addresses.end());
    words.insert(words.end(), {"--source", text(source), "--sources", text(sources),
                               json_option("unit-" + text(source))});
    words.insert(words.end(), more.begin(), more.end());
    return std::make_unique<Process>(netio_command(words));
  }
  static std::string text(int number) { return std::to_string(number); }

  Folder folder_;
};

// With the address of any builder, and of one that is started again.
class CliBuildWires : public CliBuild, public ::testing::WithParamInterface<const char*> {
 protected:
  [[nodiscard]] static std::string any() {
    return tcp() ? std::string(any_port) : std::string("shm://*");
  }
  [[nodiscard]] static std::string fixed() {
    if (tcp()) return free_address();
    return "shm://build-again-" + std::to_string(::getpid());
  }
  [[nodiscard]] static bool tcp() { return GetParam() == std::string("tcp"); }
};

INSTANTIATE_TEST_SUITE_P(wires, CliBuildWires, ::testing::Values("tcp", "shm"),
                         [](const auto& wire) { return std::string(wire.param); });

TEST_P(CliBuildWires, three_units_and_two_builders_build_every_event) {
  const Words plan = {"--range", "16"};
  const Words checks = {"--range", "16", "--verify", "--complete", "--deadline", "1min"};
  const auto first = builder(any(), 0, 2, 3, checks);
  const auto second = builder(any(), 1, 2, 3, checks);
  const Words addresses = {address_of(*first), address_of(*second)};
  std::vector<Running> units;
  for (int source = 0; source < 3; ++source) {
    units.push_back(unit(addresses, source, 3,
                         {"--range", "16", "--events", "20k", "--size", text(100 + 900 * source),
                          "--run", "7", "--first-event", "1000"}));
  }
  for (const Running& each : units) EXPECT_EQ(each->wait(60s), 0) << each->err();
  for (const auto* each : {&first, &second}) EXPECT_EQ((*each)->wait(), 0) << (*each)->err();
  std::uint64_t events = 0;
  std::uint64_t right = 0;
  for (const char* const name : {"builder-0", "builder-1"}) {
    const auto said = report(name);
    EXPECT_EQ(said["outcome"], "done");
    EXPECT_EQ(said["incomplete"], 0);
    EXPECT_EQ(said["again"], 0);
    EXPECT_EQ(said["open"], 0);
    EXPECT_EQ(said["units"]["ended"], 3);
    EXPECT_EQ(said["verification"]["passed"], true);
    events += said["events"].get<std::uint64_t>();
    right += said["verification"]["right"].get<std::uint64_t>();
  }
  EXPECT_EQ(events, 20'000U);
  EXPECT_EQ(right, 60'000U);
  for (const char* const name : {"unit-0", "unit-1", "unit-2"}) {
    const auto said = report(name);
    EXPECT_EQ(said["settled"], 20'000);
    EXPECT_EQ(said["built"], 20'000);
    EXPECT_EQ(said["held"], 0);
    EXPECT_EQ(said["next"]["number"], 21'000);
  }
  EXPECT_THAT(units[0]->out(), HasSubstr("events      1,000 to 20,999 of run 7"));
  EXPECT_THAT(units[0]->out(), HasSubstr("20,000 built, 0 in incomplete events, 0 dropped"));
  EXPECT_THAT(second->err(), HasSubstr("netio build builder: unit 2 "));
  EXPECT_THAT(units[1]->err(), HasSubstr("netio build readout: builder 1 "));
}

// Nothing is lost, and what both runs have built is marked in the second.
TEST_P(CliBuildWires, a_builder_that_is_killed_is_sent_again_what_it_was_not_done_with) {
  const std::string address = fixed();
  const std::string folders[] = {folder_.path("before"), folder_.path("after")};
  const Words more = {"--verify", "--complete", "--deadline", "1min"};
  const auto with_out = [&](const std::string& out) {
    Words words = more;
    words.insert(words.end(), {"--out", out});
    return words;
  };
  auto killed = builder(address, 1, 2, 2, with_out(folders[0]));
  ASSERT_EQ(address_of(*killed), address);
  const auto other = builder(any(), 0, 2, 2, more);
  const Words addresses = {address_of(*other), address};
  const Words load = {"--events", "200k", "--rate", "50k", "--size", "64", "--store", "256KiB"};
  const auto first = unit(addresses, 0, 2, load);
  const auto second = unit(addresses, 1, 2, load);
  const std::string before = folders[0] + "/builder-1-events.tsv";
  ASSERT_TRUE(wait_until([&] { return read_file(before).size() > 100'000; })) << killed->err();
  killed->signal(SIGKILL);
  EXPECT_EQ(killed->wait(), -SIGKILL);
  const auto again = builder(address, 1, 2, 2, with_out(folders[1]));
  for (const auto* each : {&first, &second, &other, &again}) {
    EXPECT_EQ((*each)->wait(60s), 0) << (*each)->err();
  }
  EXPECT_THAT(first->err(), HasSubstr("lost builder 1 " + address));
  EXPECT_THAT(first->err(), HasSubstr("is back anew"));
  EXPECT_EQ(report("unit-0")["builders"]["restarted"], 1);
  EXPECT_EQ(report("unit-0")["settled"], 200'000);

  std::map<std::uint64_t, int> built;
  for (const EventLine& line : index_of(before)) ++built[line.number];
  std::uint64_t marked = 0;
  for (const EventLine& line : index_of(folders[1] + "/builder-1-events.tsv")) {
    const bool is_marked = line.state == "complete again";
    marked += is_marked ? 1 : 0;
    EXPECT_TRUE(is_marked || !built.contains(line.number)) << line.number;
    ++built[line.number];
  }
  EXPECT_EQ(report("builder-1")["again"], marked);
  const auto whole = report("builder-0")["events"].get<std::uint64_t>() + built.size();
  EXPECT_EQ(whole, 200'000U);
}

TEST_P(CliBuildWires, a_builder_that_is_killed_appends_each_event_once) {
  const std::string address = fixed();
  const std::string out = folder_.path("events");
  const Words more = {"--complete", "--deadline", "1min", "--out", out, "--append"};
  auto builder = this->builder(address, 0, 1, 2, more);
  ASSERT_EQ(address_of(*builder), address);
  const std::string first_bytes = some_bytes(10'000'000);
  const std::string second_bytes = some_bytes(5'000'000, 2);
  const auto replay = [&](int source, const std::string& bytes, const char* frame) {
    const std::string file = folder_.write(text(source), bytes);
    return unit({address}, source, 2, {"--file", file, "--frame", frame, "--rate", "50k"});
  };
  const auto first = replay(0, first_bytes, "fixed:100");
  const auto second = replay(1, second_bytes, "fixed:50");
  const std::string index = out + "/builder-0-events.tsv";
  for (int kills = 0; kills < 3; ++kills) {
    const std::size_t there = read_file(index).size();
    ASSERT_TRUE(wait_until([&] { return read_file(index).size() > there + 50'000; }))
        << builder->err();
    builder->signal(SIGKILL);
    EXPECT_EQ(builder->wait(), -SIGKILL);
    builder = this->builder(address, 0, 1, 2, more);
  }
  for (const auto* each : {&first, &second, &std::as_const(builder)}) {
    EXPECT_EQ((*each)->wait(60s), 0) << (*each)->err();
  }
  EXPECT_EQ(read_file(out + "/builder-0-source-0.dat"), first_bytes);
  EXPECT_EQ(read_file(out + "/builder-0-source-1.dat"), second_bytes);
  const auto lines = index_of(index);
  ASSERT_EQ(lines.size(), 100'000U);
  for (std::size_t i = 0; i < lines.size(); ++i) ASSERT_EQ(lines[i].number, i);
}

TEST_F(CliBuild, files_that_one_builder_writes_are_refused_to_another) {
  const Words words = {"--out", folder_.path("events"), "--append"};
  auto first = builder(any_port, 0, 1, 1, words);
  (void)address_of(*first);
  auto second = builder(any_port, 0, 1, 1, words);
  EXPECT_EQ(second->wait(), 1);
  EXPECT_THAT(second->err(), HasSubstr("another process writes"));
  EXPECT_TRUE(first->running());
  first->signal(SIGKILL);
  EXPECT_EQ(first->wait(), -SIGKILL);
  second = builder(any_port, 0, 1, 1, words);
  EXPECT_FALSE(address_of(*second).empty()) << second->err();
}

// Each event would wait for its own deadline otherwise, and the units would not end for minutes.
TEST_P(CliBuildWires, a_unit_that_is_killed_is_missing_in_its_events_and_holds_up_no_other) {
  const std::string out = folder_.path("events");
  const auto builder = this->builder(any(), 0, 1, 3, {"--deadline", "5s", "--out", out});
  const Words addresses = {address_of(*builder)};
  const Words load = {"--events", "6k", "--rate", "1k", "--size", "300"};
  const auto first = unit(addresses, 0, 3, load);
  const auto second = unit(addresses, 1, 3, load);
  const auto killed = unit(addresses, 2, 3, load);
  const std::string index = out + "/builder-0-events.tsv";
  ASSERT_TRUE(wait_until([&] { return read_file(index).size() > 1'000; })) << builder->err();
  killed->signal(SIGKILL);
  EXPECT_EQ(killed->wait(), -SIGKILL);
  EXPECT_EQ(first->wait(60s), 0) << first->err();
  EXPECT_EQ(second->wait(60s), 0) << second->err();
  EXPECT_THAT(builder->err(), HasSubstr("lost unit 2 "));
  EXPECT_THAT(builder->err(), HasSubstr("is incomplete: unit 2 "));
  EXPECT_TRUE(builder->running()) << "it may come back";
  builder->signal(SIGINT);
  EXPECT_EQ(builder->wait(), 130);
  const auto said = report("builder-0");
  EXPECT_EQ(said["events"], 6'000);
  EXPECT_GT(said["incomplete"], 0);
  EXPECT_GT(said["complete"], 0);
  EXPECT_EQ(said["units"]["lost"], 1);
  const auto& missing = said["sources"][2]["missing"];
  EXPECT_EQ(said["incomplete"],
            missing["not_connected"].get<std::uint64_t>() + missing["late"].get<std::uint64_t>());
  EXPECT_EQ(said["sources"][0]["late"], 0);
  const auto lines = index_of(index);
  ASSERT_EQ(lines.size(), 6'000U);
  EXPECT_EQ(lines.back().state, "incomplete");
  EXPECT_EQ(lines.back().sources, (Words{"300", "300", "not_connected"}));
}

// Both sides say the same of each fragment.
TEST_P(CliBuildWires, a_unit_that_hangs_is_told_how_many_of_its_fragments_were_too_late) {
  const auto builder = this->builder(any(), 0, 1, 2, {"--deadline", "2s"});
  const Words addresses = {address_of(*builder)};
  const Words load = {"--events", "6k", "--rate", "1k", "--size", "300"};
  const auto first = unit(addresses, 0, 2, load);
  const auto hangs = unit(addresses, 1, 2, load);
  ASSERT_TRUE(hangs->wait_for_err("builder 0 " + address_of(*builder))) << hangs->err();
  hangs->signal(SIGSTOP);
  EXPECT_TRUE(builder->wait_for_err("is incomplete: unit 1 ")) << builder->err();
  hangs->signal(SIGCONT);
  EXPECT_EQ(first->wait(60s), 0) << first->err();
  EXPECT_EQ(hangs->wait(60s), 1);
  EXPECT_THAT(hangs->err(), HasSubstr("too late: the builders were done with their events"));
  EXPECT_EQ(builder->wait(60s), 0) << builder->err();
  const auto events = report("builder-0");
  const auto whole = report("unit-0");
  const auto late = report("unit-1");
  EXPECT_EQ(events["events"], 6'000);
  EXPECT_GT(events["incomplete"], 0);
  EXPECT_EQ(whole["built"], events["complete"]);
  EXPECT_EQ(whole["incomplete"], events["incomplete"]);
  EXPECT_EQ(whole["late"], 0);
  EXPECT_EQ(late["built"], events["complete"]);
  EXPECT_EQ(late["incomplete"], 0);
  EXPECT_EQ(late["late"], events["incomplete"]);
  EXPECT_EQ(late["settled"].get<int>() + late["late"].get<int>(), 6'000);
}

class CliStoppedBuilder : public CliBuild, public ::testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(wires, CliStoppedBuilder,
                         ::testing::Values("tcp://127.0.0.1:0", "shm://*", "netio://127.0.0.1:0"),
                         [](const auto& address) {
                           const std::string text(address.param);
                           return text.substr(0, text.find(':'));
                         });

// The store of unit 1 is full before that of unit 0, which is ahead of it from then on.
TEST_P(CliStoppedBuilder, leaves_the_events_of_another_one_whole) {
  const Words checks = {"--verify", "--complete", "--deadline", "3s"};
  const auto healthy = builder(GetParam(), 0, 2, 2, checks);
  const auto stopped = builder(GetParam(), 1, 2, 2, checks);
  const Words addresses = {address_of(*healthy), address_of(*stopped)};
  const Words load = {"--rate", "5k", "--events", "40k", "--size"};
  const auto unit_of = [&](int source, const std::string& size) {
    Words words = load;
    words.push_back(size);
    return unit(addresses, source, 2, words);
  };
  const auto first = unit_of(0, "10kB");
  const auto second = unit_of(1, "12kB");
  for (const auto* each : {&first, &second}) {
    ASSERT_TRUE((*each)->wait_for_err("builder 1 " + address_of(*stopped))) << (*each)->err();
  }
  stopped->signal(SIGSTOP);
  for (const auto* each : {&first, &second}) {
    EXPECT_TRUE((*each)->wait_for_err(" % of it for builder 1")) << (*each)->err();
  }
  // There is a line each second, so that is more than a deadline.
  EXPECT_TRUE(healthy->wait_for_new_err(" wait for unit 1, whose store is full", 5))
      << healthy->err();
  stopped->signal(SIGCONT);
  for (const auto* each : {&first, &second, &healthy, &stopped}) {
    EXPECT_EQ((*each)->wait(60s), 0) << (*each)->err();
  }
  for (const char* const name : {"unit-0", "unit-1"}) EXPECT_EQ(report(name)["settled"], 40'000);
  std::uint64_t events = 0;
  for (const char* const name : {"builder-0", "builder-1"}) {
    const auto said = report(name);
    EXPECT_EQ(said["incomplete"], 0);
    EXPECT_EQ(said["again"], 0);
    events += said["events"].get<std::uint64_t>();
  }
  EXPECT_EQ(events, 40'000U);
}

TEST_P(CliBuildWires, files_come_out_as_they_went_in) {
  std::vector<std::string> files = {
      folder_.write("a", datagrams(std::vector<std::size_t>(900, 1'000))),
      folder_.write("b", datagrams({24, 100'000, 2'000'000, 50, 24}))};
  for (const std::string& each : recordings()) files.push_back(each);
  const int sources = static_cast<int>(files.size());
  const std::string out = folder_.path("events");
  const auto builder =
      this->builder(any(), 0, 1, sources, {"--out", out, "--complete", "--deadline", "1min"});
  const Words addresses = {address_of(*builder)};
  std::vector<Running> units;
  for (int source = 0; source < sources; ++source) {
    units.push_back(
        unit(addresses, source, sources,
             {"--file", files[static_cast<std::size_t>(source)], "--frame", datagram_frame}));
  }
  for (const Running& each : units) EXPECT_EQ(each->wait(60s), 0) << each->err();
  EXPECT_EQ(builder->wait(), 0) << builder->err();
  for (int source = 0; source < sources; ++source) {
    const std::string name = "/builder-0-source-" + text(source) + ".dat";
    EXPECT_TRUE(read_file(out + name) == read_file(files[static_cast<std::size_t>(source)]))
        << name;
  }
  const auto lines = index_of(out + "/builder-0-events.tsv");
  ASSERT_GE(lines.size(), 900U);
  EXPECT_EQ(lines[1].sources[1], "100000");
  EXPECT_EQ(lines[5].sources[1], "none");  // that file has ended
  EXPECT_EQ(lines[5].state, "complete");
}

TEST_F(CliBuild, another_plan_is_refused_in_words_and_once) {
  const auto builder = this->builder(any_port, 0, 1, 3);
  const Words addresses = {address_of(*builder)};
  const auto wrong = unit(addresses, 0, 2, {"--connect-timeout", "3s", "--events", "10"});
  EXPECT_EQ(wrong->wait(), 1) << wrong->err();
  EXPECT_THAT(wrong->err(), HasSubstr("sources: 3 at the builder, 2 at the unit"));
  EXPECT_THAT(wrong->err(), HasSubstr("give all units and builders the same plan"));
  EXPECT_THAT(builder->err(), HasSubstr("refused tcp://"));
  const std::string words = "netio build builder: refused ";
  const std::string said = builder->err();
  EXPECT_EQ(said.find(words), said.rfind(words)) << said;
  builder->signal(SIGINT);
  EXPECT_EQ(builder->wait(), 130);
  EXPECT_GE(report("builder-0")["units"]["refused"], 2);
  EXPECT_EQ(report("builder-0")["units"]["came"], 0);
  EXPECT_EQ(report("unit-0")["builders"]["refused"], 1) << "it was told once";
}

TEST_F(CliBuild, builders_in_another_order_are_refused) {
  const auto first = builder(any_port, 0, 2, 1);
  const auto second = builder(any_port, 1, 2, 1);
  const auto wrong = unit({address_of(*second), address_of(*first)}, 0, 1);
  EXPECT_TRUE(wrong->wait_for_err("looks for builder 0, and this is builder 1")) << wrong->err();
  EXPECT_TRUE(wrong->wait_for_err("looks for builder 1, and this is builder 0")) << wrong->err();
  EXPECT_TRUE(first->wait_for_err("a unit: it looks for builder 1, and this is builder 0"));
  wrong->signal(SIGINT);
  EXPECT_EQ(wrong->wait(), 130);
  EXPECT_EQ(report("unit-0")["builders"]["came"], 0);
}

TEST_F(CliBuild, what_is_missing_fails_if_all_was_wanted) {
  const auto builder = this->builder(
      any_port, 0, 1, 2,
      {"--deadline", "100ms", "--meet-within", "0s", "--events", "10", "--complete", "--verify"});
  const auto unit = this->unit({address_of(*builder)}, 0, 2, {"--rate", "1k"});
  EXPECT_EQ(builder->wait(), 1) << builder->err();
  EXPECT_THAT(builder->err(), HasSubstr("10 of 10 events incomplete: unit 1: 10 not connected"));
  EXPECT_EQ(report("builder-0")["events"], 10);
  EXPECT_TRUE(unit->wait_for_err("has ended")) << unit->err();
  EXPECT_TRUE(unit->running());
  unit->signal(SIGINT);
  EXPECT_EQ(unit->wait(), 130);
  EXPECT_EQ(report("unit-0")["settled"], 10) << "the others stay with the unit";
}

TEST_F(CliBuild, fragments_of_another_kind_do_not_verify) {
  const auto builder = this->builder(any_port, 0, 1, 1, {"--verify"});
  const auto unit = this->unit({address_of(*builder)}, 0, 1,
                               {"--file", folder_.write("lines", "one\ntwo\n"), "--frame", "line"});
  EXPECT_EQ(unit->wait(), 0) << unit->err();
  EXPECT_EQ(builder->wait(), 1);
  EXPECT_THAT(builder->err(), HasSubstr("verification failed: 2 fragments wrong"));
  EXPECT_THAT(builder->err(), HasSubstr("--verify is for generated load"));
}

TEST_F(CliBuild, a_full_store_waits_or_drops) {
  const Words nowhere = {"tcp://127.0.0.1:1"};
  const Words load = {"--events", "1k", "--size", "1000", "--store", "100k", "--linger", "0s"};
  Words drops = load;
  drops.insert(drops.end(), {"--when-full", "drop"});
  const auto dropping = unit(nowhere, 0, 2, drops);
  EXPECT_EQ(dropping->wait(), 3) << dropping->err();
  EXPECT_THAT(dropping->err(), HasSubstr("the builders are not done with "));
  const auto dropped = report("unit-0");
  EXPECT_EQ(dropped["sent"], 1'000);
  EXPECT_EQ(dropped["dropped"].get<int>() + dropped["held"].get<int>(), 1'000);
  EXPECT_GT(dropped["dropped"], 800);

  const auto waiting = unit(nowhere, 1, 2, load);
  EXPECT_TRUE(waiting->wait_for_err("held up: the store is full, builder 0 missing"))
      << waiting->err();
  waiting->signal(SIGINT);
  EXPECT_EQ(waiting->wait(), 130);
  EXPECT_EQ(report("unit-1")["busy"], 1);
  EXPECT_EQ(report("unit-1")["dropped"], 0);
}

TEST_F(CliBuild, a_signal_ends_both_in_order) {
  const auto builder = this->builder(any_port, 0, 1, 1, {"--verify"});
  const auto unit = this->unit({address_of(*builder)}, 0, 1, {"--rate", "1k"});
  ASSERT_TRUE(builder->wait_for_err("is connected"));
  ASSERT_TRUE(unit->wait_for_err("is connected"));
  unit->signal(SIGINT);
  EXPECT_EQ(unit->wait(), 130);
  EXPECT_EQ(report("unit-0")["held"], 0);
  EXPECT_EQ(report("unit-0")["outcome"], "interrupted");
  EXPECT_EQ(builder->wait(), 0) << builder->err();
  EXPECT_EQ(report("builder-0")["events"], report("unit-0")["settled"]);
}

TEST_F(CliBuild, files_of_an_earlier_run_are_not_overwritten) {
  const std::string out = folder_.path("events");
  const auto first = builder(any_port, 0, 1, 1, {"--out", out});
  const auto unit = this->unit({address_of(*first)}, 0, 1, {"--events", "3"});
  EXPECT_EQ(unit->wait(), 0) << unit->err();
  EXPECT_EQ(first->wait(), 0) << first->err();
  const auto second = builder(any_port, 0, 1, 1, {"--out", out});
  EXPECT_EQ(second->wait(), 1);
  EXPECT_THAT(second->err(), HasSubstr("is there from an earlier run"));
  EXPECT_THAT(second->err(), HasSubstr("--append"));
  const auto other_plan = builder(any_port, 0, 1, 2, {"--out", out, "--append"});
  EXPECT_EQ(other_plan->wait(), 1);
  EXPECT_THAT(other_plan->err(), HasSubstr("is of another plan"));
  EXPECT_EQ(index_of(out + "/builder-0-events.tsv").size(), 3U);
}

TEST_F(CliBuild, what_makes_no_sense_ends_with_2_and_names_the_option) {
  const std::string address = "tcp://127.0.0.1:1";
  const auto readout = [&](const Words& more) {
    Words words = {"build", "readout", address, "--source", "0", "--sources", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const auto builder = [&](const Words& more) {
    Words words = {"build",      "builder", address,     "--builder", "0",
                   "--builders", "1",       "--sources", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const std::vector<std::pair<Words, std::string>> cases = {
      {{"build"}, "a command is missing: readout, builder"},
      {{"build", "bilder"}, "did you mean builder?"},
      {{"build", "readout", "--source", "0", "--sources", "1"}, "ADDRESS is required"},
      {{"build", "readout", address, "--sources", "1"}, "--source is required"},
      {{"build", "builder", address, "--builder", "0", "--builders", "1"}, "--sources is required"},
      {{"build", "readout", address, "--source", "2", "--sources", "2"},
       "--source: there is no source 2: with --sources 2 they are numbered from 0 to 1"},
      {{"build", "builder", address, "--builder", "1", "--builders", "1", "--sources", "2"},
       "--builder: there is no builder 1"},
      {readout({address}), "is there twice"},
      {readout({"run.dat"}), "address \"run.dat\": the scheme is missing"},
      {readout({"inproc://x"}), "two commands meet at shm://NAME"},
      {readout({"--size", "31"}), "at least 32 bytes"},
      {readout({"--size", "2GiB"}), "--size: 2 GiB is larger than --message-max"},
      {readout({"--size", "64KiB", "--store", "64KiB"}), "does not fit --store, 64 KiB"},
      {readout({"--size", "64", "--file", "x"}), "--file"},
      {readout({"--frame", "line"}), "--file"},
      {readout({"--rate", "0"}), "is not a rate"},
      {readout({"--range", "0"}), "--range: is 1 to 2^48 events"},
      {readout({"--run", "5G"}), "--run: is at most 4,294,967,295"},
      {readout({"--when-full", "panic"}), "is again or drop"},
      {readout({"--linger", "long"}), "is not a time"},
      {builder({"--deadline", "0"}), "--deadline: is more than 0"},
      {builder({"--window", "1k"}), "--window: is at least 16KiB"},
      {builder({"--append"}), "--out"},
      {builder({"--events", "0"}), "is at least 1"},
      {builder({"--sources", "70k"}), "--sources"},
      {builder({"--verfy"}), "did you mean --verify?"},
  };
  for (const auto& [words, text] : cases) {
    Process process(netio_command(words));
    EXPECT_EQ(process.wait(), 2) << ::testing::PrintToString(words);
    EXPECT_THAT(process.err(), HasSubstr(text)) << ::testing::PrintToString(words);
    EXPECT_EQ(process.out(), "");
  }
}

TEST_F(CliBuild, what_cannot_be_had_ends_with_1_and_says_why) {
  Process no_file(netio_command({"build", "readout", "tcp://127.0.0.1:1", "--source", "0",
                                 "--sources", "1", "--file", folder_.path("nothing")}));
  EXPECT_EQ(no_file.wait(), 1);
  EXPECT_THAT(no_file.err(), HasSubstr("netio build readout: error: cannot open "));
  const auto no_folder =
      builder(any_port, 0, 1, 1, {"--out", folder_.write("file", "x") + "/folder"});
  EXPECT_EQ(no_folder->wait(), 1);
  EXPECT_THAT(no_folder->err(), HasSubstr("cannot make the folder "));
  Process pull(netio_command({"recv", any_port}));
  const auto astray = unit({address_of(pull)}, 0, 1);
  EXPECT_EQ(astray->wait(), 1);
  EXPECT_THAT(astray->err(), HasSubstr("a pull socket is at one end and a readout socket at the"));
  EXPECT_THAT(astray->err(), HasSubstr("netio build readout with netio build builder"));
  const auto absent = unit({"tcp://127.0.0.1:1"}, 0, 1, {"--connect-timeout", "300ms"});
  EXPECT_EQ(absent->wait(), 1);
  EXPECT_THAT(absent->err(), HasSubstr("builder 0 tcp://127.0.0.1:1 did not come within 0.300 s"));
}

TEST_F(CliBuild, help_has_examples_and_exit_codes) {
  for (const char* const command : {"readout", "builder"}) {
    Process process(netio_command({"build", command, "--help"}));
    EXPECT_EQ(process.wait(), 0);
    EXPECT_THAT(process.out(), HasSubstr("\n  netio build " + std::string(command) + " "));
    EXPECT_THAT(process.out(), HasSubstr("Exit codes: 0 "));
  }
}

}  // namespace
}  // namespace netio::test
