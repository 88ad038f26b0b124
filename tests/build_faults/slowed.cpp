#include "build_faults/slowed.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "build_faults/children.hpp"

namespace netio::test {
namespace {

using namespace std::chrono_literals;  // NOLINT

// The bars: the slowed builder's share of what each of the others gets, how soon, and what the
// others get of what they got before.
constexpr double share_min = 0.4;
constexpr double share_max = 0.6;
constexpr double seconds_max = 2;
constexpr double others_min = 0.9;

// The parts of a round.
constexpr auto to_settle = 1s;     // all builders are as fast as each other again
constexpr auto before = 1s;        // what they get then
constexpr auto to_react = 2s;      // one of them is slow from now on
constexpr auto after = 2s;         // what they get then
constexpr auto look_each = 100ms;  // meanwhile
constexpr std::size_t looks = 5;   // a share is that of so many looks

constexpr std::uint32_t builders = builders_max;
constexpr int attempts_max = 3;  // a machine that is busy is no fault

struct Look {
  std::int64_t at_ns = 0;
  std::array<std::uint64_t, builders> built{};
};

struct Round {
  double share = 0;    // of the slowed builder, of the mean of the others
  double seconds = 0;  // until its share was within the bars first
  double others = 0;   // the rate of the others, of what it was before
  double slowed = 0;   // the rate of the slowed builder, of what it was before
};

double rate(const Look& from, const Look& to, std::uint32_t builder) {
  return static_cast<double>(to.built[builder] - from.built[builder]) * 1e9 /
         static_cast<double>(to.at_ns - from.at_ns);
}

double rate_of_others(const Look& from, const Look& to, std::uint32_t slowed) {
  double all = 0;
  for (std::uint32_t i = 0; i < builders; ++i) all += i == slowed ? 0 : rate(from, to, i);
  return all / (builders - 1);
}

double share(const Look& from, const Look& to, std::uint32_t slowed) {
  return rate(from, to, slowed) / std::max(rate_of_others(from, to, slowed), 1e-9);
}

class SlowedBuilder {
 public:
  SlowedBuilder(const System& system, const Slowed& slowed) : system_(system), slowed_(slowed) {
    system_.builders = builders;
    system_.range_events = slowed.range_events;
    system_.rate = builders * 10'000 * slowed.load_percent / slowed.work_us;
    // A builder does not report while it hands over what it has: two ranges.
    system_.lease = std::max<std::chrono::milliseconds>(system_.lease, 1s);
  }

  void run() {
    begin();
    bool met = false;
    from_ns_ = monotonic_ns();
    for (int attempt = 0; attempt < attempts_max && !met; ++attempt) met = play();
    until_ns_ = monotonic_ns();
    end();
    judge();
    if (!met) give_up("the shares of builders are not as they should be: see above");
  }

 private:
  void begin() {
    for (auto& each : system_.board->work_ns) each = work_ns();
    manager_ = start_child([this] { return manager_process(system_); });
    for (std::uint32_t number = 0; number < builders; ++number) {
      builders_[number] = start_child([this, number] { return builder_process(system_, number); });
    }
    for (std::uint32_t source = 0; source < units_count; ++source) {
      units_[source] = start_child([this, source] { return unit_process(system_, source, false); });
    }
    await([this] { return system_.board->ready == units_count + builders; });
    system_.board->start_ns = monotonic_ns();
    await([this] {  // the manager learns for two leases
      return std::all_of(std::begin(system_.board->built), std::end(system_.board->built),
                         [](const auto& count) { return count > 0; });
    });
  }
  static void await(const std::function<bool()>& condition) {
    for (const std::int64_t until = monotonic_ns() + 60'000'000'000; !condition();) {
      look_for_deaths();
      if (monotonic_ns() > until) give_up("waited for builders, units and manager for 60 s");
      std::this_thread::sleep_for(1ms);
    }
  }
  [[nodiscard]] std::int64_t work_ns() const {
    return static_cast<std::int64_t>(slowed_.work_us) * 1'000;
  }

  [[nodiscard]] Look look() const {
    Look now;
    now.at_ns = monotonic_ns();
    for (std::uint32_t i = 0; i < builders; ++i) now.built[i] = system_.board->built[i];
    return now;
  }
  Look look_after(std::chrono::milliseconds time) const {
    std::this_thread::sleep_for(time);
    look_for_deaths();
    return look();
  }

