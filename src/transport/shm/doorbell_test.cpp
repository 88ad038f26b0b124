// The protocol of sleeping and waking, in every order that two processors can run it: each store
// waits in its processor's buffer until it drains at any later moment, or at a fence.
#include "transport/shm/doorbell.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

// The words of a board that matter here. A slot is one of a ring as in ShmSends, its turn counted.
enum Word : std::uint8_t { sleep_word, pages_word, consumed_word, words };
enum class Action : std::uint8_t { none, load, store, fence, ring, look, wait };

struct Step {
  Action action = Action::none;
  std::uint8_t word = 0;    // of the other's board where it is a load, else of our own
  std::uint64_t value = 0;  // to store
};

// What of the protocol is left out, to see that it is needed.
struct Without {
  bool ringers_fence = false;
  bool sleepers_fence = false;
};

// One side's memory: what it has read so far is told again, and the first step beyond that is
// written down. So a side is at any moment the answers it was given, and can be taken from there
// in each way that is possible. Beyond that step everything is zero and goes nowhere.
class Sleeper {
 public:
  Sleeper(const std::vector<std::uint64_t>& answers, Without without)
      : answers_(answers), without_(without) {}

  [[nodiscard]] bool over() const { return next_.action != Action::none; }
  [[nodiscard]] Step next() const { return next_; }

  std::uint64_t load(Word word) { return step({Action::load, word, 0}); }
  void store(Word word, std::uint64_t value) { step({Action::store, word, value}); }
  // What the loop does at the end of its turn: its epoll forgets the bell that it has heard.
  void look() { step({Action::look, 0, 0}); }
  void wait() { step({Action::wait, 0, 0}); }

  // As ShmBell.
  std::uint32_t their_sleep() noexcept { return static_cast<std::uint32_t>(load(sleep_word)); }
  void say(std::uint32_t sleep) noexcept {
    store(sleep_word, sleep);
    said_sleep_ = true;
  }
  void fence() noexcept {
    const bool left_out = said_sleep_ ? without_.sleepers_fence : without_.ringers_fence;
    said_sleep_ = false;
    if (!left_out) step({Action::fence, 0, 0});
  }
  bool ring() noexcept {
    step({Action::ring, 0, 0});
    return true;
  }

 private:
  std::uint64_t step(const Step& step) {
    said_sleep_ = false;
    if (answered_ < answers_.size()) return answers_[answered_++];
    if (!over()) next_ = step;
    return 0;
  }

  const std::vector<std::uint64_t>& answers_;
  const Without without_;
  std::size_t answered_ = 0;
  Step next_;
  bool said_sleep_ = false;  // by the step before
};

struct SideBell {
  Sleeper& side;
  std::uint32_t their_sleep() noexcept { return side.their_sleep(); }
  void say(std::uint32_t sleep) noexcept { side.say(sleep); }
  void fence() noexcept { side.fence(); }
  bool ring() noexcept { return side.ring(); }
};

struct Work {
  std::uint64_t to_send = 0;
  std::uint64_t to_take = 0;
  std::uint64_t slots = 1;
};

// The turns of a loop with one link, as in link_datapath.cpp, until all is sent and taken.
void run(Sleeper& side, const Work& work) {
  ShmDoorbell<SideBell> doorbell(SideBell{side});
  std::uint64_t sent = 0;
  std::uint64_t consumed = 0;
  std::uint64_t taken = 0;
  while (!side.over() &&
         (sent != work.to_send || consumed != work.to_send || taken != work.to_take)) {
    doorbell.wake_up();
    const std::uint64_t room = side.load(consumed_word);
    const std::uint64_t pages = side.load(pages_word);
    bool worked = room != consumed || pages != taken;
    if (pages != taken) {
      side.store(consumed_word, pages);
      doorbell.room_made();
    }
    consumed = room;
    taken = pages;
    doorbell.ring();
    // The owner has room; what it posts is told at the end of the turn.
    for (; !side.over() && sent != work.to_send && sent - consumed != work.slots; worked = true) {
      side.store(pages_word, ++sent);
      doorbell.pages_written();
    }
    doorbell.ring();
    if (worked) {
      side.look();
      continue;
    }
    doorbell.fall_asleep(consumed != sent || sent != work.to_send);
    if (side.load(consumed_word) != consumed || side.load(pages_word) != taken) {
      side.look();
    } else {
      side.wait();
    }
  }
}

