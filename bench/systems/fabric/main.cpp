// fabric: what libfabric can do with messages over one of its providers, and nothing above it.
#include <stdexcept>

#include "systems/fabric/fabric.hpp"
#include "systems/fabric/shm/shm.hpp"

namespace {

// In shared memory, of one connection between two processes that spin.
void check_in_memory(const netio::bench::Options& options) {
  if (options.wait == netio::bench::Wait::sleep) {
    throw std::invalid_argument("libfabric's shared memory has no object to sleep on");
  }
  if (options.both || options.connections != 1) {
    throw std::invalid_argument("one connection between two processes only");
  }
}

void run(netio::bench::Worker& worker) {
  using netio::bench::Role;
  namespace fabric = netio::bench::fabric;
  const bool in_memory = !worker.options.name.empty();
  if (in_memory) check_in_memory(worker.options);
  switch (worker.options.role) {
    case Role::receive:
      return in_memory ? fabric::shm::receive(worker) : fabric::receive(worker);
    case Role::send:
      return in_memory ? fabric::shm::send(worker) : fabric::send(worker);
    case Role::reply:
      return in_memory ? fabric::shm::reply(worker) : fabric::reply(worker);
    case Role::request:
      return in_memory ? fabric::shm::request(worker) : fabric::request(worker);
    case Role::publish:
    case Role::subscribe:
    case Role::relay:
    case Role::build:
    case Role::readout:
    case Role::manage:
    case Role::node:
      return;  // refused before
  }
}

}  // namespace

int main(int argc, char** argv) {
  return netio::bench::worker_main(argc, argv, "fabric", run,
                                   {.fabrics = true, .memory = true, .rings = true});
}