  // True if the medians are within the bars.
  bool play() {
    std::vector<Round> rounds;
    for (std::uint64_t i = 0; i < slowed_.rounds; ++i) {
      rounds.push_back(round(static_cast<std::uint32_t>(i % builders)));
      const Round& last = rounds.back();
      std::printf(
          "  builder %u slowed: %.3f of the share of the others, within the bars after "
          "%.1f s; it has %.3f of its rate, the others %.3f of theirs\n",
          static_cast<unsigned>(i % builders), last.share, last.seconds, last.slowed, last.others);
      std::fflush(stdout);
    }
    const double share = print(rounds, &Round::share, "share of the slowed builder");
    const double seconds = print(rounds, &Round::seconds, "seconds until it was so");
    const double others = print(rounds, &Round::others, "rate of the others, of before");
    const bool met =
        share >= share_min && share <= share_max && seconds <= seconds_max && others >= others_min;
    std::printf(
        "a builder half as fast, %llu rounds: %s (share %.1f .. %.1f within %.0f s, others "
        "%.1f at least)\n",
        static_cast<unsigned long long>(rounds.size()), met ? "met" : "MISSED", share_min,
        share_max, seconds_max, others_min);
    std::fflush(stdout);
    return met;
  }
  static double print(const std::vector<Round>& rounds, double Round::*value, const char* what) {
    std::vector<double> values;
    for (const Round& each : rounds) values.push_back(each.*value);
    std::sort(values.begin(), values.end());
    const double median = (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
    std::printf("%-30s %.3f (%.3f .. %.3f)\n", what, median, values.front(), values.back());
    return median;
  }

  Round round(std::uint32_t slowed) {
    const Look from = look_after(to_settle);
    const Look to = look_after(before);
    system_.board->work_ns[slowed] = 2 * work_ns();
    Round result;
    result.seconds = time_to_react(to, slowed);
    const Look reacted = look();
    const Look last = look_after(after);
    system_.board->work_ns[slowed] = work_ns();
    result.share = share(reacted, last, slowed);
    result.slowed = rate(reacted, last, slowed) / std::max(rate(from, to, slowed), 1e-9);
    result.others =
        rate_of_others(reacted, last, slowed) / std::max(rate_of_others(from, to, slowed), 1e-9);
    return result;
  }
  // The end of the first looks in which the share is within the bars. Takes `to_react` in any case.
  [[nodiscard]] double time_to_react(const Look& begin, std::uint32_t slowed) const {
    std::vector<Look> seen = {begin};
    double seconds = 0;
    while (seen.back().at_ns - begin.at_ns < std::chrono::nanoseconds(to_react).count()) {
      seen.push_back(look_after(look_each));
      if (seconds != 0 || seen.size() <= looks) continue;
      const double now = share(seen[seen.size() - 1 - looks], seen.back(), slowed);
      if (now < share_min || now > share_max) continue;
      seconds = static_cast<double>(seen.back().at_ns - begin.at_ns) / 1e9;
    }
    return seconds != 0 ? seconds : 2 * seconds_max;  // not in time
  }

  // What waits for a builder is built at once now.
  void end() {
    for (auto& each : system_.board->work_ns) each = 0;
    system_.board->stop_at = produced(system_, monotonic_ns()) + system_.rate / 10;
    for (const pid_t child : {units_[0], units_[1], manager_}) await_end(child);
    system_.board->over = true;
    for (const pid_t child : builders_) await_end(child);
  }
  // Of the rounds, in which no builder handed over anything.
  [[nodiscard]] double longest_pause_s(std::uint64_t below) const {
    std::vector<std::int64_t> times;
    for (std::uint64_t number = 0; number < below; ++number) {
      const std::int64_t at = system_.board->events[number].first_ns;
      if (at > from_ns_ && at < until_ns_) times.push_back(at);
    }
    std::sort(times.begin(), times.end());
    std::int64_t longest = 0;
    for (std::size_t i = 1; i < times.size(); ++i) {
      longest = std::max(longest, times[i] - times[i - 1]);
    }
    return static_cast<double>(longest) / 1e9;
  }
  void judge() const {
    std::uint64_t lost = 0;
    std::uint64_t twice = 0;
    std::uint64_t incomplete = 0;
    const std::uint64_t below = std::min<std::uint64_t>(system_.board->stop_at, events_max);
    for (std::uint64_t number = 0; number < below; ++number) {
      const EventRecord& record = system_.board->events[number];
      lost += record.times == 0 ? 1U : 0U;
      twice += record.unmarked > 1 ? 1U : 0U;
      incomplete += record.incomplete != 0 ? 1U : 0U;
    }
    const auto shown = [](std::uint64_t count) { return static_cast<unsigned long long>(count); };
    std::printf(
        "%llu events: %llu lost, %llu handed over twice without a mark, %llu with one, %llu "
        "incomplete\n",
        shown(below), shown(lost), shown(twice), shown(system_.board->again), shown(incomplete));
    std::printf("the longest time in which no builder handed over an event: %.3f s\n",
                longest_pause_s(below));
    if (lost + twice + incomplete + system_.board->wrong != 0) give_up("see above");
  }

  System system_;
  Slowed slowed_;
  std::int64_t from_ns_ = 0;  // of all rounds
  std::int64_t until_ns_ = 0;
  pid_t manager_ = 0;
  std::array<pid_t, builders> builders_{};
  std::array<pid_t, units_count> units_{};
};

}  // namespace

void measure_slowed(System system, const Slowed& slowed) {
  system.board->ready = 0;
  SlowedBuilder(system, slowed).run();
}

}  // namespace netio::test
