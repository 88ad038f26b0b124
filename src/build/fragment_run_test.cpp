// FragmentRun: what is passed together comes to the same as what is passed one by one.
#include "build/fragment_run.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "build/builder_protocol.hpp"
#include "build/unit_protocol.hpp"

namespace netio::detail {
namespace {

const BuildPlan plan_of_ranges{2, 2, 8, false};

// A builder that notes all that it does.
class NotingBuilder final : private BuilderOutput {
 public:
  NotingBuilder() : protocol(settings(), *this) { protocol.at(0); }

  BuilderProtocol protocol;
  std::vector<std::string> notes;

 private:
  static BuilderSettings settings() {
    BuilderSettings settings;
    settings.plan = plan_of_ranges;
    settings.builder_run = 77;
    settings.window_bytes = 2000;
    settings.deadline_ns = 1'000'000;
    return settings;
  }
  bool say(std::uint32_t source, const BuilderMessage& message) noexcept override {
    std::string note = "to " + std::to_string(source) + ": " + std::to_string(message.index());
    if (const auto* done = std::get_if<BuilderDone>(&message)) {
      note += " " + std::to_string(done->settled.number) + " " + std::to_string(done->returned);
    }
    notes.push_back(std::move(note));
    return true;
  }
  bool hand_over(const BuiltEvent& event) noexcept override {
    std::string note = "event " + std::to_string(event.id.number) + " of " +
                       std::to_string(event.bytes) + " bytes:";
    for (const OpenFragment& each : event.fragments) {
      note += each.here ? " " + std::to_string(each.memory) : " -";
    }
    notes.push_back(std::move(note));
    return false;
  }
  void drop(std::uint32_t source, EventId, std::uint64_t memory) noexcept override {
    notes.push_back("drop " + std::to_string(memory) + " of " + std::to_string(source));
  }
  void refuse(std::uint32_t source, std::string why) override {
    notes.push_back("refuse " + std::to_string(source) + ": " + why);
  }
};

struct Given {
  EventId event;
  std::uint64_t bytes = 0;
  FragmentStatus status = FragmentStatus::good;
};

void add_run(BuilderProtocol& builder, std::uint32_t source, const FragmentRun& run) {
  if (run.empty() || builder.add(source, run)) return;
  for (std::size_t i = 0; i < run.fragments().size(); ++i) {
    const OpenFragment& each = run.fragments()[i];
    builder.add(source, {run.event(i), each.bytes, run.before() + i, each.status}, each.memory);
  }
}

// As they are found in a page.
void give_in_runs(BuilderProtocol& builder, std::uint32_t source, const std::vector<Given>& page,
                  std::uint64_t before) {
  FragmentRun run;
  for (const Given& each : page) {
    if (run.full() || !run.continues(each.event.number)) {
      add_run(builder, source, run);
      run.begin(each.event, before);
    }
    run.add(each.bytes, each.event.number, each.status);
    ++before;
  }
  add_run(builder, source, run);
  builder.added(source);
}

void give_one_by_one(BuilderProtocol& builder, std::uint32_t source, const std::vector<Given>& page,
                     std::uint64_t before) {
  for (const Given& each : page) {
    builder.add(source, {each.event, each.bytes, before++, each.status}, each.event.number);
  }
  builder.added(source);
}

// Two builders hear the same. Some pages break a rule, some are late, and some are more than the
// window takes. `events` counts those that were handed over.
void play(std::uint64_t seed, std::uint64_t& events) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  NotingBuilder one_by_one;
  NotingBuilder in_runs;
  std::uint64_t next[2]{};
  std::uint64_t sent[2]{};
  std::int64_t now = 0;
  for (std::uint32_t source = 0; source < 2; ++source) {
    UnitHello hello;
    hello.plan = plan_of_ranges;
    hello.source = source;
    hello.unit_run = source + 1;
    for (NotingBuilder* each : {&one_by_one, &in_runs})
      ASSERT_EQ(each->protocol.connected(hello).why, "");
  }
  for (int step = 0; step < 200; ++step) {
    const std::uint32_t source = random() % 2;
    std::vector<Given> page;
    for (std::uint64_t left = random() % 12; left != 0; --left) {
      std::uint64_t& number = next[source];
      if (number % 16 == 8 && random() % 200 != 0) number += 8;  // the range of the other builder
      page.push_back(
          {{0, number}, random() % 60, FragmentStatus{static_cast<std::uint8_t>(random() % 3)}});
      number += random() % 8 == 0 ? 2U : 1U;
    }
    now += static_cast<std::int64_t>(random() % 100'000);
    for (NotingBuilder* each : {&one_by_one, &in_runs}) each->protocol.at(now);
    give_one_by_one(one_by_one.protocol, source, page, sent[source]);
    give_in_runs(in_runs.protocol, source, page, sent[source]);
    sent[source] += page.size();
    ASSERT_EQ(one_by_one.notes, in_runs.notes) << "step " << step;
    ASSERT_EQ(one_by_one.protocol.next_ns(), in_runs.protocol.next_ns()) << "step " << step;
    ASSERT_EQ(one_by_one.protocol.books().held_cost, in_runs.protocol.books().held_cost);
    ASSERT_EQ(one_by_one.protocol.books(source).received, in_runs.protocol.books(source).received);
  }
  events += in_runs.protocol.books().complete;
}

TEST(FragmentRun, is_taken_by_a_builder_as_its_fragments_are) {
  std::uint64_t events = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    play(seed, events);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(events, 1000U);
}

// A unit that notes all that it does, and has runs taken by its protocol if it is told to.
class NotingUnit final : private UnitOutput {
 public:
  explicit NotingUnit(bool in_runs)
      : protocol({plan_of_ranges, 0, 5, 3000, WhenFull::again}, *this), in_runs_(in_runs) {}

