// Each message to and from the event manager comes back as it was, and nothing else is taken for
// one.
#include "units/manager_codec.hpp"

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

const BuildPlan managed_plan{3, 2, 1000, true};
const Assignment given{first_assignment(7) + 3, 1, {{4, 5}, {4, 9}}, true};
const EventSpans two_spans{{{1, 2}, {1, 3}}, {{2, 0}, {2, UINT64_MAX}}};

bool same(const Assignment& one, const Assignment& other) {
  return one.number == other.number && one.builder == other.builder && one.span == other.span &&
         one.again == other.again;
}

// What `message` is after a journey.
template <typename Said, typename Variant, typename Message>
Message returned(const Message& message) {
  ManagerBytes bytes;
  Said said;
  EXPECT_EQ(decode(bytes.of(Variant(message)), said), nullptr);
  EXPECT_TRUE(std::holds_alternative<Message>(said));
  return std::get<Message>(said);
}

TEST(ManagerCodec, what_a_unit_says_comes_back) {
  const UnitJoins joins{managed_plan, 2, 3, 4, 5, {6, 7}, {8, 9}, two_spans};
  const auto back = returned<SaidToManager, UnitToManager>(joins);
  EXPECT_EQ(back.plan, managed_plan);
  EXPECT_EQ(back.source, 2U);
  EXPECT_EQ(back.unit_run, 3U);
  EXPECT_EQ(back.term, 4U);
  EXPECT_EQ(back.manager_run, 5U);
  EXPECT_EQ(back.begins, (EventId{6, 7}));
  EXPECT_EQ(back.assigned, (EventId{8, 9}));
  EXPECT_EQ(back.open, two_spans);
  const UnitProduced produced{{1, 2}, {3, 4}, {5, 6}, true, 7};
  const auto far = returned<SaidToManager, UnitToManager>(produced);
  EXPECT_EQ(far.below, produced.below);
  EXPECT_EQ(far.oldest, produced.oldest);
  EXPECT_EQ(far.assigned, produced.assigned);
  EXPECT_TRUE(far.busy);
  EXPECT_EQ(far.term, 7U);
}

TEST(ManagerCodec, what_a_builder_says_comes_back) {
  const BuilderJoins joins{managed_plan, 1, 2, 3, 4, 5, 6, {7, 8}};
  const auto back = returned<SaidToManager, BuilderToManager>(joins);
  EXPECT_EQ(back.plan, managed_plan);
  EXPECT_EQ(back.builder, 1U);
  EXPECT_EQ(back.builder_run, 2U);
  EXPECT_EQ(back.term, 3U);
  EXPECT_EQ(back.manager_run, 4U);
  EXPECT_EQ(back.weight, 5U);
  EXPECT_EQ(back.newest_term, 6U);
  EXPECT_EQ(back.expected, (EventId{7, 8}));
  const auto report = returned<SaidToManager, BuilderToManager>(BuilderReports{1, 2, 3});
  EXPECT_EQ(report.number, 1U);
  EXPECT_EQ(report.done, 2U);
  EXPECT_EQ(report.credit, 3U);
  const BuilderAt at{{"tcp://one:1", "", "shm://" + std::string(1018, 'x')}};
  EXPECT_EQ((returned<SaidToManager, BuilderAt>(at).addresses), at.addresses);
}

TEST(ManagerCodec, what_a_manager_says_to_a_unit_comes_back) {
  const UnitWelcome welcome{1,      2,      {3, 4}, {given, {0, no_builder, given.span, false}},
                            {5, 6}, {7, 8}, {9, 10}};
  const auto back = returned<SaidToUnit, ManagerToUnit>(welcome);
  EXPECT_EQ(back.term, 1U);
  EXPECT_EQ(back.manager_run, 2U);
  EXPECT_EQ(back.assigned, welcome.assigned);
  ASSERT_EQ(back.open.size(), 2U);
  EXPECT_TRUE(same(back.open[0], given));
  EXPECT_TRUE(same(back.open[1], welcome.open[1]));
  EXPECT_EQ(back.next, welcome.next);
  EXPECT_EQ(back.stop, welcome.stop);
  EXPECT_EQ(back.produced, welcome.produced);
  EXPECT_TRUE(same((returned<SaidToUnit, ManagerToUnit>(UnitAssigned{given}).assignment), given));
  const auto revoked = returned<SaidToUnit, ManagerToUnit>(UnitRevoked{1, 2});
  EXPECT_EQ(revoked.builder, 1U);
  EXPECT_EQ(revoked.below, 2U);
  EXPECT_EQ((returned<SaidToUnit, ManagerToUnit>(UnitSettled{given.span}).span), given.span);
  returned<SaidToUnit, ManagerToUnit>(UnitAsked{});
  EXPECT_EQ((returned<SaidToUnit, ManagerToUnit>(UnitStops{{1, 2}}).at), (EventId{1, 2}));
  const UnitBuilder builder{1, {"tcp://one:1", "tcp://[::1]:2"}};
  const auto there = returned<SaidToUnit, UnitBuilder>(builder);
  EXPECT_EQ(there.builder, 1U);
  EXPECT_EQ(there.addresses, builder.addresses);
}

