// Reads one ring, or many in turn; messages are looked at where they lie.
#include <algorithm>
#include <vector>

#include "systems/raw/shm/meeting.hpp"
#include "systems/raw/shm/ring.hpp"
#include "systems/raw/shm/shm.hpp"

namespace netio::bench::raw::shm {

namespace {

class Connection {
 public:
  Connection(Peer peer, const Options& options)
      : peer_(std::move(peer)), ring_(peer_.memory), sleeps_(options.wait == Wait::sleep) {}

  bool read(Tally& tally) noexcept {
    const bool any = ring_.read([&tally](std::span<const std::byte> m) { tally.take(m); });
    if (any && sleeps_) peer_.bell.ring_if(ring_.head().writer_sleeps);
    return any;
  }
  void say_asleep(bool asleep) noexcept {
    ring_.head().reader_sleeps.store(asleep ? 1 : 0, std::memory_order_relaxed);
  }
  [[nodiscard]] bool has_news() const noexcept { return ring_.has_news(); }

 private:
  Peer peer_;
  RingReader ring_;
  bool sleeps_;
};

}  // namespace

void receive(Worker& worker) {
  const Options& options = worker.options;
  const StopEvent stop;
  worker.on_stop([&stop] { stop.tell(); });
  const Listener listener(options.name);
  worker.ready();
  Bed bed(stop);
  std::vector<Connection> connections;
  for (Peer& peer : listener.accept(options.connections, bed.bell(), stop)) {
    connections.emplace_back(std::move(peer), options);
  }
  const bool sleeps = options.wait == Wait::sleep || options.idle;
  while (!worker.stopping()) {
    bool any = false;
    for (Connection& connection : connections) any |= connection.read(worker.tally);
    if (any || !sleeps) continue;
    for (Connection& connection : connections) connection.say_asleep(true);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (std::none_of(connections.begin(), connections.end(),
                     [](const Connection& connection) { return connection.has_news(); })) {
      bed.sleep();
    }
    for (Connection& connection : connections) connection.say_asleep(false);
  }
  worker.join();
}

}  // namespace netio::bench::raw::shm
