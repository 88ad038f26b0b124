// Sends without end over one connection or many.
#include <sys/epoll.h>
#include <vector>

#include "systems/raw/tcp/outgoing.hpp"

namespace netio::bench::raw::tcp {

void send(Worker& worker) {
  const StopEvent stop;
  worker.on_stop([&stop] { stop.tell(); });
  const Options& options = worker.options;
  std::vector<Outgoing> connections;
  connections.reserve(options.connections);
  for (std::uint32_t i = 0; i < options.connections; ++i) {
    connections.emplace_back(options, options.connection_first + i);
  }
  worker.ready();
  Epoll epoll(options.idle ? Wait::sleep : options.wait);
  epoll.add(stop.fd(), EPOLLIN, connections.size());
  if (!options.idle) {
    for (std::size_t i = 0; i < connections.size(); ++i) {
      epoll.add(connections[i].fd(), EPOLLOUT, i);
    }
  }
  const bool shared = Page(options).gathers;
  std::vector<Page> pages(shared ? 1 : connections.size(), Page(options));
  while (!worker.stopping()) {
    for (const epoll_event& event : epoll.wait()) {
      if (event.data.u64 == connections.size()) continue;
      Page& page = pages[shared ? 0 : event.data.u64];
      for (int i = 0; i < pages_in_turn && connections[event.data.u64].push(page); ++i) {
      }
    }
  }
  worker.join();
}

}  // namespace netio::bench::raw::tcp
