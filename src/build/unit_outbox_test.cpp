// UnitOutbox: where sending goes on, what dropped fragments cost, and that fragments which were
// stored together come to the same as single ones.
#include "build/unit_outbox.hpp"

#include <algorithm>
#include <deque>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

const auto always = [](EventId) { return true; };
const auto never = [](EventId) { return false; };
const auto ignored = [](std::uint64_t, std::uint64_t) {};
// Names count bytes, as those of a page do.
const auto behind = [](std::uint64_t memory, std::uint64_t bytes) { return memory + bytes; };

void hold(UnitOutbox& outbox, std::uint64_t number) {
  ASSERT_TRUE(outbox.add({0, number}, 10, number, FragmentStatus::good, behind));
}

TEST(UnitOutbox, goes_on_with_the_first_that_is_wanted) {
  UnitOutbox outbox;
  for (const std::uint64_t number : {3U, 5U, 9U}) hold(outbox, number);
  outbox.go_to({0, 4}, behind);
  ASSERT_FALSE(outbox.all_sent());
  EXPECT_EQ(outbox.unsent().run.event.number, 5U);
  outbox.go_to({0, 10}, behind);
  EXPECT_TRUE(outbox.all_sent());
  outbox.go_to({0, 0}, behind);
  EXPECT_EQ(outbox.unsent().run.event.number, 3U);
}

TEST(UnitOutbox, forgets_what_is_settled_whether_it_was_sent_or_not) {
  UnitOutbox outbox;
  for (const std::uint64_t number : {3U, 5U, 9U}) hold(outbox, number);
  outbox.sent(1, behind);
  std::vector<std::uint64_t> forgotten;
  const FragmentCount settled =
      outbox.settle({0, 9}, behind, [&](std::uint64_t memory, std::uint64_t fragments) {
        EXPECT_EQ(fragments, 1U);
        forgotten.push_back(memory);
      });
  EXPECT_EQ(forgotten, (std::vector<std::uint64_t>{3, 5}));
  EXPECT_EQ(settled.fragments, 2U);
  EXPECT_EQ(settled.cost, 2 * window_cost(10));
  ASSERT_FALSE(outbox.all_sent());
  EXPECT_EQ(outbox.unsent().run.event.number, 9U);
}

TEST(UnitOutbox, tells_of_dropped_fragments_that_follow_each_other_at_once) {
  UnitOutbox outbox;
  ASSERT_TRUE(outbox.add_dropped({0, 4}, always));
  outbox.sent();
  ASSERT_TRUE(outbox.add_dropped({0, 5}, always));
  EXPECT_EQ(outbox.entries(), 1U);
  ASSERT_FALSE(outbox.all_sent()) << "it has grown, and is sent again";
  EXPECT_EQ(outbox.unsent().run.below(), (EventId{0, 6}));
  ASSERT_TRUE(outbox.add_dropped({0, 9}, never));
  EXPECT_EQ(outbox.entries(), 2U);
}

TEST(UnitOutbox, has_a_bound_for_what_it_knows_of_dropped_fragments) {
  UnitOutbox outbox;
  for (std::uint64_t number = 0; number < 5 * UnitOutbox::dropped_max; ++number) {
    ASSERT_TRUE(outbox.add_dropped({0, 2 * number}, never));
  }
  EXPECT_EQ(outbox.entries(), UnitOutbox::dropped_max);
  outbox.settle(end_of_run(0), behind, ignored);
  EXPECT_TRUE(outbox.empty());
}

// One fragment, as a model has it that knows of no runs.
struct Single {
  EventId event;
  std::uint64_t bytes = 0;
  std::uint64_t memory = 0;
  bool good = true;
  bool sent = false;
};

// The outbox beside the model, which gives it runs and single fragments.
class Play {
 public:
  explicit Play(std::uint64_t seed) : random_(seed) {}

