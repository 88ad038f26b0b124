#include "bench/mesh.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/all_sizes.hpp"
#include "bench/bridge_network.hpp"
#include "bench/csv.hpp"
#include "bench/gnuplot.hpp"
#include "bench/mesh_limits.hpp"
#include "bench/mesh_plot.hpp"
#include "bench/mesh_results.hpp"
#include "bench/stage.hpp"
#include "report.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

// Shorter ones say when the command was given a core, not how steady a rate is.
constexpr std::chrono::milliseconds interval_min{5};

[[noreturn]] void refuse_mesh(const std::string& what, const std::string& advice) {
  throw Failure(what, advice, ExitCode::usage);
}

void check_nodes(const MeshArguments& mesh) {
  if (mesh.nodes < mesh_nodes_min) {
    refuse_mesh(fmt::format("a mesh of {} has no pair that sends", counted(mesh.nodes, "node")),
                fmt::format("Give --nodes {} to {}.", mesh_nodes_min, mesh_nodes_max));
  }
  if (mesh.nodes > mesh_nodes_max) {
    refuse_mesh(
        fmt::format("a mesh has {} nodes at most, not {}: each is a process, with {} connections "
                    "both ways then",
                    mesh_nodes_max, grouped(mesh.nodes), grouped(2 * (mesh.nodes - 1))),
        fmt::format("Give --nodes {} to {}.", mesh_nodes_min, mesh_nodes_max));
  }
}

void check_mesh(const BenchArguments& arguments, const Meeting& meeting) {
  const MeshArguments& mesh = arguments.mesh;
  check_nodes(mesh);
  if (meeting.in_one_process()) {
    refuse_mesh("the nodes of a mesh are processes", "Give a shm, a tcp or a fabric's address.");
  }
  if (meeting.name.starts_with('/')) {
    refuse_mesh("a node that is killed would leave its path behind", "Give shm://NAME or shm://*.");
  }
  if (!meeting.in_memory() && meeting.port != 0 && !mesh.namespaces) {
    refuse_mesh("several nodes cannot have one port", "Give port 0, which is any that is free.");
  }
  if (mesh.namespaces && meeting.scheme != "tcp" && meeting.scheme != "ofi+tcp") {
    refuse_mesh(fmt::format("a node in a network namespace is not reached over {}", meeting.scheme),
                "Leave out --namespaces, or give a tcp or an ofi+tcp address.");
  }
  if (arguments.seconds / static_cast<std::int64_t>(mesh.intervals) < interval_min) {
    refuse_mesh(fmt::format("an interval is {} ms at least", interval_min.count()),
                "Give fewer --intervals, or more --seconds.");
  }
  if (!arguments.plot.empty() && arguments.message_bytes.size() > 1) {
    refuse_mesh("--plot of a mesh takes one --size", "Draw each size by a command of its own.");
  }
  const auto& sizes = arguments.message_bytes;
  refuse_too_large(mesh, meeting, *std::max_element(sizes.begin(), sizes.end()), read_limits());
}

// False after Ctrl-C; the results hold the whole rounds before it.
bool run_mesh_rounds(Stage& stage, const BenchArguments& arguments,
                     const std::vector<const System*>& systems, MeshResults& results) {
  const Case what = results.what();
  const System& ours = *systems.front();
  const System* const other = systems.size() > 1 ? systems[1] : nullptr;
  std::string_view current;
  const auto turn = [&](const System& system) {
    current = system.name;
    return measure_mesh(stage, arguments.mesh, what, system);
  };
  try {
    if (arguments.check) {
      stage.note(fmt::format("{}, every byte checked", binary_bytes(what.message_bytes)));
      Case checking = what;
      checking.verify = true;
      checking.seconds = std::min(checking.seconds, 0.3);
      MeshArguments once = arguments.mesh;
      once.intervals = 1;
      for (const System* const system : systems) {
        current = system->name;
        (void)measure_mesh(stage, once, checking, *system);
      }
    }
    for (unsigned number = 1; number <= arguments.rounds; ++number) {
      stage.note(fmt::format("{}, round {} of {}", binary_bytes(what.message_bytes), number,
                             arguments.rounds));
      MeshRound round;
      if (other != nullptr) round.other = turn(*other);
      round.ours = turn(ours);
      if (other != nullptr) round.control = turn(*other);
      results.add(std::move(round));
    }
  } catch (const EndFailure& failure) {
    results.failed(current, failure.what());
  } catch (const Interrupted&) {
    return false;
  }
  return true;
}

}  // namespace

ExitCode run_mesh(const BenchArguments& arguments) {
  const Meeting meeting = meeting_of(arguments.address);
  check_mesh(arguments, meeting);
  std::vector<std::string> skipped;
  const std::vector<const System*> systems = systems_for(arguments, meeting, skipped);
  if (!arguments.plot.empty()) check_plot(arguments.plot);
  Report report(arguments.report, false);
  if (arguments.mesh.namespaces) {
    if (const std::string why = enter_network_of_bridge(); !why.empty()) {
      return skip_without_namespaces(report, why);
    }
  }
  std::ofstream csv = open_csv(arguments.csv, MeshResults::csv_header(arguments.mesh.intervals));
  Stage stage(arguments);
  std::vector<MeshResults> all;
  bool whole = true;
  for (const std::size_t bytes : arguments.message_bytes) {
    Case what = stage.first_case();
    what.message_bytes = bytes;
    all.emplace_back(what, arguments.mesh, systems.size() > 1 ? systems[1]->name : "",
                     arguments.rounds);
    whole = run_mesh_rounds(stage, arguments, systems, all.back());
    if (csv.is_open()) csv << all.back().to_csv() << std::flush;
    if (!whole) break;
  }
  publish(report, all);
  check_csv(csv, arguments.csv);
  const ExitCode code = outcome(all, whole);
  if (code == ExitCode::done && !arguments.plot.empty()) plot_mesh(arguments.plot, all.back());
  return code;
}

}  // namespace netio::cli