// Both sides, and what lies between them.
struct World {
  struct Processor {
    std::vector<std::uint64_t> answers;
    std::vector<Step> stores;  // that nobody else sees yet
    std::array<std::uint64_t, words> board{};
    bool rung = false;
    std::uint8_t strayed = 0;  // times that it was woken by something else
  };
  std::array<Processor, 2> processors;

  [[nodiscard]] std::string key() const {
    std::string key;
    for (const Processor& each : processors) {
      // Nothing here is ever as large as a byte can say.
      for (const std::uint64_t answer : each.answers) key += static_cast<char>(answer);
      key += '\xff';
      for (const Step& store : each.stores) {
        key += static_cast<char>(store.word);
        key += static_cast<char>(store.value);
      }
      key += '\xff';
      for (const std::uint64_t word : each.board) key += static_cast<char>(word);
      key += each.rung ? '1' : '0';
      key += static_cast<char>(each.strayed);
    }
    return key;
  }
};

class Explorer {
 public:
  Explorer(const std::array<Work, 2>& work, Without without, std::uint8_t strays)
      : work_(work), without_(without), strays_(strays) {}

  // Every state that can be reached from the beginning, each once.
  void run_all() {
    std::vector<World> open{World{}};
    while (!open.empty()) {
      const World world = std::move(open.back());
      open.pop_back();
      if (!seen_.insert(world.key()).second) continue;
      const Outcome one = go_on(world, 0, open);
      const Outcome other = go_on(world, 1, open);
      if (one == Outcome::done && other == Outcome::done) {
        ++ended_;
      } else if (one != Outcome::moves && other != Outcome::moves) {
        ++stuck_;
        if (story_.empty()) story_ = story(world);
      }
    }
  }
  [[nodiscard]] std::size_t states() const { return seen_.size(); }
  // Ways to the end, and states that nothing leads out of before it.
  [[nodiscard]] std::size_t ended() const { return ended_; }
  [[nodiscard]] std::size_t stuck() const { return stuck_; }
  [[nodiscard]] const std::string& story() const { return story_; }

 private:
  [[nodiscard]] Step next_of(const World& world, std::size_t which) const {
    Sleeper side(world.processors[which].answers, without_);
    run(side, work_[which]);
    return side.next();
  }

  enum class Outcome : std::uint8_t { done, waits, moves };

  // What this one can do next, each in a world of its own.
  Outcome go_on(const World& world, std::size_t which, std::vector<World>& open) const {
    Outcome outcome = Outcome::waits;
    const World::Processor& now = world.processors[which];
    if (!now.stores.empty()) {
      World drained = world;
      World::Processor& processor = drained.processors[which];
      processor.board[processor.stores.front().word] = processor.stores.front().value;
      processor.stores.erase(processor.stores.begin());
      add(std::move(drained), which, open);
      outcome = Outcome::moves;
    }
    const Step step = next_of(world, which);
    if (step.action == Action::none && now.stores.empty()) return Outcome::done;
    if (step.action == Action::none || step.action == Action::fence) return outcome;
    const bool strays = step.action == Action::wait && !now.rung;
    if (strays && now.strayed == strays_) return outcome;
    World after = world;
    World::Processor& processor = after.processors[which];
    World::Processor& other = after.processors[1 - which];
    if (strays) ++processor.strayed;
    if (step.action == Action::ring) other.rung = true;
    if (step.action == Action::wait || step.action == Action::look) processor.rung = false;
    processor.answers.push_back(step.action == Action::load ? other.board[step.word] : 0);
    add(std::move(after), which, open);
    // Who counts on something else to wake it has lost its own wake-up.
    return strays ? outcome : Outcome::moves;
  }

