// A context with small pools, and the simulated transport in it. It serves one schedule after the
// other, as long as its memory is whole in between. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <netio/context.hpp>

#include "simulation/sim_transport.hpp"
#include "socket/context_core.hpp"

namespace netio::test {

class World;

// So many of the machines, the last ones, have memory enough for all large messages there may be.
inline constexpr std::size_t roomy_machines = 3;

class Machine {
 public:
  Machine(std::size_t place, std::size_t page_bytes, std::size_t large_bytes_max);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // The schedule begins. What the one before left that could be seen is made good.
  void begin(World& world);
  // It ends: a sentence on what is not as it was, or nothing.
  std::string end();
  // One turn of the loop. True if it did anything.
  bool turn();

  [[nodiscard]] Context& context() noexcept { return context_; }
  // Among all machines.
  [[nodiscard]] std::size_t place() const noexcept { return place_; }
  [[nodiscard]] std::size_t page_bytes() const noexcept { return page_bytes_; }
  [[nodiscard]] std::uint64_t turns() const noexcept { return turns_; }
  [[nodiscard]] std::int64_t last_turn_ns() const noexcept { return last_turn_ns_; }
  [[nodiscard]] bool in_turn() { return context_.loop().in_turn(); }

 private:
  [[nodiscard]] detail::Pool& send_pool() noexcept { return transport_->resources().send_pool; }
  [[nodiscard]] detail::Pool& receive_pool() noexcept {
    return transport_->resources().receive_pool;
  }
  std::size_t place_;
  std::size_t page_bytes_;
  Context context_;
  SimTransport* transport_ = nullptr;  // the context's
  World* world_ = nullptr;
  std::int64_t last_turn_ns_ = 0;
  std::uint64_t turns_ = 0;
};

}  // namespace netio::test
