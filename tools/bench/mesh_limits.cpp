#include "bench/mesh_limits.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <netio/context.hpp>

#include "exit_code.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

[[noreturn]] void refuse_need(const MeshArguments& mesh, const std::string& need,
                              const std::string& advice) {
  throw Failure(fmt::format("a mesh of {} takes {}", counted(mesh.nodes, "node"), need), advice,
                ExitCode::usage);
}

}  // namespace

MeshNeed need_of_mesh(const MeshArguments& mesh, const Meeting& meeting,
                      std::size_t message_bytes) {
  constexpr std::uint64_t files_besides = 64;
  constexpr std::uint64_t files_in_memory = 8;  // 5, and 3 more while it greets (docs/guide.md)
  constexpr std::uint64_t files_on_fabric = 8;  // endpoint, queues, and what they wait on
  constexpr std::uint64_t files_of_process = 2;
  constexpr std::uint64_t threads_of_node = 3;  // one of them is the fabric's
  // A page in the hands of the wire at each end, and the socket's buffers, or the boards.
  constexpr std::uint64_t bytes_of_connection = std::uint64_t{512} << 10U;
  constexpr std::uint64_t fabric_window = 8;
  const ContextOptions context;
  const std::uint64_t messages = meeting.on_fabric() ? fabric_window : 1;
  const std::uint64_t page_bytes = meeting.has_ring()    ? meeting.slots * meeting.slot_bytes
                                   : meeting.on_fabric() ? context.page_bytes * fabric_window
                                                         : 0;
  MeshNeed need;
  need.connections = (mesh.nodes - 1) * mesh.streams * (mesh.both_ways ? 2 : 1);
  need.files_of_node = files_besides + need.connections * (meeting.in_memory()   ? files_in_memory
                                                           : meeting.on_fabric() ? files_on_fabric
                                                                                 : 1);
  need.files_of_command = files_besides + mesh.nodes * files_of_process;
  need.threads = mesh.nodes * threads_of_node;
  need.bytes_of_node =
      context.send_pool_bytes + context.receive_pool_bytes +
      need.connections * (bytes_of_connection + page_bytes + messages * message_bytes);
  need.bytes = mesh.nodes * need.bytes_of_node;
  return need;
}

void refuse_too_large(const MeshArguments& mesh, const Meeting& meeting, std::size_t message_bytes,
                      const Limits& limits) {
  const MeshNeed need = need_of_mesh(mesh, meeting, message_bytes);
  const std::uint64_t files = std::max(need.files_of_node, need.files_of_command);
  if (limits.open_files.soft && files > *limits.open_files.soft) {
    refuse_need(mesh,
                fmt::format("about {} open files in a process, and a process may have {} here",
                            grouped(files), grouped(*limits.open_files.soft)),
                "Raise the limit (ulimit -n), or lower --nodes or --streams.");
  }
  if (limits.processes_max && need.threads > *limits.processes_max) {
    refuse_need(mesh,
                fmt::format("about {} processes and threads, and there may be {} here",
                            grouped(need.threads), grouped(*limits.processes_max)),
                "Raise the limit (ulimit -u, or pids.max of the control group), or lower --nodes.");
  }
  if (limits.memory_available_bytes && need.bytes > *limits.memory_available_bytes) {
    refuse_need(mesh,
                fmt::format("up to {} of memory ({} a node, with {} a node), and {} are free here",
                            scaled(static_cast<double>(need.bytes), "B"),
                            scaled(static_cast<double>(need.bytes_of_node), "B"),
                            counted(need.connections, "connection"),
                            scaled(static_cast<double>(*limits.memory_available_bytes), "B")),
                "Lower --nodes, --streams or --size.");
  }
}

}  // namespace netio::cli