TEST(ManagerCodec, what_a_manager_says_to_a_builder_comes_back) {
  const BuilderWelcome welcome{1, 2, 3, 4, {given}};
  const auto back = returned<SaidToBuilder, ManagerToBuilder>(welcome);
  EXPECT_EQ(back.term, 1U);
  EXPECT_EQ(back.manager_run, 2U);
  EXPECT_EQ(back.lease_ns, 3);
  EXPECT_EQ(back.first, 4U);
  ASSERT_EQ(back.open.size(), 1U);
  EXPECT_TRUE(same(back.open[0], given));
  EXPECT_TRUE(
      same((returned<SaidToBuilder, ManagerToBuilder>(BuilderExpects{given}).assignment), given));
  EXPECT_EQ((returned<SaidToBuilder, ManagerToBuilder>(BuilderRevoked{5}).below), 5U);
  EXPECT_EQ((returned<SaidToBuilder, ManagerToBuilder>(BuilderLease{6}).number), 6U);
}

TEST(ManagerCodec, a_reason_comes_back_on_every_way_and_a_long_one_is_cut) {
  ManagerBytes bytes;
  const std::span<const std::byte> refused = bytes.of(Refused{"it is Tuesday"});
  SaidToManager to_manager;
  SaidToUnit to_unit;
  SaidToBuilder to_builder;
  ASSERT_EQ(decode(refused, to_manager), nullptr);
  ASSERT_EQ(decode(refused, to_unit), nullptr);
  ASSERT_EQ(decode(refused, to_builder), nullptr);
  EXPECT_EQ(std::get<Refused>(to_manager).why, "it is Tuesday");
  EXPECT_EQ(std::get<Refused>(to_unit).why, "it is Tuesday");
  EXPECT_EQ(std::get<Refused>(to_builder).why, "it is Tuesday");
  const std::string text(5000, 'x');
  EXPECT_EQ(bytes.of(Refused{text}).size(), word_bytes + refused_bytes_max);
}

TEST(ManagerCodec, no_other_length_is_taken) {
  ManagerBytes bytes;
  const auto refuses_others = [&](std::span<const std::byte> good) {
    std::vector<std::byte> longer(good.begin(), good.end());
    SaidToManager said;
    ASSERT_EQ(decode(longer, said), nullptr);
    for (std::size_t size = 0; size < longer.size(); ++size) {
      EXPECT_NE(decode(std::span(longer).first(size), said), nullptr) << size;
    }
    longer.push_back({});
    EXPECT_NE(decode(longer, said), nullptr);
  };
  refuses_others(bytes.of(UnitToManager(UnitJoins{managed_plan, 2, 3, 4, 5, {}, {}, two_spans})));
  refuses_others(bytes.of(UnitToManager(UnitProduced{})));
  refuses_others(bytes.of(BuilderToManager(BuilderJoins{})));
  refuses_others(bytes.of(BuilderToManager(BuilderReports{})));
  refuses_others(bytes.of(BuilderAt{{"one", "another one"}}));
}

// The word of this number gets another value.
template <typename Said>
void expect_refused(std::span<const std::byte> good, std::size_t word, std::uint64_t value) {
  Said said;
  std::vector<std::byte> bytes(good.begin(), good.end());
  ASSERT_EQ(decode(bytes, said), nullptr);
  std::memcpy(bytes.data() + word * word_bytes, &value, word_bytes);
  EXPECT_NE(decode(bytes, said), nullptr) << word;
}

TEST(ManagerCodec, numbers_that_are_out_of_range_are_not_taken) {
  ManagerBytes bytes;
  const auto joins = bytes.of(UnitToManager(UnitJoins{}));
  expect_refused<SaidToManager>(joins, 0, 99);
  expect_refused<SaidToManager>(joins, 0, 17);  // what only a manager says
  expect_refused<SaidToManager>(joins, 1, manager_version + 1);
  expect_refused<SaidToManager>(joins, 2, std::uint64_t{1} << 32U);
  expect_refused<SaidToManager>(joins, 5, 2);
  expect_refused<SaidToBuilder>(bytes.of(ManagerToBuilder(BuilderWelcome{})), 3, UINT64_MAX);
}

// Nothing is allocated for what a list says it has: only for what is there.
TEST(ManagerCodec, a_count_that_lies_is_not_believed) {
  ManagerBytes bytes;
  const auto joins =
      bytes.of(UnitToManager(UnitJoins{managed_plan, 2, 3, 4, 5, {}, {}, two_spans}));
  for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{3}, UINT64_MAX / 32 + 3,
                                    std::uint64_t{1} << 58U, UINT64_MAX}) {
    expect_refused<SaidToManager>(joins, 14, count);
  }
  const auto welcome = bytes.of(ManagerToUnit(UnitWelcome{1, 2, {}, {given}, {5, 6}, {}, {}}));
  expect_refused<SaidToUnit>(welcome, 5, UINT64_MAX / 7 + 2);
  expect_refused<SaidToUnit>(welcome, 13, std::uint64_t{1} << 61U);
  const auto at = bytes.of(BuilderAt{{"tcp://one:1"}});
  expect_refused<SaidToManager>(at, 1, addresses_max + 1);
  expect_refused<SaidToManager>(at, 1, UINT64_MAX);
  expect_refused<SaidToManager>(at, 2, 17);
  expect_refused<SaidToManager>(at, 2, address_bytes_max + 1);
  expect_refused<SaidToManager>(at, 2, UINT64_MAX);
  expect_refused<SaidToManager>(at, 2, 10);  // its last character is behind the end then
}

}  // namespace
}  // namespace netio::detail
