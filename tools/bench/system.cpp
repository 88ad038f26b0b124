#include "bench/system.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "exit_code.hpp"

namespace netio::cli {

namespace {

namespace fs = std::filesystem;

// A stream cut into writes of any size says nothing about messages smaller than this.
constexpr std::size_t stream_bytes_min = 4096;

constexpr std::string_view peers_command = "script/bench --peers";

constexpr System our_own = {.name = our_name,
                            .one_thread = true,
                            .adapts = true,
                            .asks = true,
                            .many_connections = true,
                            .many_connections_on_shm = true,
                            .rings = true,
                            .meshes = true,
                            .on_sockets = true,
                            .on_fabrics = true,
                            .on_shm = true,
                            .on_inproc = true,
                            .policies = "block, drop_new, drop_old, sample, disconnect"};
constexpr System pair = {.name = pair_name,
                         .program = our_name,
                         .one_thread = true,
                         .adapts = true,
                         .asks = true,
                         .only_of_requests = true,
                         .on_sockets = true,
                         .on_fabrics = true,
                         .on_shm = true,
                         .on_inproc = true};
constexpr System messages = {.name = messages_name,
                             .program = our_name,
                             .one_thread = true,
                             .adapts = true,
                             .only_of_rings = true,
                             .on_fabrics = true};
constexpr System points = {.name = points_name, .one_thread = true, .only_of_breakdown = true};
constexpr System python = {.name = python_name,
                           .one_thread = true,
                           .on_sockets = true,
                           .on_fabrics = true,
                           .on_shm = true,
                           .only_of_surface = true,
                           .sender = our_name};
constexpr System pyzmq = {.name = pyzmq_name,
                          .program = python_name,
                          .on_sockets = true,
                          .only_of_surface = true,
                          .sender = "zmq"};
constexpr System raw = {.name = "raw",
                        .one_thread = true,
                        .many_connections = true,
                        .many_connections_on_shm = true,
                        .meshes = true,
                        .on_sockets = true,
                        .on_shm = true,
                        .on_inproc = true};
constexpr System fabric = {.name = "fabric",
                           .package = "libfabric-dev",
                           .one_thread = true,
                           .adapts = true,
                           .many_connections = true,
                           .rings = true,
                           .on_fabrics = true,
                           .on_shm = true,
                           .no_sleep_on_shm = "its provider there has no object to wait on"};
constexpr System zmq = {.name = "zmq",
                        .package = "libzmq3-dev",
                        .asks = true,
                        .on_sockets = true,
                        .on_shm = true,
                        .on_inproc = true,
                        .policies = "block, drop_new"};
constexpr System nng = {.name = "nng",
                        .package = "libnng-dev",
                        .asks = true,
                        .on_sockets = true,
                        .on_shm = true,
                        .on_inproc = true,
                        .policies = "drop_new"};
constexpr System ucx = {
    .name = "ucx", .package = "libucx-dev", .one_thread = true, .on_shm = true, .on_inproc = true};
constexpr System iperf3 = {.name = "iperf3",
                           .package = "iperf3",
                           .message_bytes_min = stream_bytes_min,
                           .round_trips = false,
                           .on_sockets = true};
constexpr System iceoryx2 = {
    .name = "iceoryx2", .built_by = peers_command, .one_thread = true, .on_shm = true};
constexpr System aeron = {.name = "aeron",
                          .built_by = peers_command,
                          .on_shm = true,
                          .no_sleep_on_shm = "its idle strategies back off, nothing wakes them"};

constexpr std::array systems = {our_own, pair, messages, points, python, pyzmq,    raw,
                                fabric,  zmq,  nng,      ucx,    iperf3, iceoryx2, aeron};

std::string in_path(std::string_view name) {
  const char* const path = std::getenv("PATH");
  std::string_view left = path == nullptr ? "" : path;
  while (!left.empty()) {
    const std::size_t end = left.find(':');
    const fs::path candidate = fs::path(left.substr(0, end)) / name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate.string();
    left = end == std::string_view::npos ? "" : left.substr(end + 1);
  }
  return {};
}

bool runs_on(const System& system, const Meeting& meeting) {
  if (meeting.in_one_process()) return system.on_inproc;
  if (meeting.in_memory()) return system.on_shm;
  return meeting.on_fabric() ? system.on_fabrics : system.on_sockets;
}

std::string places_of(const System& system) {
  std::vector<std::string_view> places;
  if (system.on_sockets) places.emplace_back("tcp");
  if (system.on_fabrics) places.emplace_back("fabrics");
  if (system.on_shm) places.emplace_back("shm");
  if (system.on_inproc) places.emplace_back("inproc");
  return fmt::format("{}", fmt::join(places, ", "));
}

std::string unfit_publisher(const System& system, const std::string& policy) {
  if (system.policies.empty()) return "is not measured as a publisher";
  if (system.policies.find(policy) != std::string_view::npos) return {};
  return fmt::format("cannot do what --policy {} asks for, only {}", policy, system.policies);
}

// A message of the bare program fills one slot, and fits into it.
std::string unfit_for_ring(const System& system, const BenchArguments& arguments,
                           const Meeting& meeting) {
  if (!meeting.has_ring()) {
    return system.only_of_rings ? "is compared over ADDRESS?engine=ring" : "";
  }
  if (!system.rings && !system.only_of_rings) return "has no ring";
  const auto largest =
      *std::max_element(arguments.message_bytes.begin(), arguments.message_bytes.end());
  if (system.name != our_name && system.rings && meeting.slot_bytes != 0 &&
      largest > meeting.slot_bytes) {
    return "writes no message that is larger than a slot: give slot_bytes";
  }
  return {};
}

// Why it cannot do what is asked; empty if it can.
std::string unfit(const System& system, const BenchArguments& arguments, const Meeting& meeting) {
  if (!runs_on(system, meeting)) {
    return fmt::format("does not run on {} addresses, only on {}", meeting.scheme,
                       places_of(system));
  }
  if (meeting.in_memory() && arguments.wait == IdlePolicy::sleep &&
      !system.no_sleep_on_shm.empty()) {
    return fmt::format("cannot sleep ({}): compared with --wait spin", system.no_sleep_on_shm);
  }
  if (arguments.wait == IdlePolicy::adaptive && !system.adapts) {
    return "does not know --wait adaptive: compared with sleep or spin";
  }
  if (system.only_of_requests && !arguments.requests) return "is compared with --pattern request";
  if (std::string why = unfit_for_ring(system, arguments, meeting); !why.empty()) return why;
  if (arguments.requests && arguments.what == What::throughput && !system.asks) {
    return "has no requests of which many are under way";
  }
  if (arguments.what == What::latency && !system.round_trips) return "has no round trips";
  if (arguments.what == What::fanout) return unfit_publisher(system, arguments.fanout.policy);
  const bool many = meeting.in_memory() ? system.many_connections_on_shm : system.many_connections;
  if (arguments.what == What::connections && !many) {
    return "is not measured with many connections";
  }
  if (arguments.what == What::mesh && (!system.meshes || meeting.scheme != "tcp")) {
    return fmt::format("is not measured in a mesh over {}; on tcp raw is", meeting.scheme);
  }
  const auto smallest =
      *std::min_element(arguments.message_bytes.begin(), arguments.message_bytes.end());
  if (smallest < system.message_bytes_min) {
    return fmt::format("knows no messages; compared from {} bytes on", system.message_bytes_min);
  }
  return {};
}

}  // namespace

const System* find_system(std::string_view name) {
  const auto* const found = std::find_if(systems.begin(), systems.end(),
                                         [name](const System& s) { return s.name == name; });
  return found == systems.end() ? nullptr : found;
}

std::string system_names() {
  std::vector<std::string_view> names;
  for (const System& system : systems) {
    if (system.name != our_name && system.is_peer()) names.push_back(system.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string program_of(const System& system) {
  if (system.name == "iperf3") return in_path(system.name);
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  const std::string name =
      fmt::format("bench-{}{}", system.program.empty() ? system.name : system.program,
                  system.only_of_surface ? ".py" : "");
  const int needed = system.only_of_surface ? R_OK : X_OK;
  for (const fs::path& folder : {here / "bench", here / "../libexec/netio"}) {
    if (access((folder / name).c_str(), needed) == 0) return (folder / name).string();
  }
  return {};
}

Invocation command_for(const System& system, const std::vector<std::string>& arguments) {
  const std::string program = program_of(system);
  if (!system.only_of_surface || program.empty()) return {program, arguments};
  Invocation command{in_path("python3"), arguments};
  command.arguments.insert(command.arguments.begin(), program);
  return command;
}

void refuse_absent(const System& system) {
  throw Failure(fmt::format("{} cannot be measured: its program is not there", system.name),
                !system.built_by.empty()
                    ? fmt::format("Build it with this command: {}", system.built_by)
                : system.package.empty()
                    ? "Install netio-bench; or, in the folder of netio: cmake --preset release && "
                      "cmake --build --preset release (in another build: -DNETIO_BENCH=ON)"
                    : fmt::format("Install {} and build again; script/bootstrap does the former.",
                                  system.package));
}

std::vector<const System*> systems_for(const BenchArguments& arguments, const Meeting& meeting,
                                       std::vector<std::string>& skipped) {
  std::vector<const System*> chosen = {find_system(our_name)};
  if (program_of(*chosen.front()).empty()) refuse_absent(*chosen.front());
  if (arguments.against) {
    for (const std::string& name : *arguments.against) {
      const System* const system = find_system(name);
      if (system == nullptr || !system->is_peer()) {
        throw Failure(fmt::format("{} is not a system that can be measured", name),
                      "Known are: " + system_names(), ExitCode::usage);
      }
      if (const std::string why = unfit(*system, arguments, meeting); !why.empty()) {
        throw Failure(fmt::format("{} {}", name, why), "Leave it out of --against.",
                      ExitCode::usage);
      }
      if (program_of(*system).empty()) refuse_absent(*system);
      if (std::find(chosen.begin(), chosen.end(), system) == chosen.end()) {
        chosen.push_back(system);
      }
    }
    return chosen;
  }
  for (const System& system : systems) {
    if (system.name == our_name || !system.is_peer() || !system.built_by.empty()) continue;
    if (!unfit(system, arguments, meeting).empty()) continue;
    if (program_of(system).empty()) {
      skipped.push_back(fmt::format("{} is not there (package {})", system.name, system.package));
    } else {
      chosen.push_back(&system);
    }
  }
  return chosen;
}

}  // namespace netio::cli
