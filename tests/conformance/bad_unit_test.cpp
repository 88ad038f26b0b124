// Units and builders that break the rules of event building: the other side ends the connection and
// says why, and nobody else notices.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "conformance/conformance.hpp"
#include "units/build_codec.hpp"
#include "units/build_socket.hpp"

namespace netio::test {
namespace {

using detail::BuildBytes;
using detail::BuilderMessage;
using detail::UnitHello;
using detail::UnitMessage;

constexpr std::uint64_t range_events = 4;
const detail::BuildPlan same_plan{2, 1, range_events};

struct Said {
  std::vector<std::byte> bytes;
  std::uint64_t tag = detail::build_control_tag;
};
template <typename Message>
Said said(const Message& message) {
  const BuildBytes bytes(message);
  return {{bytes.bytes().begin(), bytes.bytes().end()}};
}
Said fragment(std::uint64_t event, std::size_t bytes = 8) {
  return {std::vector<std::byte>(bytes), event};
}
// A word too few, or one too many.
Said cut(Said message) {
  message.bytes.resize(message.bytes.size() - 8);
  return message;
}
Said longer(Said message) {
  message.bytes.resize(message.bytes.size() + 8);
  return message;
}

UnitHello hello(std::uint32_t source = 1) {
  UnitHello hello;
  hello.plan = same_plan;
  hello.source = source;
  hello.unit_run = 77;
  return hello;
}
UnitHello hello_of(const std::function<void(UnitHello&)>& change) {
  UnitHello changed = hello();
  change(changed);
  return changed;
}

struct Case {
  std::string name;
  std::vector<Said> sent;
  std::string why;  // part of it
  // What comes next is sent when the builder has answered the hello.
  bool greeted = false;
};
void PrintTo(const Case& bad, std::ostream* out) { *out << bad.name; }
std::string name_of(const testing::TestParamInfo<Case>& info) { return info.param.name; }

// Unit 0 is good, and its events are handed over, while another unit 1 misbehaves.
class BadUnit : public testing::TestWithParam<Case> {
 protected:
  BadUnit() {
    BuilderOptions options;
    options.plan = {2, 1, range_events};
    options.deadline = 100ms;
    options.meet_within = 0s;
    options.window_bytes = std::size_t{64} << 10U;
    builder_ = std::make_unique<BuilderUnit>(there_, options);
    builder_->on_event([this](const Event& event) {
      EXPECT_TRUE(event[0].here);
      ++events_;
    });
    builder_->on_refused([this](const PeerInfo&, std::string_view why) { refused_ = why; });
    address_ = builder_->bind("tcp://127.0.0.1:0");
    ReadoutOptions reading;
    reading.plan = options.plan;
    good_ = std::make_unique<ReadoutUnit>(here_, reading);
    good_->connect(0, address_);
  }

