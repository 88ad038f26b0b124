#include "bench/scan.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/csv.hpp"
#include "bench/gnuplot.hpp"
#include "bench/rounds.hpp"
#include "bench/scan_results.hpp"
#include "bench/stage.hpp"
#include "limits.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

[[noreturn]] void refuse_scan(const std::string& what, const std::string& advice) {
  throw Failure(what, advice, ExitCode::usage);
}

bool scans_or_sets(const ScanArguments& scan, ScanParameter parameter, std::uint64_t fixed) {
  return scan.parameter == parameter || fixed != 0;
}

// What is not scanned may be said by an option, and not by the address.
Meeting with_ring(Meeting meeting, const ScanArguments& scan) {
  if (scan.slot_bytes != 0) meeting.slot_bytes = scan.slot_bytes;
  if (scan.slots != 0) meeting.slots = scan.slots;
  return meeting;
}

// What the address has to be able to do.
void check_address(const BenchArguments& arguments, const Meeting& meeting) {
  const ScanArguments& scan = arguments.scan;
  const bool ring = scans_or_sets(scan, ScanParameter::slot_bytes, scan.slot_bytes) ||
                    scans_or_sets(scan, ScanParameter::slots, scan.slots);
  if (ring && !meeting.on_fabric()) {
    refuse_scan("slots are those of a ring on a fabric; " + meeting.scheme + " addresses have none",
                "Give a verbs:// or ofi+PROVIDER:// address.");
  }
  if (scans_or_sets(scan, ScanParameter::window, arguments.window) && !meeting.on_fabric()) {
    refuse_scan("--window is for fabrics; " + meeting.scheme + " addresses have none",
                "Give a verbs:// or ofi+PROVIDER:// address.");
  }
  const std::uint64_t streams = scan.parameter == ScanParameter::streams
                                    ? *std::max_element(scan.values.begin(), scan.values.end())
                                    : scan.streams;
  if (meeting.in_one_process() && (streams > 1 || scan.both_ways)) {
    refuse_scan("several streams and both ways are measured between processes",
                "Give shm:// in place of inproc://.");
  }
  if (streams > 1 && !meeting.in_memory() && meeting.port != 0) {
    refuse_scan("several streams cannot have one port", "Give port 0, which is any that is free.");
  }
}

// What peers cannot do is said before anything is measured.
void check_peers(const BenchArguments& arguments) {
  if (!arguments.against || arguments.against->empty()) return;
  const ParameterInfo& info = info_of(arguments.scan.parameter);
  if (!info.of_peers) {
    refuse_scan(fmt::format("{} is netio's: no peer has it", info.name),
                "Leave out --against, or scan the size, the window or the streams.");
  }
  if (arguments.scan.both_ways) {
    refuse_scan("--both-ways is measured of netio alone", "Leave out --against.");
  }
}

// Messages lie once or twice at each end: lent or copied, and received.
constexpr std::uint64_t copies_of_message = 4;
// The pools of each end: 64 MiB by default, and 24 pages if these are larger.
constexpr std::uint64_t pools_min = std::uint64_t{64} << 20U;
constexpr std::uint64_t pages_in_pools = 24;

// Why the machine cannot hold it; empty if it can.
std::string too_large(const Case& what) {
  const std::uint64_t directions = what.both_ways ? 2 : 1;
  const std::uint64_t pools = std::max(pools_min, pages_in_pools * what.page_bytes);
  const std::uint64_t bytes =
      what.streams * (directions * copies_of_message * what.message_bytes + 2 * pools);
  const std::optional<std::uint64_t> available = read_limits().memory_available_bytes;
  if (!available || bytes <= *available) return {};
  return fmt::format(
      "both ends take up to {} of memory for its messages and pools, and {} are free here",
      scaled(static_cast<double>(bytes), "B"), scaled(static_cast<double>(*available), "B"));
}

Case case_of_all(const Stage& stage, const ScanArguments& scan, const BenchArguments& arguments) {
  Case what = stage.first_case();
  what.what = scan.round_trips ? What::latency : What::throughput;
  what.mode = arguments.mode.value_or(info_of(scan.parameter).usual_mode);
  what.page_bytes = scan.page_bytes;
  what.meeting = with_ring(what.meeting, scan);
  what.fills_slots = scan.fills_slots;
  if (what.fills_slots && what.meeting.slot_bytes != 0) {
    what.message_bytes = what.meeting.slot_bytes;
  }
  what.streams = scan.streams;
  what.both_ways = scan.both_ways;
  // Of a scan of streams no value is pinned, so that they differ in nothing else.
  what.pinned = scan.streams == 1 && scan.parameter != ScanParameter::streams;
  return what;
}

// The turns of all values, round by round, and what is shown meanwhile.
class Scan {
 public:
  Scan(Stage& stage, const BenchArguments& arguments, const std::vector<const System*>& systems,
       ScanResults& results)
      : stage_(stage),
        arguments_(arguments),
        rounds_(stage, arguments, systems),
        results_(results),
        systems_(systems.size()),
        turns_((results.points().size() + 1) * arguments.rounds +
               (arguments.check ? results.points().size() : 0)),
        began_(stage.loop().now()),
        progress_(stage.loop(), "netio bench", arguments.report.quiet, [this] { return now(); }) {
    if (::isatty(STDERR_FILENO) != 1) return;  // a line for each turn is enough there
    stage_.set_progress(&progress_);
    progress_.start();
  }
  ~Scan() { stage_.set_progress(nullptr); }
  Scan(const Scan&) = delete;
  Scan& operator=(const Scan&) = delete;

