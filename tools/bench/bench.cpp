#include "bench/bench.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/build.hpp"
#include "bench/connections.hpp"
#include "bench/copies.hpp"
#include "bench/fanout.hpp"
#include "bench/idle.hpp"
#include "bench/loan.hpp"
#include "bench/plot.hpp"
#include "bench/relay.hpp"
#include "bench/results.hpp"
#include "bench/serve.hpp"
#include "bench/stage.hpp"
#include "bench/surface.hpp"
#include "report.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

// Runs the rounds of one case. A system that fails is left out of the rounds that follow.
class Rounds {
 public:
  Rounds(Stage& stage, const BenchArguments& arguments, std::vector<const System*> systems)
      : stage_(stage),
        arguments_(arguments),
        systems_(std::move(systems)),
        floor_(floor_name(stage.first_case().meeting, stage.first_case().concurrent != 0)) {
    // The floor first, so that its second run ends the round.
    std::stable_partition(systems_.begin(), systems_.end(),
                          [&](const System* system) { return system->name == floor_; });
  }

  // False after Ctrl-C; the results hold the whole rounds before it.
  bool run(Results& results) {
    results.set_rounds_wanted(arguments_.rounds);
    try {
      if (arguments_.check) check(results);
      for (unsigned number = 1; number <= arguments_.rounds; ++number) {
        stage_.note(fmt::format("{}, round {} of {}", binary_bytes(results.what().message_bytes),
                                number, arguments_.rounds));
        results.add(one(results));
      }
    } catch (const Interrupted&) {
      return false;
    }
    return true;
  }

 private:
  Round one(Results& results) {
    Round round;
    for (const System* const system : systems_) {
      if (auto sample = try_one(*system, results.what(), results)) {
        round.samples.emplace(system->name, std::move(*sample));
      }
    }
    if (!systems_.empty() && systems_.front()->name == floor_) {
      round.control = try_one(*systems_.front(), results.what(), results);
    }
    return round;
  }

  // Untimed: every byte of every message is filled and checked.
  void check(Results& results) {
    stage_.note(fmt::format("{}, every byte checked", binary_bytes(results.what().message_bytes)));
    Case what = results.what();
    what.verify = true;
    what.seconds = std::min(what.seconds, 0.3);
    for (const System* const system : systems_) {
      if (system->name != "iperf3") (void)try_one(*system, what, results);
    }
  }

  std::optional<Sample> try_one(const System& system, const Case& what, Results& results) {
    if (failed_.count(&system) != 0) return std::nullopt;
    try {
      return measure(system, what, stage_.places());
    } catch (const EndFailure& failure) {
      failed_.insert(&system);
      results.failed(std::string(system.name), failure.what());
      stage_.note(fmt::format("{} is left out: {}", system.name, failure.what()));
      return std::nullopt;
    }
  }

  Stage& stage_;
  const BenchArguments& arguments_;
  std::vector<const System*> systems_;
  std::string_view floor_;
  std::set<const System*> failed_;
};

// Before it is measured what goes in there.
void make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Failure(fmt::format("cannot make the folder {}: {}", folder, error.message()));
}

void write_percentiles(const std::string& folder, const Results& results) {
  for (const std::string& name : results.systems()) {
    const std::filesystem::path path = std::filesystem::path(folder) / (name + ".hgrm");
    std::ofstream file(path);
    file << results.round_trips(name).percentile_text();
    file.flush();
    if (!file) throw Failure(fmt::format("cannot write {}", path.string()));
  }
}

ExitCode compare(const BenchArguments& arguments) {
  std::vector<std::string> skipped;
  const Meeting meeting = meeting_of(arguments.address);
  if (arguments.window != 0 && !meeting.on_fabric()) {
    throw Failure("--window is for fabrics; other addresses have none", {}, ExitCode::usage);
  }
  if (arguments.concurrent && !arguments.requests) {
    throw Failure("--concurrent is of --pattern request", {}, ExitCode::usage);
  }
  std::vector<const System*> systems = systems_for(arguments, meeting, skipped);
  if (!arguments.plot.empty()) check_plot(arguments.plot);
  const bool pictures_of_one = arguments.what == What::latency &&
                               (!arguments.plot.empty() || !arguments.percentiles.empty());
  if (pictures_of_one && arguments.message_bytes.size() > 1) {
    throw Failure("--plot and --percentiles of round trips take one --size", {}, ExitCode::usage);
  }
  if (!arguments.percentiles.empty()) make_folder(arguments.percentiles);
  Report report(arguments.report, false);
  Stage stage(arguments);
  for (const std::string& line : skipped) stage.note(line);

  std::vector<Results> all;
  bool whole = true;
  for (const std::size_t bytes : arguments.message_bytes) {
    Case what = stage.first_case();
    what.message_bytes = bytes;
    all.emplace_back(what);
    whole = Rounds(stage, arguments, systems).run(all.back());
    if (!whole) break;
  }
  report.publish(
      [&] {
        std::string text;
        for (const Results& results : all) text += results.to_text() + "\n";
        return text;
      }(),
      [&] {
        nlohmann::ordered_json json = nlohmann::ordered_json::array();
        for (const Results& results : all) json.push_back(results.to_json());
        const bool one = arguments.message_bytes.size() == 1;
        return (one ? json.front() : json).dump(2) + "\n";
      });
  if (!arguments.percentiles.empty()) write_percentiles(arguments.percentiles, all.back());
  if (!arguments.plot.empty() && whole) plot(arguments.plot, all);
  if (!whole) return ExitCode::interrupted;
  const bool failed =
      std::any_of(all.begin(), all.end(), [](const Results& r) { return r.any_failed(); });
  return failed ? ExitCode::failed : ExitCode::done;
}

}  // namespace

ExitCode run_bench(const BenchArguments& arguments) {
  switch (arguments.what) {
    case What::throughput:
    case What::latency:
      return compare(arguments);
    case What::loan:
      return arguments.touched ? compare(arguments) : run_untouched_loans(arguments);
    case What::connections:
      return run_connections(arguments);
    case What::fanout:
      return run_fanout(arguments);
    case What::surface:
      return run_surface(arguments);
    case What::copies:
      return run_copies(arguments);
    case What::relay:
      return run_bench_relay(arguments);
    case What::build:
      return run_build(arguments);
    case What::idle:
      return run_idle(arguments);
    case What::serve:
      return run_serve(arguments);
  }
  return ExitCode::usage;
}

}  // namespace netio::cli
