// A process that plays a read-out card: it has one fragment of each event, and gives it to its
// ReadoutUnit, which holds it until the event is built and recorded. Events are due at a constant
// rate, at the same moments for all cards. One thread, one loop.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <netio/netio.hpp>

#include "child_options.hpp"
#include "fragment.hpp"
#include "report.hpp"
#include "reporter.hpp"

namespace demo {

// The store of a card, in bytes.
inline constexpr std::size_t store_bytes_max = std::size_t{12} << 20U;

class Card {
 public:
  explicit Card(const ChildOptions& options);
  // Until the event manager has stopped the run, and all that this card has sent is settled. The
  // exit code.
  int run();

 private:
  void send_due();
  [[nodiscard]] std::uint64_t allowed(std::int64_t now_ns);
  [[nodiscard]] bool send_next();
  void go_on();
  void stop(netio::EventId at);
  void end_if_done();
  void fill(Report& report) const;

  const ChildOptions options_;
  const std::uint32_t source_;
  netio::Context context_;
  netio::ReadoutUnit unit_;
  netio::Timer turn_;
  Reporter reporter_;
  std::array<std::byte, fragment_bytes_max> fragment_{};
  std::uint64_t next_ = 0;            // the number of the next event
  std::optional<std::uint64_t> end_;  // none at or above it is built
  std::int64_t last_ns_ = 0;          // the last turn
  std::int64_t busy_since_ns_ = 0;
  bool begun_ = false;
  bool busy_ = false;  // the store is full
  bool finishing_ = false;
  std::uint64_t times_busy_ = 0;
  std::int64_t busy_ns_ = 0;
};

}  // namespace demo
