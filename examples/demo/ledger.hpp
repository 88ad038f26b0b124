// What became of each event, in memory that all processes share: a process that is killed has
// entered what it did. Any thread of any process may enter.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "roles.hpp"

namespace demo {

class Ledger {
 public:
  // Makes the memory, which children inherit by its descriptor. Throws std::system_error.
  explicit Ledger(std::uint64_t events_max);
  // Maps the memory that the demo has made. Throws std::system_error.
  static Ledger of_parent(int fd) { return Ledger(Descriptor{fd}); }
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  [[nodiscard]] int fd() const noexcept { return fd_; }

  // A builder has handed the event over. `builder` is its index among the builders' processes.
  void enter_built(std::size_t builder, std::uint64_t event, bool again,
                   std::uint64_t bytes) noexcept;
  // The recorder has received the event.
  void enter_recorded(std::uint64_t event, bool again) noexcept;

  // What one builder's process has handed over.
  struct Line {
    std::uint64_t events = 0;
    std::uint64_t again = 0;  // of them, marked
    std::uint64_t bytes = 0;  // of their fragments
  };
  [[nodiscard]] Line built_by(std::size_t builder) const noexcept;
  [[nodiscard]] std::uint64_t recorded() const noexcept;

  // How often events were handed over, or received.
  struct Count {
    std::uint64_t events = 0;          // at least once
    std::uint64_t several = 0;         // of them, more than once
    std::uint64_t times = 0;           // in all
    std::uint64_t marked = 0;          // of these, marked
    std::uint64_t missing = 0;         // never
    std::uint64_t unmarked_twice = 0;  // more than once without the mark
    std::uint64_t unknown = 0;         // events that no card has sent
    std::uint64_t first_fault = 0;     // the first event that is missing, unmarked or unknown
    [[nodiscard]] bool good() const noexcept { return missing + unmarked_twice + unknown == 0; }
  };
  // Of the events below `end`, when no process enters any more.
  [[nodiscard]] Count count_built(std::uint64_t end) const noexcept;
  [[nodiscard]] Count count_recorded(std::uint64_t end) const noexcept;

 private:
  struct Descriptor {
    int fd;
  };
  // Times without the mark in the lower half, with the mark in the upper half.
  using Times = std::atomic<std::uint8_t>;
  struct Row {
    alignas(64) std::atomic<std::uint64_t> events;
    std::atomic<std::uint64_t> again;
    std::atomic<std::uint64_t> bytes;
  };
  struct Head {
    std::array<Row, builder_processes> built;
    Row recorded;
    std::atomic<std::uint64_t> unknown_built;     // beyond the memory
    std::atomic<std::uint64_t> unknown_recorded;  // the same
    std::atomic<std::uint64_t> events_end;        // all events that were entered are below it
    std::uint64_t events_max;
  };
  explicit Ledger(Descriptor descriptor);
  void map();
  void enter(std::span<Times> list, std::uint64_t event, bool again,
             std::atomic<std::uint64_t>& unknown) noexcept;
  [[nodiscard]] Count count(std::span<const Times> list, std::uint64_t end,
                            std::uint64_t unknown) const noexcept;

  int fd_ = -1;
  std::size_t bytes_ = 0;
  Head* head_ = nullptr;
  std::span<Times> built_;
  std::span<Times> recorded_;
};

}  // namespace demo
