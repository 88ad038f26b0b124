// Units and builders, with an event manager and without one, in processes of their own, at a
// constant rate of events. One of them is killed or stopped, again and again: no event may be lost,
// an event that is handed over a second time has to be marked, and only the events of a unit that
// is gone may be incomplete. Says how long it takes each time until everything is built that
// exists: two leases until a builder has lost what it had, and what it takes to build it anew.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <netio/event_building.hpp>

#include "build_faults/children.hpp"
#include "build_faults/members.hpp"
#include "build_faults/networks.hpp"
#include "build_faults/slowed.hpp"

namespace netio::test {
namespace {

using namespace std::chrono_literals;  // NOLINT

constexpr std::string_view usage =
    R"(Usage: build_faults [--kills N] [--only KIND] [--rate N]
                    [--lease MILLISECONDS]
       build_faults --only slowed [--rounds N] [--work MICROSECONDS] [--load PERCENT] [--range N]

  --kills N  how often each of them is killed (100)
  --only     builder: a builder is killed, and another one takes its place
             hang: a builder is stopped for four leases, and goes on
             unit: a unit is killed, and comes back after four
             manager: the manager is killed, and another one takes its place
             cable: a builder's cable is pulled for four leases (cable, unled and pair have hosts of
             their own in network namespaces, and are left out where those are not permitted)
             unled: a builder and the manager do not reach each other for four leases
             pair: a unit and a builder do not reach each other for four leases: the events of that
             builder lack fragments of the unit
             small: the three that follow, of a system without an event manager
             small-builder: a builder is killed, and started again at once at its address
             small-unit: a unit is killed, and comes back after four
             small-pair: a unit and a builder do not reach each other for four leases
             slowed: one of three builders becomes half as fast. Within 2 s it has to be given half
             of what the others are given each, and the others may not become slower
  --rate N   events a second, of two fragments of 200 bytes each (5000); not of slowed
  --lease N  the lease of builders, the deadline of events, and how long a unit is waited for (250;
             slowed has 1000 at least)
  --rounds N how often a builder is slowed (5)
  --work N   how long an event takes a builder in its call-back before it is slowed (1000)
  --load N   how many events are produced, of what three builders can do then (120)
  --range N  events in a range (16)
)";

constexpr auto settled_after = 100ms;  // an event, if nothing is wrong

struct Arguments {
  std::uint64_t kills = 100;
  std::uint64_t rate = 5'000;
  std::uint64_t lease_ms = 250;
  std::string only;
  Slowed slowed;
};

class Faults {
 public:
  explicit Faults(const Arguments& arguments) : arguments_(arguments) {
    // Below the ports that the kernel gives to others.
    const int port = 20'000 + ::getpid() % 4'000 * 3;
    system_.manager = "tcp://127.0.0.1:" + std::to_string(port);
    system_.first_port = static_cast<std::uint16_t>(port + 1);
    system_.rate = arguments.rate;
    system_.lease = std::chrono::milliseconds(arguments.lease_ms);
  }

  void run() {
    if (wants({"builder", "hang", "unit", "manager"})) kill_and_judge();
    if (wants({"slowed"})) {
      new_board();
      measure_slowed(system_, arguments_.slowed);
    }
    if (wants({"cable", "unled", "pair"})) part_and_judge();
    if (wants({"small", "small-builder", "small-unit", "small-pair"})) judge_small();
  }

 private:
  [[nodiscard]] bool wants(std::initializer_list<std::string_view> kinds) const {
    return arguments_.only.empty() ||
           std::find(kinds.begin(), kinds.end(), arguments_.only) != kinds.end();
  }

