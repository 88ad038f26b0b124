// An event manager over every transport, with units and builders that say what a test wants.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "conformance/conformance.hpp"
#include "conformance/manager_members.hpp"

namespace netio::test {
namespace {

constexpr std::uint32_t members = 2;  // units, and builders
constexpr std::uint64_t range = 16;
const detail::BuildPlan managed{members, members, range, true};

class EventManagement : public testing::TestWithParam<Row> {
 protected:
  void SetUp() override {
    if (const std::string why = GetParam().why_absent(); !why.empty()) GTEST_SKIP() << why;
    make_manager(GetParam().address);
  }

  void make_manager(const std::string& address) {
    ManagerOptions options;
    options.plan = {members, members, range, true};
    // A guest with an emulated CPU takes longer than that to say anything.
    const bool slow = GetParam().address.starts_with("verbs");
    options.lease = options.wait = slow ? 1s : 100ms;
    manager_ = std::make_unique<EventManager>(there_, options);
    manager_->on_refused(
        [this](const PeerInfo&, std::string_view why) { refused_.emplace_back(why); });
    address_ = manager_->bind(address);
  }
  void make_unit(std::uint32_t source) {
    units_[source] = std::make_unique<ScriptedUnit>(here_, managed, source);
    units_[source]->connect(address_);
  }
  void make_builder(std::uint32_t number, const detail::Addresses& addresses = {}) {
    builders_[number] = std::make_unique<ScriptedBuilder>(here_, managed, number);
    builders_[number]->addresses = addresses;
    builders_[number]->connect(address_);
  }
  void make_members() {
    for (std::uint32_t number = 0; number < members; ++number) make_unit(number);
    for (std::uint32_t number = 0; number < members; ++number) make_builder(number);
    ASSERT_SOON(pump_, units_[0]->welcomes == 1 && units_[1]->welcomes == 1);
    ASSERT_SOON(pump_, builders_[0]->has_lease() && builders_[1]->has_lease());
  }
  void produce(std::uint64_t below) {
    for (const auto& unit : units_) unit->produce(below);
  }