  Status give(EventId event, std::uint64_t bytes) {
    const bool flows = in_runs_ && event == flow_.from && event < flow_.below &&
                       window_cost(bytes) <= flow_.cost && !run_.full();
    if (flows) {
      if (run_.empty()) run_.begin(event, event.number);
      run_.add(bytes);
      flow_.from = event.next();
      flow_.cost -= window_cost(bytes);
      ++flowed;
      return Status::ok;
    }
    pass_on();
    const Status status = protocol.send(event, bytes, event.number, FragmentStatus::good);
    if (status == Status::ok) flow_ = protocol.flow();
    return status;
  }
  // To be called before all else of the protocol.
  void pass_on() {
    if (!run_.empty()) protocol.send(run_);
    run_.clear();
    flow_ = {};
  }

  UnitProtocol protocol;
  bool open = true;
  std::vector<std::string> notes;
  std::uint64_t flowed = 0;
  std::uint64_t together = 0;

 private:
  bool say(std::uint32_t builder, const UnitMessage& message) noexcept override {
    if (open)
      notes.push_back(std::to_string(builder) + " is told " + std::to_string(message.index()));
    return open;
  }
  bool send(std::uint32_t builder, const Fragment& fragment,
            std::uint64_t memory) noexcept override {
    if (!open) return false;
    notes.push_back(std::to_string(builder) + " is sent " + std::to_string(fragment.event.number) +
                    " of " + std::to_string(fragment.bytes) + " bytes, behind " +
                    std::to_string(fragment.before) + ", from " + std::to_string(memory));
    return true;
  }
  // Half of them, as if a page ended there; but none if they are two.
  std::size_t send_together(std::uint32_t builder, const Together& all) noexcept override {
    std::size_t fit = 0;
    std::uint64_t cost = 0;
    for (const std::uint64_t bytes : all.sizes) {
      cost += window_cost(bytes);
      if (cost > all.cost_max) break;
      ++fit;
    }
    if (!open || !in_runs_ || fit == 2) return 0;
    const std::size_t count = (fit + 1) / 2;
    for (std::size_t each = 0; each < count; ++each) {
      const EventId event{all.event.run, all.event.number + each};
      (void)send(builder, {event, all.sizes[each], all.before + each}, all.memory + each);
    }
    together += count;
    return count;
  }
  std::uint64_t behind(std::uint64_t memory, std::uint64_t) const noexcept override {
    return memory + 1;
  }
  void forget(std::uint64_t memory, std::uint64_t fragments) noexcept override {
    for (; fragments != 0; --fragments) notes.push_back("forgets " + std::to_string(memory++));
  }
  void refuse(std::uint32_t builder, std::string why) override {
    notes.push_back("refuses " + std::to_string(builder) + ": " + why);
  }
  void on_room() noexcept override { notes.emplace_back("has room"); }

  bool in_runs_;
  UnitProtocol::Flow flow_;
  StoredRun run_;
};

// What its builders say: both hear the same.
struct Words {
  explicit Words(NotingUnit& one, NotingUnit& other) : units{&one, &other} {}

