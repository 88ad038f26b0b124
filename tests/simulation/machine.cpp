// How a context is made ready for the next schedule.
#include "simulation/machine.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include <netio/pull.hpp>

#include "memory/quota.hpp"
#include "simulation/world.hpp"

namespace netio::test {

namespace {

constexpr std::size_t pages = 16;
constexpr std::size_t blocks = 8;  // of four pages
constexpr std::size_t kept_bytes_max = 1U << 20U;

ContextOptions options_for(std::size_t page_bytes, std::size_t large_bytes_max) {
  ContextOptions options;
  options.page_bytes = page_bytes;
  options.send_pool_bytes = pages * page_bytes;
  options.receive_pool_bytes = blocks * 4 * page_bytes;
  options.large_bytes_max = large_bytes_max;
  options.large_kept_bytes_max = std::min(large_bytes_max, kept_bytes_max);
  return options;
}

// The next take of the pool looks for what other threads returned, and counts from there again.
void reset_takes(detail::Pool& pool) {
  const detail::Quota::Ptr nothing = detail::Quota::create(0);
  (void)pool.take(nothing.get());
}

}  // namespace

// Lists that a context keeps, and that grow with the sockets in it, grow here and not in a
// schedule.
Machine::Machine(std::size_t place, std::size_t page_bytes, std::size_t large_bytes_max)
    : place_(place), page_bytes_(page_bytes), context_(options_for(page_bytes, large_bytes_max)) {
  context_.core().add_transport("sim", [this](const detail::TransportResources& resources) {
    auto transport = std::make_unique<SimTransport>(resources);
    transport_ = transport.get();
    return transport;
  });
  constexpr std::size_t sockets_most = 128;
  std::vector<std::unique_ptr<Pull>> sockets;
  for (std::size_t i = 0; i < sockets_most; ++i) {
    sockets.push_back(std::make_unique<Pull>(context_));
  }
}

void Machine::begin(World& world) {
  world_ = &world;
  transport_->attach(&world);
  for (detail::Pool* const pool : {&send_pool(), &receive_pool()}) reset_takes(*pool);
  detail::Quota& strangers = context_.core().large_pool().strangers();
  strangers.charge(1);
  strangers.discharge(1);
  context_.core().serve_waiters();
  while (context_.loop().run_once(std::chrono::nanoseconds(0))) {
  }
  last_turn_ns_ = 0;
}

std::string Machine::end() {
  for (int turns = 0; turns < 8; ++turns)
    (void)context_.loop().run_once(std::chrono::nanoseconds(0));
  transport_->attach(nullptr);
  world_ = nullptr;
  detail::LargePool& large_pool = context_.core().large_pool();
  send_pool().collect();
  receive_pool().collect();
  large_pool.collect();
  const auto missing = [](const char* what, std::size_t out) {
    return std::to_string(out) + " " + what + " did not come home";
  };
  if (send_pool().blocks_out() != 0) return missing("pages to send", send_pool().blocks_out());
  if (receive_pool().blocks_out() != 0) {
    return missing("blocks to receive", receive_pool().blocks_out());
  }
  if (large_pool.blocks_out() != 0) return missing("large buffers", large_pool.blocks_out());
  if (large_pool.strangers().bytes_used() != 0) return "strangers still have large memory";
  if (send_pool().waited_for() || receive_pool().waited_for() || large_pool.waited_for()) {
    return "somebody waits for memory who is not there any more";
  }
  return {};
}

bool Machine::turn() {
  last_turn_ns_ = World::now_ns();
  ++turns_;
  if (world_ != nullptr) world_->tally.add(Happened::turn);
  return context_.loop().run_once(std::chrono::nanoseconds(0));
}

}  // namespace netio::test
