#include "bench/build.hpp"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/all_sizes.hpp"
#include "bench/bridge_network.hpp"
#include "bench/build_results.hpp"
#include "bench/build_stage.hpp"
#include "bench/csv.hpp"
#include "bench/stage.hpp"
#include "report.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

// A number and a time.
constexpr std::size_t fragment_bytes_min = 16;

[[noreturn]] void refuse_build(const std::string& what, const std::string& advice) {
  throw Failure(what, advice, ExitCode::usage);
}

void check_build(const BenchArguments& arguments) {
  const Meeting meeting = meeting_without_ring(arguments.address, "event building");
  if (meeting.in_one_process()) {
    refuse_build("event building is measured between processes", "Give a shm or a tcp address.");
  }
  if (!meeting.in_memory() && meeting.port != 0 && arguments.build.builders > 1) {
    refuse_build("several builders cannot have one port",
                 "Give port 0, which is any that is free.");
  }
  if (arguments.build.namespaces && meeting.scheme != "tcp") {
    refuse_build("network namespaces are for tcp", "Leave out --namespaces or the address.");
  }
  const auto& sizes = arguments.message_bytes;
  if (*std::min_element(sizes.begin(), sizes.end()) < fragment_bytes_min) {
    refuse_build(
        fmt::format("a fragment that is measured has {} bytes at least", fragment_bytes_min),
        "Give a larger --size.");
  }
  if (program_of(*find_system(our_name)).empty()) refuse_absent(*find_system(our_name));
}

// False after Ctrl-C; the results hold the whole rounds before it.
bool run_build_rounds(Stage& stage, const BenchArguments& arguments, BuildResults& results) {
  const Case what = results.what();
  const bool managed = arguments.build.managed;
  const auto turn = [&](const Case& of, BuildSystem system) {
    return BuildEnds(stage, arguments.build, of, system).measure();
  };
  try {
    if (arguments.check) {
      stage.note(fmt::format("{}, every byte checked", binary_bytes(what.message_bytes)));
      Case checking = what;
      checking.verify = true;
      checking.seconds = std::min(checking.seconds, 0.3);
      (void)turn(checking, BuildSystem::plain);
      (void)turn(checking, BuildSystem::building);
      if (managed) (void)turn(checking, BuildSystem::managed);
    }
    for (unsigned number = 1; number <= arguments.rounds; ++number) {
      stage.note(fmt::format("{}, round {} of {}", binary_bytes(what.message_bytes), number,
                             arguments.rounds));
      BuildRound round;
      round.plain = turn(what, BuildSystem::plain);
      // In every other round the manager's turn is first.
      const bool first = number % 2 == 0;
      if (managed && first) round.managed = turn(what, BuildSystem::managed);
      round.building = turn(what, BuildSystem::building);
      if (managed && !first) round.managed = turn(what, BuildSystem::managed);
      round.control = turn(what, BuildSystem::plain);
      results.add(round);
    }
  } catch (const EndFailure& failure) {
    results.failed(failure.what());
  } catch (const Interrupted&) {
    return false;
  }
  return true;
}

}  // namespace

ExitCode run_build(const BenchArguments& arguments) {
  check_build(arguments);
  Report report(arguments.report, false);
  if (arguments.build.namespaces) {
    if (const std::string why = enter_network_of_bridge(); !why.empty()) {
      return skip_without_namespaces(report, why);
    }
  }
  std::ofstream csv = open_csv(arguments.csv, BuildResults::csv_header());
  Stage stage(arguments);
  std::vector<BuildResults> all;
  bool whole = true;
  for (const std::size_t bytes : arguments.message_bytes) {
    Case what = stage.first_case();
    what.message_bytes = bytes;
    all.emplace_back(what, arguments.build, arguments.rounds);
    whole = run_build_rounds(stage, arguments, all.back());
    if (csv.is_open()) csv << all.back().to_csv() << std::flush;
    if (!whole) break;
  }
  publish(report, all);
  check_csv(csv, arguments.csv);
  return outcome(all, whole);
}

}  // namespace netio::cli