  // The hosts of members, in their networks.
  static constexpr std::uint32_t manager_host = 1;
  static std::uint32_t host_of_builder(std::uint64_t i) { return 10 + builder_of(i); }
  static std::uint32_t host_of_unit(std::uint64_t i) {
    return 20 + static_cast<std::uint32_t>(i / builders_count % units_count);
  }
  // The members get hosts of their own.
  [[nodiscard]] bool spread(const char* kinds) {
    if (!has_networks_) has_networks_ = networks_.begin();
    if (!*has_networks_) {
      std::printf("%s: skipped, because no process may have networks of its own\n", kinds);
      return false;
    }
    for (std::uint32_t number = 0; number < builders_count; ++number) {
      system_.builder_hosts.push_back(Networks::address_of(host_of_builder(number)));
    }
    return true;
  }
  void part_and_judge() {
    if (!spread("cable, unled, pair")) return;
    system_.manager = "tcp://" + Networks::address_of(manager_host) + ":5550";
    begin();
    fault(
        "cable", "a builder's cable pulled for four leases",
        [this](std::uint64_t i) { networks_.pull_cable(host_of_builder(i)); },
        [this](std::uint64_t i) { networks_.plug_in(host_of_builder(i)); });
    fault(
        "unled", "a builder without its manager for four",
        [this](std::uint64_t i) { networks_.part(host_of_builder(i), manager_host); },
        [this](std::uint64_t i) { networks_.join(host_of_builder(i), manager_host); });
    part_a_pair("pair");
    end();
    judge();
    system_.builder_hosts.clear();
  }
  void part_a_pair(std::string_view name) {
    fault(
        name, "a unit without a builder for four leases",
        [this](std::uint64_t i) {
          gap_from_ = built_;
          networks_.part(host_of_unit(i), host_of_builder(i));
        },
        [this](std::uint64_t i) {
          networks_.join(host_of_unit(i), host_of_builder(i));
          // It is back when it has connected again, and what is under way then is late, too.
          std::this_thread::sleep_for(4 * system_.lease);
          gaps_.push_back({gap_from_, produced(system_, monotonic_ns())});
        });
  }
  void judge_small() {
    system_.managed = false;
    std::printf("without an event manager:\n");
    if (wants({"small", "small-builder", "small-unit"})) {
      begin();
      fault(
          "small-builder", "a builder killed, and started again",
          [this](std::uint64_t i) {
            kill_child(builders_[builder_of(i)]);
            start_builder(builder_of(i));
          },
          [](std::uint64_t) {});
      kill_units("small-unit");
      end();
      judge();
    }
    if (wants({"small", "small-pair"}) && spread("small-pair")) {
      begin();
      part_a_pair("small-pair");
      end();
      judge();
    }
  }

  void new_board() {
    if (system_.board != nullptr) ::munmap(system_.board, sizeof(Scoreboard));
    void* const memory = ::mmap(nullptr, sizeof(Scoreboard), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) give_up(std::string("no shared memory: ") + std::strerror(errno));
    system_.board = new (memory) Scoreboard;
  }

  void kill_and_judge() {
    begin();
    const auto again = [this](std::uint64_t i) { start_builder(builder_of(i)); };
    fault(
        "builder", "a builder killed",
        [this](std::uint64_t i) { kill_child(builders_[builder_of(i)]); }, again);
    fault(
        "hang", "a builder stopped for four leases",
        [this](std::uint64_t i) { ::kill(builders_[builder_of(i)], SIGSTOP); },
        [this](std::uint64_t i) { ::kill(builders_[builder_of(i)], SIGCONT); });
    kill_units("unit");
    fault(
        "manager", "the manager killed, and another one",
        [this](std::uint64_t) {
          kill_child(manager_);
          start_manager();
        },
        [](std::uint64_t) {});
    end();
    judge();
  }

  void kill_units(std::string_view name) {
    fault(
        name, "a unit killed, and back after four", [this](std::uint64_t i) { kill_unit(i); },
        [this](std::uint64_t i) { bring_back(i); });
  }

  // The events that a unit cannot have sent.
  struct Gap {
    std::uint64_t from = 0;
    std::uint64_t below = 0;
  };

  [[nodiscard]] pid_t start_on(std::uint32_t host, const std::function<int()>& life) {
    return system_.builder_hosts.empty() ? start_child(life) : networks_.start_child_on(host, life);
  }
  void start_manager() {
    manager_ = start_on(manager_host, [this] { return manager_process(system_); });
  }
  void start_builder(std::uint32_t number) {
    builders_[number] = start_on(host_of_builder(number),
                                 [this, number] { return builder_process(system_, number); });
  }
  void start_unit(std::uint32_t source, bool late) {
    units_[source] = start_on(host_of_unit(source * builders_count),
                              [this, source, late] { return unit_process(system_, source, late); });
  }
  void begin() {
    gaps_.clear();
    strikes_.clear();
    built_ = 0;
    new_board();
    if (system_.managed) start_manager();
    for (std::uint32_t number = 0; number < builders_count; ++number) start_builder(number);
    for (std::uint32_t source = 0; source < units_count; ++source) start_unit(source, false);
    await("all of them to meet", [this] { return system_.board->ready == 4; });
    system_.board->start_ns = monotonic_ns();
    await_all_built();
  }