  // False after Ctrl-C; the results hold the whole rounds before it.
  bool run(std::ofstream& csv) {
    try {
      if (arguments_.check) check();
      for (unsigned number = 1; number <= arguments_.rounds && anything_left(); ++number) {
        round(number);
        if (csv.is_open()) csv << results_.last_round_as_csv() << std::flush;
      }
    } catch (const Interrupted&) {
      return false;
    }
    return true;
  }

 private:
  void check() {
    for (std::size_t i = 0; i < results_.points().size(); ++i) {
      turn(i, "every byte checked");
      if (fits(i)) rounds_.check(results_.points()[i]);
    }
  }

  // Every other round goes backwards, so that what grows or shrinks with time favours no value.
  void round(unsigned number) {
    std::vector<Results>& points = results_.points();
    std::vector<Round> turns(points.size());
    std::optional<Sample> control;
    const std::string which = fmt::format("round {} of {}", number, arguments_.rounds);
    const bool backwards = number % 2 == 0;
    if (backwards) control = again(which);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const std::size_t at = backwards ? points.size() - 1 - i : i;
      turn(at, which);
      if (fits(at)) turns[at] = rounds_.one(points[at]);
    }
    if (!backwards) control = again(which);
    results_.add(std::move(turns), control);
  }

  std::optional<Sample> again(const std::string& which) {
    turn(0, which + ", as the control");
    Results& first = results_.points().front();
    if (!fits(0)) return std::nullopt;
    return rounds_.try_one(*find_system(our_name), first.what(), first);
  }

  // False if netio has failed at every value, and nobody else is measured.
  [[nodiscard]] bool anything_left() {
    const std::vector<Results>& points = results_.points();
    return systems_ > 1 || std::any_of(points.begin(), points.end(), [](const Results& point) {
             return !point.has_failed(our_name);
           });
  }

  bool fits(std::size_t point) {
    Results& results = results_.points()[point];
    if (results.has_failed(our_name)) return true;  // its peers may go on
    const std::string why = too_large(results.what());
    if (why.empty()) return true;
    results.failed(std::string(our_name), why);
    stage_.note(fmt::format("{} is left out: {}", results_.value_text(point), why));
    return false;
  }

  void turn(std::size_t point, const std::string& what) {
    shown_ = fmt::format("{} {}, {}", info_of(arguments_.scan.parameter).name,
                         results_.value_text(point), what);
    if (::isatty(STDERR_FILENO) != 1)
      stage_.note(fmt::format("{} ({} of {})", shown_, done_ + 1, turns_));
    ++done_;
    began_turn_ = stage_.loop().now();
  }
  [[nodiscard]] ProgressSample now() const {
    const std::uint64_t before = done_ == 0 ? 0 : done_ - 1;
    ProgressSample sample;
    sample.messages = before;
    sample.fraction = static_cast<double>(before) / static_cast<double>(turns_);
    sample.waits_for = shown_;
    if (before != 0) {
      const double turn_s = seconds_of(began_turn_ - began_) / static_cast<double>(before);
      const auto left = static_cast<double>(turns_ - before);
      sample.waits_for += fmt::format(", {} left", duration_text(turn_s * left));
    }
    sample.noun = "turn";
    sample.has_bytes = false;
    return sample;
  }

  Stage& stage_;
  const BenchArguments& arguments_;
  Rounds rounds_;
  ScanResults& results_;
  std::size_t systems_;
  std::uint64_t turns_;
  std::uint64_t done_ = 0;  // the one that runs included
  std::string shown_;
  std::chrono::nanoseconds began_;
  std::chrono::nanoseconds began_turn_{0};
  Progress progress_;
};

}  // namespace

ExitCode run_scan(const BenchArguments& given) {
  BenchArguments arguments = given;
  if (!arguments.against) arguments.against.emplace();  // peers only if they are asked for
  const Meeting meeting = with_ring(meeting_of(arguments.address), arguments.scan);
  check_address(arguments, meeting);
  check_peers(arguments);
  std::vector<std::string> skipped;
  if (arguments.scan.round_trips) arguments.what = What::latency;
  const std::vector<const System*> systems = systems_for(arguments, meeting, skipped);
  if (!arguments.plot.empty()) check_plot(arguments.plot);
  Report report(arguments.report, false);
  std::ofstream csv = open_csv(arguments.csv, ScanResults::csv_header());
  Stage stage(arguments);
  ScanResults results(arguments, case_of_all(stage, arguments.scan, arguments),
                      this_machine(meeting));
  const bool whole = Scan(stage, arguments, systems, results).run(csv);
  report.publish(results.to_text(), [&] { return results.to_json().dump(2) + "\n"; });
  check_csv(csv, arguments.csv);
  if (!whole) return ExitCode::interrupted;
  if (!arguments.plot.empty()) plot(arguments.plot, results.curve());
  return results.any_failed() ? ExitCode::failed : ExitCode::done;
}

}  // namespace netio::cli
