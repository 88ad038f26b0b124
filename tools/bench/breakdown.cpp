#include "bench/breakdown.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/all_sizes.hpp"
#include "bench/breakdown_results.hpp"
#include "bench/csv.hpp"
#include "bench/gnuplot.hpp"
#include "bench/plot.hpp"
#include "bench/stage.hpp"
#include "report.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

using nlohmann::json;

// The last words of both ends; in one process they are the same.
struct LastWords {
  json dialer;
  json binder;
};

// Of fewer messages the times of their parts say nothing.
constexpr double messages_min = 20;

LastWords run_ends(Stage& stage, const System& system, const Case& what,
                   const std::vector<std::string>& more) {
  std::uint16_t port = what.meeting.port;
  const bool alone = what.meeting.in_one_process();
  const bool asks = what.asks();
  std::unique_ptr<End> binder;
  if (!alone) {
    binder = start_worker(system, asks ? "reply" : "receive", what, stage.places(), port, more);
  }
  const std::unique_ptr<End> dialer =
      start_worker(system, asks ? "request" : "send", what, stage.places(), port, more);
  let_pass(stage.loop(), warm_up(what));
  if (binder) (void)binder->ask("record");
  (void)dialer->ask("record");
  End& counting = binder && !asks ? *binder : *dialer;
  let_messages_pass(stage.loop(), what, counting, counting.ask("snap"), messages_min);
  LastWords last;
  last.dialer = stop_worker(*dialer);
  check_faults(*dialer, last.dialer);
  last.binder = binder ? stop_worker(*binder) : last.dialer;
  if (binder) check_faults(*binder, last.binder);
  return last;
}

// The points of one end: of its last messages, the first of which has the number `first`.
struct Track {
  std::uint64_t first = 0;
  std::int64_t stamp_ns = 0;
  std::vector<bench::PointTimes> messages;

  Track(const json& last_words, bool dials) {
    for (const json& said : last_words.at("points")) {
      if (said.at("dials").get<bool>() != dials) continue;
      first = said.at("first").get<std::uint64_t>();
      stamp_ns = said.at("stamp_ns").get<std::int64_t>();
      messages = said.at("messages").get<std::vector<bench::PointTimes>>();
    }
  }
  [[nodiscard]] std::uint64_t end() const noexcept { return first + messages.size(); }
};

bench::Histogram times_of(const json& last_words) {
  bench::Histogram times;
  if (!last_words.contains("round_trips")) return times;
  for (const json& step : last_words.at("round_trips")) {
    times.add(step.at(0).get<std::uint64_t>(), step.at(1).get<std::uint64_t>());
  }
  return times;
}

const json& who_times(const LastWords& last, bool answered) {
  return answered ? last.dialer : last.binder;
}

// Both ends number their messages alike.
BreakdownSample sample_of(const LastWords& last, bool answered) {
  const Track dialer(last.dialer, true);
  const Track binder(last.binder, false);
  BreakdownSample sample;
  sample.stamp_ns = std::max(dialer.stamp_ns, binder.stamp_ns);
  sample.outside = times_of(who_times(last, answered));
  const std::uint64_t end = std::min(dialer.end(), binder.end());
  for (std::uint64_t number = std::max(dialer.first, binder.first); number < end; ++number) {
    const bench::PointTimes& ours = dialer.messages[number - dialer.first];
    const bench::PointTimes& theirs = binder.messages[number - binder.first];
    const auto trip = answered ? bench::round_trip(ours, theirs, sample.stamp_ns)
                               : bench::one_way(ours, theirs, sample.stamp_ns);
    if (trip) {
      sample.trips.push_back(*trip);
    } else {
      ++sample.incomplete;
    }
  }
  return sample;
}

class Breakdown {
 public:
  Breakdown(Stage& stage, const BenchArguments& arguments) : stage_(stage), arguments_(arguments) {}

  // False after Ctrl-C.
  bool run(const Case& what, BreakdownResults& results) {
    const bool answered = arguments_.answered;
    std::vector<std::string> more;
    if (!arguments_.delay.empty()) more = {"--delay", arguments_.delay};
    const std::string size = binary_bytes(what.message_bytes);
    try {
      stage_.note(fmt::format("{}, with points", size));
      BreakdownSample sample =
          sample_of(run_ends(stage_, *find_system(points_name), what, more), answered);
      stage_.note(fmt::format("{}, without points", size));
      sample.without =
          times_of(who_times(run_ends(stage_, *find_system(our_name), what, {}), answered));
      if (sample.trips.empty()) {
        throw EndFailure(
            sample.incomplete == 0
                ? fmt::format("no message came in {}: give a lower --rate, or wait until the "
                              "machine is less busy",
                              duration_text(what.seconds))
                : fmt::format("of {} messages none passed all points", sample.incomplete));
      }
      results.set(std::move(sample));
    } catch (const EndFailure& failure) {
      results.failed(failure.what());
    } catch (const Interrupted&) {
      return false;
    }
    return true;
  }

 private:
  Stage& stage_;
  const BenchArguments& arguments_;
};

Case case_of(const Stage& stage, const BenchArguments& arguments, std::size_t bytes) {
  Case what = stage.first_case();
  what.what = arguments.answered ? What::latency : What::throughput;
  what.mode = arguments.mode.value_or(Mode::unbuffered);
  what.message_bytes = bytes;
  return what;
}

void draw(const BenchArguments& arguments, const std::vector<BreakdownResults>& all) {
  BarPlot plot;
  plot.title = fmt::format("Where the time of a {} goes, over {}",
                           arguments.answered ? "round trip" : "message one way",
                           meeting_of(arguments.address).scheme);
  plot.y_label = "share of the time, %";
  for (const BreakdownResults& results : all) {
    if (!results.any_failed()) results.add_to(plot);
  }
  if (!plot.columns.empty()) plot_bars(arguments.plot, plot);
}

}  // namespace

ExitCode run_breakdown(const BenchArguments& arguments) {
  for (const std::string_view name : {points_name, our_name}) {
    if (program_of(*find_system(name)).empty()) refuse_absent(*find_system(name));
  }
  if (!arguments.plot.empty()) check_plot(arguments.plot);
  Report report(arguments.report, false);
  std::ofstream csv = open_csv(arguments.csv, BreakdownResults::csv_header());
  Stage stage(arguments);
  std::vector<BreakdownResults> all;
  bool whole = true;
  for (const std::size_t bytes : arguments.message_bytes) {
    const Case what = case_of(stage, arguments, bytes);
    BreakdownResults results(what, arguments.answered, arguments.delay);
    whole = Breakdown(stage, arguments).run(what, results);
    if (csv.is_open()) csv << results.to_csv() << std::flush;
    all.push_back(std::move(results));
    if (!whole) break;
  }
  std::string remark;
  if (!whole) {
    remark =
        fmt::format("INCOMPLETE: {} of {} sizes\n", all.size() - 1, arguments.message_bytes.size());
  }
  publish(report, all, remark);
  check_csv(csv, arguments.csv);
  if (whole && !arguments.plot.empty()) draw(arguments, all);
  return outcome(all, whole);
}

}  // namespace netio::cli