  void await(const char* what, const std::function<bool()>& condition) {
    const std::int64_t until = monotonic_ns() + 60'000'000'000;
    while (!condition()) {
      look_for_deaths();
      if (monotonic_ns() > until) {
        give_up(std::string("waited for ") + what + " for 60 s; event " + std::to_string(built_) +
                " of " + std::to_string(produced(system_, monotonic_ns())) + " is not built");
      }
      std::this_thread::sleep_for(1ms);
    }
  }
  // Everything is built that existed a moment ago.
  bool all_built() {
    const std::uint64_t below =
        produced(system_, monotonic_ns() - std::chrono::nanoseconds(settled_after).count());
    while (built_ < below && system_.board->events[built_].times != 0) ++built_;
    if (below >= events_max - system_.rate) give_up("too many events: choose fewer kills");
    return built_ >= below;
  }
  void await_all_built() {
    await("all events that exist", [this] { return all_built(); });
  }

  static std::uint32_t builder_of(std::uint64_t i) {
    return static_cast<std::uint32_t>(i % builders_count);
  }

  void fault(std::string_view name, const char* title,
             const std::function<void(std::uint64_t)>& strike,
             const std::function<void(std::uint64_t)>& mend) {
    const bool of_small = arguments_.only == "small" && !system_.managed;
    if (!arguments_.only.empty() && arguments_.only != name && !of_small) return;
    std::vector<double> seconds;
    const std::uint64_t again = system_.board->again;
    const std::uint64_t first = built_;
    for (std::uint64_t i = 0; i < arguments_.kills; ++i) {
      struck_ns_ = monotonic_ns();
      strikes_.push_back(static_cast<double>(struck_ns_ - system_.board->start_ns) / 1e9);
      strike(i);
      seconds.push_back(watch());
      mend(i);
      std::this_thread::sleep_for(system_.lease);
      await_all_built();
    }
    std::sort(seconds.begin(), seconds.end());
    std::printf(
        "%-36s %3zu times: all is built after %.2f s (median), %.2f s (most); %llu events, "
        "%llu handed over again\n",
        title, seconds.size(), seconds[seconds.size() / 2], seconds.back(),
        static_cast<unsigned long long>(built_ - first),
        static_cast<unsigned long long>(system_.board->again - again));
    std::fflush(stdout);
  }
  // For four leases, and until all is built: the time until it was so for good, in seconds.
  double watch() {
    std::int64_t behind_ns = struck_ns_;
    await("all events that exist", [&] {
      const bool built = all_built();
      const std::int64_t now = monotonic_ns();
      if (!built) behind_ns = now;
      return built && now - struck_ns_ >= 4 * std::chrono::nanoseconds(system_.lease).count();
    });
    return static_cast<double>(behind_ns - struck_ns_) / 1e9;
  }
  void kill_unit(std::uint64_t i) {
    gap_from_ = built_;  // what it had in its store is lost with it
    kill_child(units_[i % units_count]);
  }
  void bring_back(std::uint64_t i) {
    const auto source = static_cast<std::uint32_t>(i % units_count);
    const std::uint32_t ready = system_.board->ready;
    const std::uint32_t met = system_.board->met;
    start_unit(source, true);
    await("the unit to begin anew", [&] { return system_.board->ready > ready; });
    std::uint64_t below = system_.board->begun_at[source];
    if (!system_.managed) {
      // A builder that has not heard of it yet does not wait for it.
      await("builders to meet the unit",
            [&] { return system_.board->met >= met + builders_count; });
      below = produced(system_, monotonic_ns());
    }
    gaps_.push_back({gap_from_, below});
  }

