// A node of a mesh: connections that it receives from, and others that it sends over, in one epoll.
#include <cerrno>
#include <chrono>
#include <memory>
#include <sys/epoll.h>
#include <system_error>
#include <thread>
#include <vector>

#include "systems/raw/tcp/incoming.hpp"
#include "systems/raw/tcp/outgoing.hpp"
#include "worker/mesh.hpp"

namespace netio::bench::raw::tcp {

namespace {

std::vector<Outgoing> connect_to_targets(const Options& options,
                                         const std::vector<std::uint16_t>& ports) {
  const MeshOptions& mesh = options.mesh;
  std::vector<Outgoing> connections;
  connections.reserve(mesh.targets.size() * mesh.streams);
  for (const std::uint32_t target : mesh.targets) {
    const Options there = options_of_node(options, target, ports);
    for (std::uint32_t stream = 0; stream < mesh.streams; ++stream) {
      connections.emplace_back(there, connection_of(mesh, stream));
    }
  }
  return connections;
}

// Others stop before this node does: their connections end, and the rest goes on.
template <typename Serve>
bool still_open(Serve&& serve) {
  try {
    return serve();
  } catch (const std::system_error& error) {
    const int code = error.code().value();
    if (code == EPIPE || code == ECONNRESET) return false;
    throw;
  }
}

// What comes waits in the kernel meanwhile, which has made all connections.
void await_begin(const Worker& worker) {
  constexpr std::chrono::milliseconds look_every{5};
  while (!worker.told_to_begin() && !worker.stopping()) std::this_thread::sleep_for(look_every);
}

class Node {
 public:
  Node(Worker& worker, MeshTally& tally, int listener, const StopEvent& stop,
       std::vector<Outgoing> outgoing)
      : worker_(worker),
        tally_(tally),
        listener_(listener),
        stop_(stop),
        outgoing_(std::move(outgoing)),
        epoll_(worker.options.wait) {
    const Page page(worker.options);
    shared_ = page.gathers;
    pages_.assign(shared_ ? 1 : outgoing_.size(), page);
    epoll_.add(listener_, EPOLLIN, listener_key);
    epoll_.add(stop_.fd(), EPOLLIN, stop_key);
    for (std::size_t i = 0; i < outgoing_.size(); ++i) epoll_.add(outgoing_[i].fd(), EPOLLOUT, i);
  }

  void run() {
    while (!worker_.stopping()) {
      for (const epoll_event& event : epoll_.wait()) serve(event.data.u64);
    }
  }

 private:
  static constexpr std::uint64_t listener_key = ~std::uint64_t{0};
  static constexpr std::uint64_t stop_key = listener_key - 1;

  void serve(std::uint64_t key) {
    if (key == stop_key) return;
    if (key == listener_key) return accept();
    if (key < outgoing_.size()) return send(key);
    Incoming& connection = *incoming_[key - outgoing_.size()];
    if (!still_open([&] { return connection.read(gathered_, tally_); })) {
      epoll_.remove(connection.fd());
    }
  }
  void accept() {
    const int fd = accept_one(listener_, stop_.fd());
    if (fd < 0) return;
    epoll_.add(fd, EPOLLIN, outgoing_.size() + incoming_.size());
    incoming_.push_back(std::make_unique<Incoming>(fd, worker_.options));
  }
  void send(std::size_t number) {
    Outgoing& connection = outgoing_[number];
    Page& page = pages_[shared_ ? 0 : number];
    const bool open = still_open([&] {
      for (int i = 0; i < pages_in_turn && connection.push(page); ++i) {
      }
      return true;
    });
    if (!open) epoll_.remove(connection.fd());
  }

  Worker& worker_;
  MeshTally& tally_;
  int listener_;
  const StopEvent& stop_;
  std::vector<Outgoing> outgoing_;
  std::vector<std::unique_ptr<Incoming>> incoming_;
  Epoll epoll_;
  bool shared_ = false;
  std::vector<Page> pages_;
  Gathered gathered_;
};

}  // namespace

void node(Worker& worker) {
  const Options& options = worker.options;
  MeshTally tally(worker);
  const StopEvent stop;
  worker.on_stop([&stop] { stop.tell(); });
  const Options here = options_of_node(options, options.mesh.number);
  const int listener = listen_at(here.host, here.port);
  const auto ports = exchange_ports(options, port_of(listener));
  Node node(worker, tally, listener, stop, connect_to_targets(options, ports));
  worker.ready();
  await_begin(worker);
  node.run();
  worker.join();
}

}  // namespace netio::bench::raw::tcp