  template <typename Call>
  void both(Call&& call) {
    for (NotingUnit* each : units) {
      each->pass_on();
      call(*each);
    }
  }
  void greet(std::uint32_t builder, std::uint64_t wanted) {
    returned[builder] = 0;
    both([&](NotingUnit& unit) {
      unit.protocol.disconnected(builder);
      unit.protocol.connected(builder);
      unit.protocol.received(
          builder, BuilderHello{plan_of_ranges, builder, 9, {0, wanted}, {}, 1500, false});
    });
  }
  void done(std::uint32_t builder, std::uint64_t settled, std::uint64_t more) {
    returned[builder] += more;
    both([&](NotingUnit& unit) {
      unit.protocol.received(builder, BuilderDone{{0, settled}, returned[builder]});
    });
  }

  std::array<NotingUnit*, 2> units;
  std::uint64_t returned[2]{};
};

void play_unit(std::uint64_t seed, std::uint64_t& flowed, std::uint64_t& together,
               std::uint64_t& late) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  NotingUnit one_by_one(false);
  NotingUnit in_runs(true);
  Words words(one_by_one, in_runs);
  std::uint64_t next = 0;
  for (int step = 0; step < 300; ++step) {
    const auto builder = static_cast<std::uint32_t>(random() % 2);
    const std::uint64_t settled = next - std::min<std::uint64_t>(next, random() % 20);
    const std::uint64_t what = random() % 16;
    if (what == 0 || step < 2) {
      words.greet(step < 2 ? static_cast<std::uint32_t>(step) : builder, settled);
    } else if (what < 7) {
      // Sometimes the other units are far ahead.
      words.done(builder, random() % 8 == 0 ? next + random() % 6 : settled, random() % 1500);
    } else if (what == 7) {
      words.both([](NotingUnit& unit) { unit.open = !unit.open; });
    } else if (what == 8) {
      words.both([&](NotingUnit& unit) { unit.protocol.advance({0, next + 1}); });
    }
    if (one_by_one.open) words.both([&](NotingUnit& unit) { unit.protocol.writable(builder); });
    for (std::uint64_t left = random() % 12; left != 0; --left) {
      next += random() % 10 == 0 ? 2U : 1U;
      const std::uint64_t bytes = random() % 60;
      ASSERT_EQ(one_by_one.give({0, next}, bytes), in_runs.give({0, next}, bytes)) << step;
    }
    words.both([](NotingUnit&) {});
    ASSERT_EQ(one_by_one.notes, in_runs.notes) << "step " << step;
    ASSERT_EQ(one_by_one.protocol.books().held_cost, in_runs.protocol.books().held_cost);
    ASSERT_EQ(one_by_one.protocol.books().sent, in_runs.protocol.books().sent);
    ASSERT_EQ(one_by_one.protocol.books().resent, in_runs.protocol.books().resent);
    ASSERT_EQ(one_by_one.protocol.books().late, in_runs.protocol.books().late);
  }
  flowed += in_runs.flowed;
  late += in_runs.protocol.books().late;
  together += in_runs.together;
}

TEST(FragmentRun, is_sent_by_a_unit_as_its_fragments_are) {
  std::uint64_t flowed = 0;
  std::uint64_t together = 0;
  std::uint64_t late = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    play_unit(seed, flowed, together, late);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(flowed, 1000U);
  EXPECT_GT(together, 1000U);
  EXPECT_GT(late, 1000U);
}

TEST(FragmentRun, has_events_that_follow_each_other_and_a_bound) {
  FragmentRun run;
  EXPECT_FALSE(run.continues(0)) << "nothing has begun";
  run.begin({3, 10}, 7);
  for (std::uint64_t number = 10; number < 10 + FragmentRun::fragments_max; ++number) {
    ASSERT_TRUE(run.empty() || run.continues(number));
    EXPECT_FALSE(run.full() || run.continues(number + 1));
    run.add(100, number, FragmentStatus::good);
  }
  EXPECT_TRUE(run.full());
  EXPECT_EQ(run.cost(), FragmentRun::fragments_max * window_cost(100));
  EXPECT_EQ(run.before(), 7U);
  run.clear();
  EXPECT_TRUE(run.empty());
  EXPECT_EQ(run.cost(), 0U);
}

}  // namespace
}  // namespace netio::detail
