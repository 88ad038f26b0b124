// A node of a mesh: a Pull that counts, and a Push for each stream to each node that it sends to.
// All of them share one loop.
#include <chrono>
#include <memory>
#include <vector>

#include "systems/netio/netio.hpp"
#include "systems/netio/sender.hpp"
#include "worker/mesh.hpp"

namespace netio::bench {

namespace {

// On a fabric each connection has memory of its own, so each has a small window.
constexpr std::uint32_t fabric_window = 8;

// For the memory of what comes and of what this node sends, which has acknowledgements to receive.
Options sized(const Options& options) {
  Options both = options;
  both.connections = 2 * options.connections;
  if (!both.provider.empty() && both.window == 0 && !both.has_ring()) both.window = fabric_window;
  return both;
}

void await_begin(const Worker& worker, Loop& loop) {
  constexpr std::chrono::milliseconds look_every{5};
  while (!worker.told_to_begin() && !worker.stopping()) loop.run_once(look_every);
}

}  // namespace

void node(Worker& worker) {
  const Options options = sized(worker.options);
  const MeshOptions& mesh = options.mesh;
  MeshTally tally(worker);
  Context context(context_options(options));
  stop_with(worker, context);
  Pull pull(context, socket_options(options));
  pull.on_message([&tally](const MessageView& message) { tally.take(message.bytes()); });
  const std::string bound = pull.bind(address_of(options_of_node(options, mesh.number)));
  const std::vector<std::uint16_t> ports = exchange_ports(options, port_of(options, bound));
  std::vector<Sender<Push>*> ready;
  std::vector<std::unique_ptr<Sender<Push>>> senders;
  for (const std::uint32_t target : mesh.targets) {
    const Options there = options_of_node(options, target, ports);
    for (std::uint32_t stream = 0; stream < mesh.streams; ++stream) {
      senders.push_back(
          std::make_unique<Sender<Push>>(context, there, connection_of(mesh, stream), ready));
      senders.back()->socket().connect(address_of(there));
    }
  }
  for (const auto& sender : senders) await_peer(context, sender->socket());
  worker.ready();
  await_begin(worker, context.loop());
  send_on(worker, context, ready);
  worker.join();
}

}  // namespace netio::bench
