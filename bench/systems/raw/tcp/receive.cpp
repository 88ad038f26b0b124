// Receives from one connection or many.
#include <memory>
#include <sys/epoll.h>
#include <vector>

#include "systems/raw/tcp/incoming.hpp"

namespace netio::bench::raw::tcp {

void receive(Worker& worker) {
  const Options& options = worker.options;
  const StopEvent stop;
  worker.on_stop([&stop] { stop.tell(); });
  const int listener = listen_at(options.host, options.port);
  worker.ready(port_of(listener));
  Epoll epoll(options.idle ? Wait::sleep : options.wait);
  constexpr std::uint64_t listener_key = ~std::uint64_t{0};
  constexpr std::uint64_t stop_key = listener_key - 1;
  epoll.add(listener, EPOLLIN, listener_key);
  epoll.add(stop.fd(), EPOLLIN, stop_key);
  std::vector<std::unique_ptr<Incoming>> connections;
  Gathered gathered;
  while (!worker.stopping()) {
    for (const epoll_event& event : epoll.wait()) {
      if (event.data.u64 == stop_key) continue;
      if (event.data.u64 == listener_key) {
        const int fd = accept_one(listener, stop.fd());
        if (fd < 0) continue;
        epoll.add(fd, EPOLLIN, connections.size());
        connections.push_back(std::make_unique<Incoming>(fd, options));
        continue;
      }
      Incoming& connection = *connections[event.data.u64];
      if (!connection.read(gathered, worker.tally)) epoll.remove(connection.fd());
    }
  }
  worker.join();
}

}  // namespace netio::bench::raw::tcp
