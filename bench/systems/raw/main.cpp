// raw: what the kernel's sockets or bare shared memory can do, the floor of every comparison.
#include <stdexcept>

#include "systems/raw/shm/shm.hpp"
#include "systems/raw/tcp/tcp.hpp"

namespace {

void run(netio::bench::Worker& worker) {
  using netio::bench::Role;
  namespace raw = netio::bench::raw;
  const bool in_memory = !worker.options.name.empty();
  switch (worker.options.role) {
    case Role::receive:
      return in_memory ? raw::shm::receive(worker) : raw::tcp::receive(worker);
    case Role::send:
      return in_memory ? raw::shm::send(worker) : raw::tcp::send(worker);
    case Role::reply:
      return in_memory ? raw::shm::reply(worker) : raw::tcp::reply(worker);
    case Role::request:
      return in_memory ? raw::shm::request(worker) : raw::tcp::request(worker);
    case Role::relay:
      if (in_memory) throw std::invalid_argument("raw is a relay of sockets alone");
      return raw::tcp::relay(worker);
    case Role::node:
      return raw::tcp::node(worker);
    case Role::publish:
    case Role::subscribe:
    case Role::build:
    case Role::readout:
    case Role::manage:
      return;  // refused before
  }
}

}  // namespace

int main(int argc, char** argv) {
  return netio::bench::worker_main(argc, argv, "raw", run,
                                   {.memory = true, .relays = true, .meshes = true});
}
