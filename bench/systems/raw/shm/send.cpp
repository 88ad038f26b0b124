// Sends without end into one ring or many: whole batches of messages, or each by itself.
#include <algorithm>
#include <bit>
#include <vector>

#include "systems/raw/shm/meeting.hpp"
#include "systems/raw/shm/ring.hpp"
#include "systems/raw/shm/shm.hpp"

namespace netio::bench::raw::shm {

namespace {

// With half of it the ends wait for each other more often, with twice as much it is no faster.
constexpr std::size_t ring_bytes_of_small = 512U << 10U;
constexpr std::size_t batch_bytes = 32U << 10U;
// Of large messages as much as netio has under way at its defaults.
constexpr std::size_t ring_bytes_of_large = 1U << 20U;
constexpr std::size_t ring_bytes_in_crowd = 64U << 10U;

std::size_t ring_bytes(const Options& options, const Frame& frame) {
  std::size_t bytes = ring_bytes_of_small;
  if (options.message_bytes >= Frame::large_bytes_min) bytes = ring_bytes_of_large;
  if (options.connections > 1) bytes = ring_bytes_in_crowd;
  return std::max(bytes, std::bit_ceil(2 * frame.bytes));
}

class Connection {
 public:
  Connection(const Options& options, std::uint32_t number, const Bell& ours)
      : frame_(options.message_bytes),
        peer_(connect_to(options.name, ring_bytes(options, frame_), ours)),
        ring_(peer_.memory),
        stamp_(number, options.verify),
        sleeps_(options.wait == Wait::sleep) {
    if (options.buffered) batch_ = std::max<std::size_t>(1, batch_bytes / frame_.bytes);
  }

  // A batch. False if there was no room for it.
  bool push(std::span<const std::byte> message) noexcept {
    const std::size_t bytes = message.size();
    Stamp stamp = stamp_;
    const bool any = ring_.write(batch_, frame_.bytes, [&](std::byte* at) {
      const std::uint64_t length = bytes;
      std::memcpy(at, &length, sizeof length);
      std::byte* const to = at + frame_.message_at;
      std::memcpy(to, message.data(), bytes);
      stamp.write({to, bytes});
      stamp.advance();
    });
    stamp_ = stamp;
    if (any && sleeps_) peer_.bell.ring_if(ring_.head().reader_sleeps);
    return any;
  }

  void say_asleep(bool asleep) noexcept {
    ring_.head().writer_sleeps.store(asleep ? 1 : 0, std::memory_order_relaxed);
  }
  // Half of the ring: to be woken for less costs more than it gives.
  [[nodiscard]] bool may_go_on() noexcept { return ring_.has_room(ring_.bytes() / 2); }

 private:
  Frame frame_;
  Peer peer_;
  RingWriter ring_;
  Stamp stamp_;
  std::size_t batch_ = 1;
  bool sleeps_;
};

}  // namespace

void send(Worker& worker) {
  const Options& options = worker.options;
  const StopEvent stop;
  worker.on_stop([&stop] { stop.tell(); });
  Bed bed(stop);
  std::vector<Connection> connections;
  connections.reserve(options.connections);
  for (std::uint32_t i = 0; i < options.connections; ++i) {
    connections.emplace_back(options, options.connection_first + i, bed.bell());
  }
  worker.ready();
  const std::vector<std::byte> message(options.message_bytes);
  while (!worker.stopping()) {
    if (options.idle) {
      bed.sleep();
      continue;
    }
    bool any = false;
    for (Connection& connection : connections) any |= connection.push(message);
    if (any || options.wait != Wait::sleep) continue;
    for (Connection& connection : connections) connection.say_asleep(true);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (std::none_of(connections.begin(), connections.end(),
                     [](Connection& connection) { return connection.may_go_on(); })) {
      bed.sleep();
    }
    for (Connection& connection : connections) connection.say_asleep(false);
  }
  worker.join();
}

}  // namespace netio::bench::raw::shm