  void add_run() {
    StoredRun run;
    run.begin(next_, memory_);
    for (std::uint64_t left = 1 + draw(StoredRun::fragments_max); left != 0; --left) {
      const std::uint64_t bytes = 1 + draw(99);
      run.add(bytes);
      hold(bytes);
    }
    ASSERT_TRUE(outbox_.make_room(StoredRun::fragments_max));
    outbox_.add(run);
    skip();
  }
  void add_some() {
    for (std::uint64_t left = 1 + draw(9); left != 0; --left) {
      const bool good = draw(20) != 0;
      const std::uint64_t bytes = 1 + draw(99);
      ASSERT_TRUE(outbox_.add(next_, bytes, memory_,
                              good ? FragmentStatus::good : FragmentStatus::truncated, behind));
      hold(bytes, good);
      if (draw(20) == 0) skip();
    }
    if (draw(4) == 0) skip();
  }
  void send_some() {
    if (outbox_.all_sent()) return;
    const UnitOutbox::Unsent unsent = outbox_.unsent();
    ASSERT_FALSE(unsent.sizes.empty());
    ASSERT_EQ(unsent.run.events, unsent.sizes.size());
    const std::size_t some = 1 + draw(unsent.sizes.size());
    auto single = std::ranges::find(model_, false, &Single::sent);
    std::uint64_t memory = unsent.run.memory;
    for (std::size_t each = 0; each < some; ++each, ++single) {
      ASSERT_NE(single, model_.end());
      EXPECT_EQ(single->event, (EventId{unsent.run.event.run, unsent.run.event.number + each}));
      ASSERT_EQ(single->bytes, unsent.sizes[each]);
      ASSERT_EQ(single->memory, memory);
      ASSERT_EQ(single->good, unsent.run.status == FragmentStatus::good);
      memory = behind(memory, unsent.sizes[each]);
      single->sent = true;
    }
    outbox_.sent(some, behind);
  }
  void settle() {
    const EventId below = any();
    FragmentCount expected;
    std::vector<std::uint64_t> forgotten;
    while (!model_.empty() && model_.front().event < below) {
      expected += {1, window_cost(model_.front().bytes)};
      forgotten.push_back(model_.front().memory);
      model_.pop_front();
    }
    std::size_t next = 0;
    const FragmentCount settled =
        outbox_.settle(below, behind, [&](std::uint64_t memory, std::uint64_t fragments) {
          ASSERT_LE(next + fragments, forgotten.size());
          EXPECT_EQ(forgotten[next], memory);
          next += fragments;
        });
    EXPECT_EQ(next, forgotten.size());
    EXPECT_EQ(settled.fragments, expected.fragments);
    EXPECT_EQ(settled.cost, expected.cost);
  }
  void go_to() {
    const EventId wanted = any();
    for (Single& each : model_) each.sent = each.event < wanted;
    outbox_.go_to(wanted, behind);
  }
  void judge() const {
    FragmentCount expected;
    for (const Single& each : model_) expected += {1, window_cost(each.bytes)};
    const FragmentCount count = outbox_.count();
    EXPECT_EQ(count.fragments, expected.fragments);
    EXPECT_EQ(count.cost, expected.cost);
    ASSERT_EQ(outbox_.empty(), model_.empty());
    if (model_.empty()) return;
    EXPECT_EQ(outbox_.oldest(), model_.front().event);
    EXPECT_EQ(outbox_.oldest_fragment(), model_.front().event);
    const auto unsent = std::ranges::find(model_, false, &Single::sent);
    ASSERT_EQ(outbox_.all_sent(), unsent == model_.end());
    if (unsent != model_.end()) {
      EXPECT_EQ(outbox_.unsent().run.memory, unsent->memory);
    }
  }
  std::uint64_t draw(std::uint64_t below) { return random_() % below; }

 private:
  void hold(std::uint64_t bytes, bool good = true) {
    model_.push_back({next_, bytes, memory_, good});
    next_ = next_.next();
    memory_ += bytes;
  }
  // To another page, and sometimes past events or a run.
  void skip() {
    memory_ += 1'000'000;
    next_.number += draw(4) == 0 ? 1 + draw(5) : 0;
    if (draw(50) == 0) next_ = {next_.run + 1, draw(3)};
  }
  // An event that is held, or is behind all.
  EventId any() {
    if (model_.empty()) return next_;
    const std::uint64_t index = draw(model_.size() + 1);
    return index == model_.size() ? next_ : model_[index].event;
  }

  std::mt19937_64 random_;
  UnitOutbox outbox_;
  std::deque<Single> model_;
  EventId next_;
  std::uint64_t memory_ = 1;
};

TEST(UnitOutbox, holds_single_fragments_together_that_were_stored_together) {
  UnitOutbox outbox;
  for (std::uint64_t number = 0; number < 10; ++number) {
    ASSERT_TRUE(outbox.add({0, number}, 10, 100 + 10 * number, FragmentStatus::good, behind));
    outbox.sent(1, behind);
  }
  EXPECT_EQ(outbox.entries(), 1U);
  EXPECT_TRUE(outbox.all_sent());
  ASSERT_TRUE(outbox.add({0, 10}, 10, 200, FragmentStatus::good, behind));
  EXPECT_EQ(outbox.entries(), 1U);
  EXPECT_EQ(outbox.unsent().run.memory, 200U);
  ASSERT_TRUE(outbox.add({0, 11}, 10, 220, FragmentStatus::good, behind)) << "of another page";
  ASSERT_TRUE(outbox.add({0, 13}, 10, 230, FragmentStatus::good, behind)) << "an event between";
  ASSERT_TRUE(outbox.add({0, 14}, 10, 240, FragmentStatus::in_error, behind));
  ASSERT_TRUE(outbox.add({0, 15}, 10, 250, FragmentStatus::good, behind));
  EXPECT_EQ(outbox.entries(), 5U);
}

TEST(UnitOutbox, holds_runs_as_it_holds_their_fragments) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Play play(seed);
    for (int step = 0; step < 500; ++step) {
      const std::uint64_t what = play.draw(12);
      if (what < 3) play.add_run();
      if (what == 3) play.add_some();
      if (what > 3 && what < 9) play.send_some();
      if (what == 9 || what == 10) play.settle();
      if (what == 11 && play.draw(3) == 0) play.go_to();
      play.judge();
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace netio::detail
