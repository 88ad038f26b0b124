// raw: what the sockets of the kernel can do, the floor of every comparison.
#include "systems/raw/raw.hpp"

namespace {

void run(netio::bench::Worker& worker) {
  using netio::bench::Role;
  switch (worker.options.role) {
    case Role::receive:
      return netio::bench::raw::receive(worker);
    case Role::send:
      return netio::bench::raw::send(worker);
    case Role::reply:
      return netio::bench::raw::reply(worker);
    case Role::request:
      return netio::bench::raw::request(worker);
  }
}

}  // namespace

int main(int argc, char** argv) { return netio::bench::worker_main(argc, argv, "raw", run); }
