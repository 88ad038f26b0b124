// fabric: what libfabric can do with messages over one of its providers, and nothing above it.
#include "systems/fabric/fabric.hpp"

namespace {

void run(netio::bench::Worker& worker) {
  using netio::bench::Role;
  switch (worker.options.role) {
    case Role::receive:
      return netio::bench::fabric::receive(worker);
    case Role::send:
      return netio::bench::fabric::send(worker);
    case Role::reply:
      return netio::bench::fabric::reply(worker);
    case Role::request:
      return netio::bench::fabric::request(worker);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return netio::bench::worker_main(argc, argv, "fabric", run, {.fabrics = true});
}
