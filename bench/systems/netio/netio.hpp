// netio's four roles: Push and Pull, and two ends of a Pair.
#pragma once

#include <netio/netio.hpp>

#include "worker/worker.hpp"

namespace netio::bench {

// The context and socket options that a worker's options ask for.
[[nodiscard]] ContextOptions context_options(const Options& options);
[[nodiscard]] SocketOptions socket_options(const Options& options);
[[nodiscard]] std::string address_of(const Options& options);
// Of where it was bound; 0 for a name, which has none.
[[nodiscard]] std::uint16_t port_of(const Options& options, const std::string& address);

// When the worker is told to stop, the loop does. Before worker.ready().
void stop_with(Worker& worker, Context& context);

void receive(Worker& worker);
void send(Worker& worker);
void reply(Worker& worker);
void request(Worker& worker);

}  // namespace netio::bench