  void end() {
    system_.board->stop_at = produced(system_, monotonic_ns()) + system_.rate / 10;
    for (const pid_t child : units_) await_end(child);
    if (system_.managed) await_end(manager_);
    system_.board->over = true;
    for (const pid_t child : builders_) await_end(child);
  }
  void judge() const {
    std::uint64_t lost = 0;
    std::uint64_t twice = 0;
    std::uint64_t incomplete = 0;
    std::uint64_t without_reason = 0;
    const std::uint64_t below = system_.board->stop_at;
    for (std::uint64_t number = 0; number < below; ++number) {
      const EventRecord& record = system_.board->events[number];
      if (record.times == 0) ++lost;
      if (record.unmarked > 1) ++twice;
      // It may have been complete the second time.
      if (record.incomplete == 0) continue;
      ++incomplete;
      const bool excused = std::any_of(gaps_.begin(), gaps_.end(), [&](const Gap& gap) {
        return number >= gap.from && number < gap.below + 1;
      });
      if (!excused && ++without_reason <= shown_max) show(number, record);
    }
    const auto shown = [](std::uint64_t count) { return static_cast<unsigned long long>(count); };
    std::printf(
        "%llu events: %llu lost, %llu handed over twice without a mark, %llu incomplete, of "
        "them %llu while all units were there; %llu wrong fragments\n",
        shown(below), shown(lost), shown(twice), shown(incomplete), shown(without_reason),
        shown(system_.board->wrong));
    if (lost + twice + without_reason + system_.board->wrong != 0) give_up("see above");
  }

  void show(std::uint64_t number, const EventRecord& record) const {
    const double at = static_cast<double>(number) / static_cast<double>(system_.rate);
    const double built = static_cast<double>(record.first_ns - system_.board->start_ns) / 1e9;
    double struck = 0;
    for (const double each : strikes_) {
      if (each <= built) struck = each;
    }
    std::printf(
        "event %llu of builder %llu, produced at %.3f s, was built at %.3f s without unit %u (%s); "
        "the fault before was at %.3f s\n",
        static_cast<unsigned long long>(number),
        static_cast<unsigned long long>(number / system_.range_events % builders_count), at, built,
        record.lacks_source.load(),
        std::string(to_string(static_cast<Missing>(record.lacks_why.load()))).c_str(), struck);
  }

  static constexpr std::uint64_t shown_max = 8;

  Arguments arguments_;
  System system_;
  Networks networks_;
  std::optional<bool> has_networks_;
  pid_t manager_ = 0;
  pid_t builders_[builders_count]{};
  pid_t units_[units_count]{};
  std::uint64_t built_ = 0;     // all events below it were handed over
  std::int64_t struck_ns_ = 0;  // the last fault
  std::uint64_t gap_from_ = 0;
  std::vector<Gap> gaps_;
  std::vector<double> strikes_;  // in seconds since the first event
};

std::uint64_t number_of(std::string_view option, const char* text) {
  char* end = nullptr;
  const std::uint64_t number = text == nullptr ? 0 : std::strtoull(text, &end, 10);
  if (number == 0 || *end != '\0') {
    std::printf("build_faults: %s needs a number above 0\n%s", std::string(option).c_str(),
                std::string(usage).c_str());
    std::exit(2);
  }
  return number;
}

[[noreturn]] void show_usage(int status) {
  std::printf("%s", std::string(usage).c_str());
  std::exit(status);
}

Arguments parse(int count, char** words) {
  Arguments arguments;
  for (int i = 1; i < count; i += 2) {
    const std::string_view word = words[i];
    const char* const next = i + 1 < count ? words[i + 1] : nullptr;
    if (word == "--kills") {
      arguments.kills = number_of(word, next);
    } else if (word == "--rate") {
      arguments.rate = number_of(word, next);
    } else if (word == "--lease") {
      arguments.lease_ms = number_of(word, next);
    } else if (word == "--rounds") {
      arguments.slowed.rounds = number_of(word, next);
    } else if (word == "--work") {
      arguments.slowed.work_us = number_of(word, next);
    } else if (word == "--range") {
      arguments.slowed.range_events = number_of(word, next);
    } else if (word == "--load") {
      arguments.slowed.load_percent = number_of(word, next);
    } else if (word == "--only" && next != nullptr) {
      arguments.only = next;
    } else {
      show_usage(word == "--help" ? 0 : 2);
    }
  }
  const std::string_view only = arguments.only;
  const auto kinds = {"",          "builder", "hang", "unit",  "manager",       "slowed",
                      "cable",     "unled",   "pair", "small", "small-builder", "small-unit",
                      "small-pair"};
  if (std::find(kinds.begin(), kinds.end(), only) == kinds.end()) show_usage(2);
  return arguments;
}

}  // namespace
}  // namespace netio::test

int main(int count, char** words) {
  netio::test::Faults(netio::test::parse(count, words)).run();
  return 0;
}
