// Two sides with Credits, and pages in flight between them: whatever the order of sends, pauses,
// grants and good-byes, nobody sends without a receive, and nobody who may send waits for ever.
#include "transport/ofi/credits.hpp"

#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

enum class Kind : std::uint8_t { messages, grant, bye };
struct Flying {
  Kind kind = Kind::messages;
  std::uint32_t credits = 0;
  bool lent = false;
  std::uint32_t fetched = 0;
};

// Without what is kept back; to see that the model can fail.
struct Rules {
  bool keeps_for_grants = true;
  bool keeps_for_bye = true;
  bool gives_back_what_grants_took = true;
};

constexpr std::uint32_t lends_max = 64;

// What a link does with its credits (link_datapath.cpp), without the link.
struct Side {
  Side(std::uint32_t receives, Rules kept) : window(receives), rules(kept) {}

  std::uint32_t window;
  Rules rules;
  Credits credits;
  std::uint32_t left = 0;  // as `credits` has it; counted here too
  std::uint32_t posted = 0;
  std::uint32_t held = 0;  // receives that hold what a paused reader has not taken
  std::uint32_t lent_out = 0;
  std::uint32_t untold_fetches = 0;
  bool reads_more = false;     // another message is being fetched
  std::deque<Flying> waiting;  // came while paused
  bool paused = false;
  bool wants_to_send = true;
  bool lends = false;
  bool bye_sent = false;
  bool bye_heard = false;

  [[nodiscard]] bool may_send_messages() const {
    return !bye_sent && (rules.keeps_for_grants && rules.keeps_for_bye ? credits.may_post()
                         : rules.keeps_for_bye                         ? credits.may_grant()
                                                                       : credits.may_say_bye());
  }
  [[nodiscard]] bool may_grant() const {
    return !bye_sent && (rules.keeps_for_bye ? credits.may_grant() : credits.may_say_bye());
  }
  [[nodiscard]] bool wants_to_grant() const {
    const bool tells_of_fetches = untold_fetches >= (reads_more ? 2U : 1U);
    return !bye_sent && (credits.untold() * 2 >= window || tells_of_fetches ||
                         (rules.gives_back_what_grants_took && credits.peer_needs_one()));
  }
};

class Model {
 public:
  Model(std::array<std::uint32_t, 2> windows, Rules rules)
      : sides_{Side(windows[0], rules), Side(windows[1], rules)} {
    for (const int me : {0, 1}) {
      // Each hello takes one of the receives of the other, which is posted again at once.
      for (std::uint32_t i = 1; i < side(me).window; ++i) post_receive(me);
      const std::uint32_t told = side(me).credits.untold();
      side(me).credits.told(told);
      (void)side(1 - me).credits.granted(told);
      side(1 - me).left = told;
      post_receive(me);
    }
  }

  Side& side(int me) { return sides_[static_cast<std::size_t>(me)]; }

  // Everything that is to happen without a decision of a user's: as run_deferred().
  void grant(int me) {
    Side& my = side(me);
    if (my.wants_to_grant() && my.may_grant()) send(me, Kind::grant);
  }
  bool send_messages(int me) {
    Side& my = side(me);
    if (!my.wants_to_send || !my.may_send_messages()) return false;
    if (my.lends && my.lent_out == lends_max) return false;
    send(me, Kind::messages);
    return true;
  }
  bool say_bye(int me) {
    Side& my = side(me);
    if (my.bye_sent || !my.credits.may_say_bye()) return false;
    send(me, Kind::bye);
    return true;
  }
  // The next page that is under way to `me`.
  bool arrive(int me) {
    auto& way = ways_[static_cast<std::size_t>(me)];
    if (way.empty()) return false;
    const Flying page = way.front();
    way.pop_front();
    Side& my = side(me);
    if (my.posted == 0 || !my.credits.arrived()) overrun_ = true;
    --my.posted;
    if (!my.credits.granted(page.credits)) overrun_ = true;
    my.left += page.credits;
    my.lent_out -= page.fetched;
    if (page.kind == Kind::grant) {
      post_receive(me);
    } else if (page.lent) {
      post_receive(me);
      my.waiting.push_back(page);
    } else {
      ++my.held;
      my.waiting.push_back(page);
    }
    if (!my.paused) read(me);
    grant(me);
    return true;
  }
  void read_more(int me, bool more) {
    side(me).reads_more = more;
    grant(me);
  }
  void pause(int me, bool paused) {
    side(me).paused = paused;
    if (!paused) {
      read(me);
      grant(me);
    }
  }
  [[nodiscard]] bool overrun() const { return overrun_; }
  [[nodiscard]] bool quiet() const { return ways_[0].empty() && ways_[1].empty(); }
  // Nobody waits for a grant that does not come.
  [[nodiscard]] bool stuck(int me) {
    const Side& my = side(me);
    return my.wants_to_send && !my.bye_sent && !my.bye_heard && !my.may_send_messages();
  }