  Context here_;
  Context there_;
  Pump pump_{&here_, &there_};
  std::unique_ptr<BuilderUnit> builder_;
  std::unique_ptr<ReadoutUnit> good_;
  std::string address_;
  std::string refused_;
  std::uint64_t events_ = 0;
};

TEST_P(BadUnit, is_refused_in_words_and_disturbs_nobody) {
  detail::ReadoutSocket bad(here_, {});
  std::string told;
  bool greeted = false;
  bool down = false;
  bad.on_down([&](const PeerInfo& peer, const Down&) { down = down || peer.was_up; });
  bad.on_message([&](const MessageView& message) {
    detail::BuilderSaid answer;
    ASSERT_EQ(decode(message.bytes(), answer), nullptr);
    if (const auto* const why = std::get_if<detail::Refused>(&answer)) told = why->why;
    greeted = greeted || std::holds_alternative<detail::BuilderHello>(answer);
  });
  bad.connect(address_);
  ASSERT_SOON(pump_, bad.peers_connected() == 1 && good_->builders_connected() == 1);
  std::uint64_t sent = 0;
  const auto send_good = [&] {
    ASSERT_EQ(good_->send({0, sent++}, std::as_bytes(std::span("good", 4))), Status::ok);
  };
  send_good();
  ASSERT_SOON(pump_, builder_->books().sources[0].connected);
  for (std::size_t i = 0; i < GetParam().sent.size(); ++i) {
    const Said& each = GetParam().sent[i];
    ASSERT_SOON(pump_, i == 0 || !GetParam().greeted || greeted);
    ASSERT_EQ(bad.send(each.bytes, each.tag), Status::ok);
  }
  bad.flush();
  ASSERT_SOON(pump_, !refused_.empty() && down);
  EXPECT_NE(refused_.find(GetParam().why), std::string::npos) << refused_;
  EXPECT_NE(told.find(GetParam().why), std::string::npos) << told;
  while (sent < 4 * range_events) send_good();
  good_->advance({0, sent});
  ASSERT_SOON(pump_, events_ == sent && good_->books().held == 0);
}

INSTANTIATE_TEST_SUITE_P(
    that, BadUnit,
    testing::Values(
        Case{"sends_a_fragment_first", {fragment(0)}, "before its hello"},
        Case{"begins_with_a_mark", {said(UnitMessage(detail::UnitMark{}))}, "hello"},
        Case{"introduces_itself_twice",
             {said(detail::UnitIntroduces{same_plan, 1, 0}),
              said(detail::UnitIntroduces{same_plan, 1, 0})},
             "introduced itself twice"},
        Case{"looks_for_another_builder",
             {said(detail::UnitIntroduces{same_plan, 1, 1})},
             "it looks for builder 1, and this is builder 0"},
        Case{"introduces_itself_as_one_that_is_there",
             {said(detail::UnitIntroduces{same_plan, 0, 0})},
             "source 0 is connected already"},
        Case{"says_hello_twice",
             {said(UnitMessage(hello())), said(UnitMessage(hello()))},
             "said hello twice"},
        Case{"has_another_plan",
             {said(UnitMessage(hello_of([](UnitHello& it) { it.plan.range_events = 5; })))},
             "another plan"},
        Case{"has_no_such_source", {said(UnitMessage(hello(2)))}, "no source 2"},
        Case{"has_the_source_of_another", {said(UnitMessage(hello(0)))}, "is connected already"},
        Case{"has_no_run",
             {said(UnitMessage(hello_of([](UnitHello& it) { it.unit_run = 0; })))},
             "never 0"},
        Case{"says_too_little", {cut(said(UnitMessage(hello())))}, "too short"},
        Case{"says_too_much", {longer(said(UnitMessage(hello())))}, "too long"},
        Case{"says_nothing", {{{}, detail::build_control_tag}}, "too short"},
        Case{"says_what_only_a_builder_says",
             {said(BuilderMessage(detail::BuilderTurn{}))},
             "kind that is not known"},
        Case{"sends_before_it_is_greeted",
             {said(UnitMessage(hello())), fragment(0, 100'000)},
             "more than its window"},
        Case{"sends_more_than_its_window",
             {said(UnitMessage(hello())), fragment(0, 100'000)},
             "more than its window",
             true},
        Case{"sends_an_event_twice",
             {said(UnitMessage(hello())), fragment(3), fragment(3)},
             "twice, or out of order",
             true},
        Case{"goes_back",
             {said(UnitMessage(hello())), fragment(3), fragment(2)},
             "twice, or out of order",
             true},
        Case{"has_sent_more_than_came",
             {said(UnitMessage(hello())), fragment(3),
              said(UnitMessage(detail::UnitMark{{0, 4}, 2}))},
             "2 fragments, and 1 came",
             true},
        Case{"gives_a_status_that_does_not_exist",
             {said(UnitMessage(hello())),
              [] {
                Said status = said(detail::NextStatus{FragmentStatus::in_error});
                status.bytes[8] = std::byte{3};
                return status;
              }()},
             "out of range",
             true}),
    name_of);

// --- The same with a builder.

struct BuilderCase {
  std::string name;
  std::vector<Said> sent;
  std::string why;
};
void PrintTo(const BuilderCase& bad, std::ostream* out) { *out << bad.name; }
std::string name_of_builder(const testing::TestParamInfo<BuilderCase>& info) {
  return info.param.name;
}

detail::BuilderHello welcome() {
  detail::BuilderHello hello;
  hello.plan = same_plan;
  hello.builder_run = 5;
  hello.window = 1000;
  return hello;
}
detail::BuilderHello welcome_of(const std::function<void(detail::BuilderHello&)>& change) {
  detail::BuilderHello changed = welcome();
  change(changed);
  return changed;
}

class BadBuilder : public testing::TestWithParam<BuilderCase> {};

TEST_P(BadBuilder, is_refused_in_words_and_the_fragments_stay) {
  Context here;
  Context there;
  Pump pump{&here, &there};
  detail::BuilderSocket bad(there, {});
  std::string told;
  std::uint64_t peer = 0;
  bad.on_message([&](const MessageView& message) {
    if (message.tag() != detail::build_control_tag) return;
    detail::UnitSaid heard;
    ASSERT_EQ(decode(message.bytes(), heard), nullptr);
    if (const auto* const why = std::get_if<detail::Refused>(&heard)) told = why->why;
    if (std::holds_alternative<UnitHello>(heard)) peer = bad.sender_id();
  });
  ReadoutOptions options;
  options.plan = {2, 1, range_events};
  ReadoutUnit unit(here, options);
  std::string refused;
  unit.on_refused([&](std::uint32_t, std::string_view why) { refused = why; });
  unit.connect(0, bad.bind("tcp://127.0.0.1:0"));
  ASSERT_EQ(unit.send({0, 0}, std::as_bytes(std::span("good", 4))), Status::ok);
  ASSERT_SOON(pump, peer != 0);
  for (const Said& each : GetParam().sent) {
    ASSERT_EQ(bad.send_to(peer, each.bytes, each.tag), Status::ok);
  }
  bad.flush();
  ASSERT_SOON(pump, !refused.empty() && !told.empty());
  EXPECT_NE(refused.find(GetParam().why), std::string::npos) << refused;
  EXPECT_NE(told.find(GetParam().why), std::string::npos) << told;
  EXPECT_EQ(unit.books().held, 1U);
}

INSTANTIATE_TEST_SUITE_P(
    that, BadBuilder,
    testing::Values(
        BuilderCase{"does_not_begin_with_a_hello",
                    {said(BuilderMessage(detail::BuilderDone{{0, 1}, 0}))},
                    "did not begin with a hello"},
        BuilderCase{"says_hello_twice",
                    {said(BuilderMessage(welcome())), said(BuilderMessage(welcome()))},
                    "said hello twice"},
        BuilderCase{"has_another_plan",
                    {said(BuilderMessage(welcome_of([](auto& hello) { hello.plan.sources = 9; })))},
                    "another plan"},
        BuilderCase{"is_another_one",
                    {said(BuilderMessage(welcome_of([](auto& hello) { hello.builder = 3; })))},
                    "is builder 3, not 0"},
        BuilderCase{"has_no_run",
                    {said(BuilderMessage(welcome_of([](auto& hello) { hello.builder_run = 0; })))},
                    "makes no sense"},
        BuilderCase{"returns_more_than_there_is",
                    {said(BuilderMessage(welcome())),
                     said(BuilderMessage(detail::BuilderDone{{0, 0}, UINT64_MAX}))},
                    "more of its window"},
        BuilderCase{"uses_what_it_has_not_settled",
                    {said(BuilderMessage(welcome())),
                     said(BuilderMessage(detail::BuilderDone{{0, 0}, 0, {1, 0, {}}}))},
                    "used other fragments than those it settled"},
        BuilderCase{"sends_a_fragment", {fragment(0)}, "only a read-out unit sends"},
        BuilderCase{"says_too_little", {cut(said(BuilderMessage(welcome())))}, "too short"}),
    name_of_builder);

}  // namespace
}  // namespace netio::test