  // What the other side cannot tell from doing it later is done at once: a store into the buffer,
  // and a fence that finds it empty.
  void add(World world, std::size_t which, std::vector<World>& open) const {
    World::Processor& processor = world.processors[which];
    for (;;) {
      const Step step = next_of(world, which);
      const bool passes = step.action == Action::fence && processor.stores.empty();
      if (step.action != Action::store && !passes) break;
      if (step.action == Action::store) processor.stores.push_back(step);
      processor.answers.push_back(0);
    }
    open.push_back(std::move(world));
  }

  [[nodiscard]] std::string story(const World& world) const {
    std::string text;
    for (const std::size_t which : {0U, 1U}) {
      const World::Processor& processor = world.processors[which];
      text += which == 0 ? "one" : "; the other";
      text += next_of(world, which).action == Action::none ? " is done" : " sleeps";
      text += ", its sleep word " + std::to_string(processor.board[sleep_word]) + ", " +
              std::to_string(processor.board[pages_word]) + " pages written, " +
              std::to_string(processor.board[consumed_word]) + " read";
    }
    return text;
  }

  const std::array<Work, 2> work_;
  const Without without_;
  const std::uint8_t strays_;
  std::unordered_set<std::string> seen_;
  std::size_t ended_ = 0;
  std::size_t stuck_ = 0;
  std::string story_;
};

struct Case {
  const char* name;
  std::array<Work, 2> work;
  std::uint8_t strays = 0;
};
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"one page one way", {{{1, 0, 1}, {0, 1, 1}}}},
      {"two pages through one slot", {{{2, 0, 1}, {0, 2, 1}}}},
      {"one page each way", {{{1, 1, 1}, {1, 1, 1}}}},
      {"woken by something else", {{{1, 0, 1}, {0, 1, 1}}}, 1},
  };
  return all;
}

TEST(Doorbell, nobody_sleeps_on_news_in_any_order_of_steps) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.name);
    Explorer explorer(one.work, {}, one.strays);
    explorer.run_all();
    EXPECT_GT(explorer.states(), 1000U);
    EXPECT_GT(explorer.ended(), 0U);
    EXPECT_EQ(explorer.stuck(), 0U) << explorer.story();
  }
}

TEST(Doorbell, without_the_fence_of_who_rings_a_wake_up_is_lost) {
  Explorer explorer({{{1, 0, 1}, {0, 1, 1}}}, {.ringers_fence = true}, 0);
  explorer.run_all();
  EXPECT_GT(explorer.stuck(), 0U);
  EXPECT_GT(explorer.ended(), 0U);
}

TEST(Doorbell, without_the_fence_of_who_sleeps_a_wake_up_is_lost) {
  Explorer explorer({{{1, 0, 1}, {0, 1, 1}}}, {.sleepers_fence = true}, 0);
  explorer.run_all();
  EXPECT_GT(explorer.stuck(), 0U);
  EXPECT_GT(explorer.ended(), 0U);
}

// --- A bell that the system has no memory for.

struct WeakBell {
  std::uint32_t& sleep;  // of the other side
  int& rings;
  int& fails;  // so many rings come to nothing

  [[nodiscard]] std::uint32_t their_sleep() const noexcept { return sleep; }
  void say(std::uint32_t) noexcept {}
  static void fence() noexcept {}
  bool ring() noexcept {
    if (fails > 0) {
      --fails;
      return false;
    }
    ++rings;
    return true;
  }
};

TEST(Doorbell, a_ring_that_found_no_memory_is_rung_again) {
  std::uint32_t sleep = ShmBoard::asleep;
  int rings = 0;
  int fails = 2;
  ShmDoorbell<WeakBell> doorbell(WeakBell{sleep, rings, fails});
  doorbell.pages_written();
  doorbell.ring();
  EXPECT_TRUE(doorbell.owes_ring());
  doorbell.fall_asleep(false);
  EXPECT_TRUE(doorbell.owes_ring());
  EXPECT_EQ(rings, 0);
  doorbell.wake_up();
  doorbell.ring();
  EXPECT_FALSE(doorbell.owes_ring());
  EXPECT_EQ(rings, 1);
  doorbell.pages_written();
  doorbell.ring();
  EXPECT_EQ(rings, 1) << "it was rung for this sleep";
}

}  // namespace
}  // namespace netio::detail
