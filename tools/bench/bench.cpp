#include "bench/bench.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/breakdown.hpp"
#include "bench/build.hpp"
#include "bench/connections.hpp"
#include "bench/copies.hpp"
#include "bench/fanout.hpp"
#include "bench/gnuplot.hpp"
#include "bench/idle.hpp"
#include "bench/loan.hpp"
#include "bench/machine.hpp"
#include "bench/mesh.hpp"
#include "bench/plot.hpp"
#include "bench/relay.hpp"
#include "bench/results.hpp"
#include "bench/rounds.hpp"
#include "bench/scan.hpp"
#include "bench/serve.hpp"
#include "bench/stage.hpp"
#include "bench/surface.hpp"
#include "report.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

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

  const Machine machine = this_machine(meeting);
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
        return machine.speed_means_nothing() ? text + machine.sentence() + "\n" : text;
      }(),
      [&] {
        nlohmann::ordered_json json = nlohmann::ordered_json::array();
        for (const Results& results : all) {
          json.push_back(results.to_json());
          json.back()["machine"] = machine.to_json();
        }
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
    case What::mesh:
      return run_mesh(arguments);
    case What::scan:
      return run_scan(arguments);
    case What::idle:
      return run_idle(arguments);
    case What::breakdown:
      return run_breakdown(arguments);
    case What::serve:
      return run_serve(arguments);
  }
  return ExitCode::usage;
}

}  // namespace netio::cli
