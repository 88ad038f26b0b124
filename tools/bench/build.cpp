#include "bench/build.hpp"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/build_results.hpp"
#include "bench/build_stage.hpp"
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
  const Meeting meeting = meeting_of(arguments.address);
  if (meeting.in_one_process()) {
    refuse_build("event building is measured between processes", "Give a shm or a tcp address.");
  }
  if (!meeting.in_memory() && meeting.port != 0 && arguments.build.builders > 1) {
    refuse_build("several builders cannot have one port",
                 "Give port 0, which is any that is free.");
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
  const auto turn = [&](const Case& of, bool plain) {
    return BuildEnds(stage, arguments.build, of, plain).measure();
  };
  try {
    if (arguments.check) {
      stage.note(fmt::format("{}, every byte checked", binary_bytes(what.message_bytes)));
      Case checking = what;
      checking.verify = true;
      checking.seconds = std::min(checking.seconds, 0.3);
      (void)turn(checking, true);
      (void)turn(checking, false);
    }
    for (unsigned number = 1; number <= arguments.rounds; ++number) {
      stage.note(fmt::format("{}, round {} of {}", binary_bytes(what.message_bytes), number,
                             arguments.rounds));
      BuildRound round;
      round.plain = turn(what, true);
      round.building = turn(what, false);
      round.control = turn(what, true);
      results.add(round);
    }
  } catch (const EndFailure& failure) {
    results.failed(failure.what());
  } catch (const Interrupted&) {
    return false;
  }
  return true;
}

std::ofstream open_csv(const std::string& path) {
  std::ofstream file;
  if (path.empty()) return file;
  file.open(path);
  file << BuildResults::csv_header() << std::flush;
  if (!file) throw Failure(fmt::format("cannot write {}", path));
  return file;
}

}  // namespace

ExitCode run_build(const BenchArguments& arguments) {
  check_build(arguments);
  Report report(arguments.report, false);
  std::ofstream csv = open_csv(arguments.csv);
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
  std::string text;
  for (const BuildResults& results : all) text += results.to_text() + "\n";
  report.publish(text, [&all] {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const BuildResults& results : all) json.push_back(results.to_json());
    return (json.size() == 1 ? json.front() : json).dump(2) + "\n";
  });
  if (csv.is_open() && !csv) throw Failure(fmt::format("cannot write {}", arguments.csv));
  if (!whole) return ExitCode::interrupted;
  const bool failed =
      std::any_of(all.begin(), all.end(), [](const auto& results) { return results.any_failed(); });
  return failed ? ExitCode::failed : ExitCode::done;
}

}  // namespace netio::cli