  Context here_{small_context()};
  Context there_{small_context()};
  Pump pump_{&here_, &there_};
  std::unique_ptr<EventManager> manager_;
  std::string address_;
  std::vector<std::string> refused_;
  std::vector<std::unique_ptr<ScriptedUnit>> units_{members};
  std::vector<std::unique_ptr<ScriptedBuilder>> builders_{members};
};

TEST_P(EventManagement, assigns_what_all_units_have_produced_and_settles_what_is_done) {
  make_members();
  units_[0]->produce(2 * range);
  units_[1]->produce(range);
  ASSERT_SOON(pump_, manager_->books().assigned == 1);
  ASSERT_SOON(pump_, units_[0]->is_open(0) && units_[1]->is_open(0));
  EXPECT_FALSE(units_[0]->find(0)->again);
  units_[1]->produce(2 * range);
  ASSERT_SOON(pump_, builders_[0]->open.size() == 1 && builders_[1]->open.size() == 1);
  ASSERT_SOON(pump_, units_[0]->is_open(range) && units_[1]->is_open(range));
  ManagerBooks books = manager_->books();
  EXPECT_EQ(books.assigned, 2U);
  EXPECT_EQ(books.events, 2 * range);
  EXPECT_EQ(books.open, 2U);
  EXPECT_EQ(books.produced, (EventId{0, 2 * range}));
  EXPECT_EQ(books.assigned_below, (EventId{0, 2 * range}));
  EXPECT_NE(books.term, 0U);
  for (const auto& unit : books.units) {
    EXPECT_TRUE(unit.connected && !unit.behind && !unit.busy);
    EXPECT_EQ(unit.produced, (EventId{0, 2 * range}));
  }
  for (const auto& builder : books.builders) {
    EXPECT_TRUE(builder.connected);
    EXPECT_EQ(builder.lease, LeaseState::held);
    EXPECT_EQ(builder.credit, 4U);
    EXPECT_EQ(builder.weight, 1U);
  }
  builders_[0]->finish_all();
  builders_[1]->finish_all();
  ASSERT_SOON(pump_, units_[0]->settled.size() == 2 && units_[1]->settled.size() == 2);
  books = manager_->books();
  EXPECT_EQ(books.settled, 2U);
  EXPECT_EQ(books.builders[0].done + books.builders[1].done, 2U);
  EXPECT_EQ(books.open + books.again + books.revoked + books.waiting, 0U);
  EXPECT_TRUE(refused_.empty());
}

TEST_P(EventManagement, takes_ranges_from_a_builder_that_was_killed) {
  make_members();
  produce(2 * range);
  ASSERT_SOON(pump_, builders_[0]->open.size() == 1 && builders_[1]->open.size() == 1);
  const std::uint64_t lost = builders_[0]->open[0].span.from.number;
  builders_[0].reset();
  builders_[1]->finishes = true;
  builders_[1]->finish_all();
  ASSERT_SOON(pump_, units_[0]->settled.size() == 2 && units_[1]->settled.size() == 2);
  const detail::Assignment& last = builders_[1]->expected.back();
  EXPECT_EQ(last.span.from.number, lost);
  EXPECT_TRUE(last.again);
  EXPECT_EQ(units_[0]->revocations, 1);
  const ManagerBooks books = manager_->books();
  EXPECT_EQ(books.revoked, 1U);
  EXPECT_EQ(books.again, 1U);
  EXPECT_EQ(books.settled, 2U);
  EXPECT_FALSE(books.builders[0].connected);
  EXPECT_EQ(books.builders[0].lease, LeaseState::none);
}

TEST_P(EventManagement, a_new_manager_has_a_higher_term_and_assigns_again_what_was_open) {
  make_members();
  produce(2 * range);
  ASSERT_SOON(pump_, builders_[0]->open.size() == 1 && builders_[1]->open.size() == 1);
  const std::uint64_t open = builders_[1]->open[0].span.from.number;
  builders_[0]->finish_all();
  ASSERT_SOON(pump_, units_[0]->settled.size() == 1 && units_[1]->settled.size() == 1);
  const std::uint64_t term = units_[0]->welcome.term;
  manager_.reset();
  make_manager(address_);
  ASSERT_SOON(pump_, units_[0]->welcomes == 2 && units_[1]->welcomes == 2);
  EXPECT_GT(units_[0]->welcome.term, term);
  EXPECT_EQ(manager_->books().term, units_[0]->welcome.term);
  for (const auto& builder : builders_) {
    builder->finishes = true;
    builder->finish_all();  // what it may have been given already
  }
  ASSERT_SOON(pump_, units_[0]->settled.size() == 2 && units_[1]->settled.size() == 2);
  EXPECT_EQ(units_[0]->settled[1].from.number, open);
  const ManagerBooks books = manager_->books();
  EXPECT_EQ(books.assigned, 0U);
  EXPECT_EQ(books.again, 1U);
  EXPECT_TRUE(refused_.empty());
}

TEST_P(EventManagement, has_stopped_when_everything_below_is_settled) {
  make_members();
  int stopped = 0;
  manager_->stop({0, range + 3}, [&] { ++stopped; });
  ASSERT_SOON(pump_, units_[0]->stop == (EventId{0, range + 3}));
  produce(range);
  ASSERT_SOON(pump_, units_[0]->is_open(0));
  produce(range + 3);
  ASSERT_SOON(pump_, units_[0]->is_open(range));
  EXPECT_EQ(units_[0]->find(range)->span.below, (EventId{0, range + 3}));
  EXPECT_EQ(stopped, 0);
  for (const auto& builder : builders_) builder->finish_all();
  ASSERT_SOON(pump_, stopped == 1);
  EXPECT_EQ(manager_->books().settled, 2U);
  int closed = 0;
  manager_->close(5s, [&] { ++closed; });
  ASSERT_SOON(pump_, closed == 1 && stopped == 1);
}

TEST_P(EventManagement, tells_units_where_builders_are) {
  make_unit(0);
  make_builder(1, {"shm://one", "tcp://one:7001"});
  using Addresses = detail::Addresses;
  const Addresses first{"shm://one", "tcp://one:7001"};
  ASSERT_SOON(pump_, units_[0]->builders[1] == first);
  make_unit(1);  // later
  ASSERT_SOON(pump_, units_[1]->builders[1] == first);
  builders_[1].reset();
  make_builder(1, {"tcp://another:7001"});
  make_builder(0, {"tcp://0.0.0.0:7002"});
  for (const auto& unit : units_) {
    ASSERT_SOON(pump_, unit->builders[1] == Addresses{"tcp://another:7001"});
    ASSERT_SOON(pump_, unit->builders[0].size() == 1);
    // Where the manager is told from which host the builder has connected, units are told that.
    const std::string& told = unit->builders[0][0];
    const bool has_host = address_.find(':', address_.find("://") + 3) != std::string::npos;
    EXPECT_EQ(told == "tcp://0.0.0.0:7002", !has_host) << told << " through " << address_;
  }
  EXPECT_EQ(manager_->books().builders[1].addresses, Addresses{"tcp://another:7001"});
}

TEST_P(EventManagement, is_superseded_by_a_manager_with_its_term_or_a_higher_one) {
  make_members();
  std::uint64_t term = 0;
  manager_->on_superseded([&](std::uint64_t newer) { term = newer; });
  units_[1].reset();
  ASSERT_SOON(pump_, !manager_->books().units[1].connected);
  units_[1] = std::make_unique<ScriptedUnit>(here_, managed, 1);
  units_[1]->hello.term = manager_->books().term + 1;
  units_[1]->hello.manager_run = 1;
  units_[1]->connect(address_);
  ASSERT_SOON(pump_, term == manager_->books().term + 1);
  ASSERT_SOON(pump_, !units_[0]->refused.empty() && !builders_[0]->refused.empty());
  EXPECT_NE(units_[0]->refused.find("superseded"), std::string::npos) << units_[0]->refused;
  EXPECT_NE(units_[1]->refused.find("superseded"), std::string::npos) << units_[1]->refused;
  // Also who comes later, or comes back.
  make_builder(1);
  ASSERT_SOON(pump_, builders_[1]->refused.find("superseded") != std::string::npos);
}

TEST_P(EventManagement, who_is_no_unit_and_no_builder_is_turned_away_and_told_of) {
  make_members();
  Push push(here_);
  push.connect(address_);
  ASSERT_SOON(pump_, !refused_.empty());
  EXPECT_NE(refused_[0].find("push"), std::string::npos) << refused_[0];
  detail::ReadoutSocket unit(here_, {});  // a unit that takes the manager for a builder
  unit.connect(address_);
  ASSERT_SOON(pump_, refused_.back().find("readout") != std::string::npos);
  produce(range);
  ASSERT_SOON(pump_, units_[0]->is_open(0) && units_[1]->is_open(0));
}

// Its hello is many pages long.
TEST_P(EventManagement, a_peer_that_is_killed_in_the_middle_of_a_message_disturbs_nobody) {
  make_members();
  for (int turns = 0; turns < 6; ++turns) {
    ScriptedUnit large(here_, managed, 7);  // there is no such source
    large.hello.open.assign(20'000, {{0, 1}, {0, 2}});
    large.connect(address_);
    ASSERT_SOON(pump_, large.up());
    pump_.turns(turns);
  }
  produce(range);
  ASSERT_SOON(pump_, units_[0]->is_open(0) && units_[1]->is_open(0));
  ASSERT_SOON(pump_, builders_[0]->open.size() + builders_[1]->open.size() == 1);
}

// The welcome of a unit that joins behind thousands of open assignments is larger than a page.
TEST_P(EventManagement, a_unit_that_joins_late_is_told_everything) {
  make_unit(0);
  make_unit(1);
  make_builder(0);
  builders_[0]->credit = 1024;
  ASSERT_SOON(pump_, builders_[0]->has_lease() && units_[0]->welcomes == 1);
  produce(1000 * range);
  ASSERT_SOON(pump_, units_[1]->open.size() == 1000);
  units_[1].reset();
  make_unit(1);
  ASSERT_SOON(pump_, units_[1]->welcomes == 1);
  EXPECT_EQ(units_[1]->open.size(), 1000U);
  EXPECT_EQ(units_[1]->assigned, (EventId{0, 1000 * range}));
}

ON_EVERY_TRANSPORT(EventManagement);

TEST(EventManagerOptions, that_make_no_sense_are_refused_with_advice) {
  Context context(small_context());
  const auto refuses = [&](auto change, const std::string& why) {
    ManagerOptions options;
    options.plan = {members, members, range, true};
    change(options);
    try {
      EventManager manager(context, options);
      FAIL() << why;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
      EXPECT_FALSE(error.advice().empty());
    }
  };
  refuses([](auto& it) { it.plan.managed = false; }, "BuildPlan::managed");
  refuses([](auto& it) { it.plan.sources = 0; }, "0 sources");
  refuses([](auto& it) { it.plan.sources = 4'000'000'000; }, "4000000000 sources");
  refuses([](auto& it) { it.plan.builders = 4'000'000'000; }, "4000000000 builders");
  refuses([](auto& it) { it.plan.range_events = 0; }, "0 events in a range");
  refuses([](auto& it) { it.lease = 0ms; }, "a lease of 0 ns");
  refuses([](auto& it) { it.lease = 48h; }, "a lease of");
  refuses([](auto& it) { it.wait = -1s; }, "a wait of");
}

// --- Peers that break the rules.

struct BadMemberCase {
  std::string name;
  std::vector<std::vector<std::byte>> sent;
  std::string why;  // part of it
};
void PrintTo(const BadMemberCase& bad, std::ostream* out) { *out << bad.name; }
std::string name_of_member(const testing::TestParamInfo<BadMemberCase>& info) {
  return info.param.name;
}

template <typename Message>
std::vector<std::byte> told(const Message& message) {
  detail::ManagerBytes bytes;
  const std::span<const std::byte> span = bytes.of(message);
  return {span.begin(), span.end()};
}
std::vector<std::byte> unit_joins(const std::function<void(detail::UnitJoins&)>& change = {}) {
  detail::UnitJoins hello;
  hello.plan = managed;
  hello.source = 1;
  hello.unit_run = 77;
  if (change) change(hello);
  return told(detail::UnitToManager(hello));
}
std::vector<std::byte> builder_joins(
    const std::function<void(detail::BuilderJoins&)>& change = {}) {
  detail::BuilderJoins hello;
  hello.plan = managed;
  hello.builder = 1;
  hello.builder_run = 77;
  if (change) change(hello);
  return told(detail::BuilderToManager(hello));
}
std::vector<std::byte> with_word(std::vector<std::byte> bytes, std::size_t word,
                                 std::uint64_t value) {
  std::memcpy(bytes.data() + word * 8, &value, 8);
  return bytes;
}
std::vector<std::byte> unit_produced() {
  return told(detail::UnitToManager(detail::UnitProduced{}));
}
std::vector<std::byte> builder_reports(std::uint64_t number = 1) {
  return told(detail::BuilderToManager(detail::BuilderReports{number, 0, 1}));
}

// Unit 0 and builder 0 are good, and go on while another peer misbehaves.
class BadMember : public testing::TestWithParam<BadMemberCase> {};

TEST_P(BadMember, is_refused_in_words_and_disturbs_nobody) {
  Context here(small_context());
  Context there(small_context());
  Pump pump{&here, &there};
  ManagerOptions options;
  options.plan = {members, members, range, true};
  options.lease = 100ms;
  options.wait = 50ms;
  EventManager manager(there, options);
  std::string refused;
  manager.on_refused([&](const PeerInfo&, std::string_view why) { refused = why; });
  const std::string address = manager.bind("tcp://127.0.0.1:0");
  ScriptedUnit unit(here, managed, 0);
  ScriptedBuilder builder(here, managed, 0);
  builder.finishes = true;
  unit.connect(address);
  builder.connect(address);
  ASSERT_SOON(pump, manager.books().units[0].connected && manager.books().builders[0].connected);
  ScriptedUnit bad(here, managed, 1);
  bad.says_hello = false;
  bad.connect(address);
  ASSERT_SOON(pump, bad.up());
  for (const std::vector<std::byte>& each : GetParam().sent) bad.say_bytes(each);
  ASSERT_SOON(pump, !refused.empty() && bad.downs == 1);
  EXPECT_NE(refused.find(GetParam().why), std::string::npos) << refused;
  EXPECT_NE(bad.refused.find(GetParam().why), std::string::npos) << bad.refused;
  ASSERT_SOON(pump, !manager.books().units[1].connected);
  unit.produce(range);
  ASSERT_SOON(pump, unit.settled.size() == 1);
  EXPECT_EQ(unit.downs + builder.downs, 0);
}

INSTANTIATE_TEST_SUITE_P(
    that, BadMember,
    testing::Values(
        BadMemberCase{"sends_garbage", {payload(99, 64)}, "a kind that is not known"},
        BadMemberCase{"sends_nothing", {{}}, "too short"},
        BadMemberCase{"sends_a_part_of_a_word", {payload(1, 7)}, "too short"},
        BadMemberCase{"begins_with_what_it_has_produced", {unit_produced()}, "with a hello"},
        BadMemberCase{"begins_with_a_report", {builder_reports()}, "with a hello"},
        BadMemberCase{"begins_with_its_addresses",
                      {told(detail::BuilderAt{{"tcp://one:1"}})},
                      "with a hello"},
        BadMemberCase{"says_hello_twice", {unit_joins(), unit_joins()}, "said hello twice"},
        BadMemberCase{
            "is_a_unit_and_a_builder", {unit_joins(), builder_joins()}, "said hello twice"},
        BadMemberCase{"has_another_plan",
                      {unit_joins([](auto& it) { it.plan.range_events = 5; })},
                      "events of a range: 16 at the manager, 5 at the unit"},
        BadMemberCase{"has_no_manager",
                      {unit_joins([](auto& it) { it.plan.managed = false; })},
                      "the unit has none"},
        BadMemberCase{
            "has_no_such_source", {unit_joins([](auto& it) { it.source = 2; })}, "no source 2"},
        BadMemberCase{"has_the_source_of_another",
                      {unit_joins([](auto& it) { it.source = 0; })},
                      "source 0 is connected already"},
        BadMemberCase{"has_the_number_of_another_builder",
                      {builder_joins([](auto& it) { it.builder = 0; })},
                      "builder 0 is connected already"},
        BadMemberCase{"has_no_such_builder",
                      {builder_joins([](auto& it) { it.builder = 9; })},
                      "no builder 9"},
        BadMemberCase{"is_a_builder_without_a_run",
                      {builder_joins([](auto& it) { it.builder_run = 0; })},
                      "never 0"},
        BadMemberCase{"has_a_term_beyond_all",
                      {builder_joins([](auto& it) { it.newest_term = UINT64_MAX; })},
                      "a term that makes no sense"},
        BadMemberCase{"has_open_ranges_that_overlap",
                      {unit_joins([](auto& it) {
                        it.term = 1;
                        it.assigned = {0, 9};
                        it.open = {{{0, 0}, {0, 8}}, {{0, 4}, {0, 9}}};
                      })},
                      "open ranges that overlap"},
        BadMemberCase{"speaks_another_version", {with_word(unit_joins(), 1, 9)}, "version"},
        BadMemberCase{"has_a_list_without_end", {with_word(unit_joins(), 14, UINT64_MAX)}, "list"},
        BadMemberCase{"is_a_unit_that_reports",
                      {unit_joins(), builder_reports()},
                      "only a builder unit sends"},
        BadMemberCase{"is_a_builder_that_produces",
                      {builder_joins(), unit_produced()},
                      "only a read-out unit sends"},
        BadMemberCase{"repeats_a_report",
                      {builder_joins(), builder_reports(), builder_reports()},
                      "repeats a report"},
        BadMemberCase{"holds_what_it_has_not_produced",
                      {unit_joins(), told(detail::UnitToManager(detail::UnitProduced{
                                         {0, 1}, {0, 2}, {}, false, 0}))},
                      "has not produced"},
        BadMemberCase{"has_an_address_that_makes_no_sense",
                      {builder_joins(), told(detail::BuilderAt{{"here"}})},
                      "an address that makes no sense"},
        BadMemberCase{"says_what_only_a_manager_says",
                      {told(detail::ManagerToUnit(detail::UnitAsked{}))},
                      "a kind that is not known"}),
    name_of_member);

}  // namespace
}  // namespace netio::test
