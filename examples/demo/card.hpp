// A simulated read-out card. A thread plays the hardware: it fills a ring with the fragments that
// are due, then raises the interrupt. The read-out, on its own thread, takes them out of the ring.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "fragment.hpp"

namespace demo {

class Card {
 public:
  explicit Card(double fragments_per_second);
  ~Card();
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

  void start();
  // No more fragments once this returns; what is in the ring stays there.
  void stop();
  // Held off (any thread): the card makes no fragments until released.
  void hold(bool held) noexcept { held_.store(held, std::memory_order_relaxed); }

  // The read-out's side; one thread.
  // Readable while the interrupt is raised.
  [[nodiscard]] int interrupt_fd() const noexcept { return interrupt_fd_; }
  void clear_interrupt() const noexcept;
  // The oldest fragment in the ring; empty if there is none.
  [[nodiscard]] std::span<const std::byte> front() noexcept;
  // Gives the room of front() back.
  void pop() noexcept;
  [[nodiscard]] double fill() const noexcept;

  // Any thread.
  [[nodiscard]] std::uint64_t made() const noexcept { return made_; }
  [[nodiscard]] std::uint64_t overruns() const noexcept { return overruns_; }
  [[nodiscard]] double held_seconds() const noexcept {
    return static_cast<double>(held_ns_.load()) / 1e9;
  }
  // After stop().
  [[nodiscard]] const std::array<std::uint64_t, link_count>& made_by_link() const noexcept {
    return made_by_link_;
  }
  [[nodiscard]] double cpu_seconds() const noexcept { return cpu_seconds_; }

 private:
  void run();
  void fill_ring(std::uint64_t fragments) noexcept;
  bool put(std::uint32_t link, std::size_t bytes) noexcept;
  void raise_interrupt() const noexcept;
  std::uint64_t random() noexcept;

  const double fragments_per_ns_;
  int interrupt_fd_;
  std::vector<std::byte> ring_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> held_{false};
  std::atomic<std::uint64_t> made_{0};
  std::atomic<std::uint64_t> overruns_{0};
  std::atomic<std::int64_t> held_ns_{0};

  // Positions only grow; modulo the ring's size they are places in it. A line each: the two sides
  // write to them all the time.
  alignas(64) std::atomic<std::uint64_t> head_{0};  // written by the card
  alignas(64) std::atomic<std::uint64_t> tail_{0};  // written by the read-out

  // The card's thread, until stop().
  alignas(64) std::uint64_t next_ = 0;  // where the next fragment goes
  std::uint64_t room_end_ = 0;          // free up to here, when last looked
  std::uint64_t random_ = 0x2545f4914f6cdd1d;
  std::array<std::uint64_t, link_count> made_by_link_{};
  double cpu_seconds_ = 0;
};

}  // namespace demo