 private:
  void read(int me) {
    Side& my = side(me);
    for (const Flying& page : my.waiting) {
      if (page.kind == Kind::bye) my.bye_heard = true;
      if (page.lent) {
        ++my.untold_fetches;
      } else {
        --my.held;
        post_receive(me);
      }
    }
    my.waiting.clear();
  }
  void post_receive(int me) {
    Side& my = side(me);
    ++my.posted;
    my.credits.posted(1);
  }
  void send(int me, Kind kind) {
    Side& my = side(me);
    Flying page{kind, my.credits.untold(), kind == Kind::messages && my.lends, my.untold_fetches};
    if (page.lent) ++my.lent_out;
    my.untold_fetches = 0;
    my.credits.told(page.credits);
    my.credits.spend();
    if (my.left-- == 0) overrun_ = true;
    my.bye_sent |= kind == Kind::bye;
    ways_[static_cast<std::size_t>(1 - me)].push_back(page);
  }

  std::array<Side, 2> sides_;
  std::array<std::deque<Flying>, 2> ways_;  // to side 0, to side 1
  bool overrun_ = false;
};

// Random steps, then all is let go on: what went wrong, if anything. A side that pauses until it
// may send is an echo: it reads no more while its answers do not leave.
std::optional<std::string> run(unsigned seed, Rules rules, bool lends) {
  std::mt19937 random(seed);
  const auto any = [&random](std::uint32_t below) {
    return static_cast<std::uint32_t>(random() % below);
  };
  constexpr std::array<std::uint32_t, 6> windows = {4, 5, 8, 16, 64, 1024};
  Model model({windows[any(6)], windows[any(6)]}, rules);
  for (const int me : {0, 1}) model.side(me).lends = lends && any(2) == 0;
  const std::uint32_t steps = 20 + any(400);
  for (std::uint32_t i = 0; i < steps; ++i) {
    const int me = static_cast<int>(any(2));
    const std::uint32_t times = any(3) == 0 ? 1 + any(100) : 1;
    const std::uint32_t what = any(10);
    for (std::uint32_t n = 0; n < times; ++n) {
      if (what < 4) {
        (void)model.send_messages(me);
      } else if (what < 8) {
        (void)model.arrive(me);
      }
    }
    if (what >= 8) model.pause(me, any(2) == 0);
    if (what == 7) model.read_more(me, any(2) == 0);
    if (model.overrun()) return "a page came that had no receive";
  }
  for (const int me : {0, 1}) model.read_more(me, false);  // a fetch ends
  // One reads from now on; the other reads whenever it can send, and must get to do so.
  const int echo = static_cast<int>(any(2));
  model.pause(1 - echo, false);
  model.side(1 - echo).wants_to_send = true;
  for (int turn = 0; turn < 4; ++turn) {
    while (model.arrive(0) || model.arrive(1)) {
    }
    if (model.overrun()) return "a page came that had no receive";
    if (model.side(echo).paused && model.stuck(echo)) return "who pauses until it may send waits";
    while (model.send_messages(echo)) {
    }
  }
  model.pause(echo, false);
  while (model.arrive(0) || model.arrive(1)) {
  }
  for (const int me : {0, 1}) {
    if (model.stuck(me)) return "all is read, and a side may not send";
    if (model.side(me).lent_out > lends_max / 2) return "lent memory does not come home";
  }
  for (const int me : {0, 1}) {
    while (model.send_messages(me)) {
    }
    if (!model.say_bye(me)) return "no credit is left for the good-bye";
  }
  while (model.arrive(0) || model.arrive(1)) {
  }
  if (model.overrun()) return "a page came that had no receive";
  if (!model.side(0).bye_heard || !model.side(1).bye_heard) return "a good-bye was not heard";
  return std::nullopt;
}

constexpr unsigned runs = 10000;
#ifdef NDEBUG
constexpr unsigned sound_runs = runs;
#else
constexpr unsigned sound_runs = runs / 10;  // one thread: sanitizers find nothing more
#endif

bool goes_wrong(Rules rules, bool lends) {
  for (unsigned seed = 0; seed < runs; ++seed) {
    if (run(seed, rules, lends)) return true;
  }
  return false;
}

TEST(Credits, no_order_of_things_deadlocks_or_overruns) {
  for (unsigned seed = 0; seed < sound_runs; ++seed) {
    const auto wrong = run(seed, Rules{}, false);
    ASSERT_FALSE(wrong.has_value()) << "seed " << seed << ": " << *wrong;
  }
}

TEST(Credits, no_order_of_things_deadlocks_when_memory_is_lent) {
  for (unsigned seed = 0; seed < sound_runs; ++seed) {
    const auto wrong = run(seed, Rules{}, true);
    ASSERT_FALSE(wrong.has_value()) << "seed " << seed << ": " << *wrong;
  }
}

TEST(Credits, without_those_kept_back_or_given_back_two_sides_wait_for_each_other) {
  EXPECT_TRUE(goes_wrong({.keeps_for_grants = false}, false));
  EXPECT_TRUE(goes_wrong({.keeps_for_bye = false}, false));
  EXPECT_TRUE(goes_wrong({.gives_back_what_grants_took = false}, true));
}

TEST(Credits, more_than_a_window_can_hold_is_refused) {
  Credits credits;
  EXPECT_FALSE(credits.granted(Credits::window_max + 1));
  EXPECT_FALSE(credits.granted(~std::uint32_t{0}));
  EXPECT_TRUE(credits.granted(Credits::window_max));
  EXPECT_FALSE(credits.granted(1));
  credits.spend();
  EXPECT_FALSE(credits.granted(2));
  EXPECT_TRUE(credits.granted(1));
}

}  // namespace
}  // namespace netio::detail
