// How much may be sent by now at a given rate. Time is an argument.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "source.hpp"
#include "units.hpp"

namespace netio::cli {

class Pace {
 public:
  // Without a rate everything is always due.
  explicit Pace(std::optional<Rate> rate) noexcept : rate_(rate) {}

  void start(std::chrono::nanoseconds now) noexcept { origin_ = now; }
  // What is due now; a member that is zero means nothing is. What could not be sent in time (the
  // receiver was slow) is made up for only as far as 100 ms go.
  [[nodiscard]] Allowance due(std::chrono::nanoseconds now, std::uint64_t messages,
                              std::uint64_t bytes) noexcept;
  // When nothing is due: how long until something is.
  [[nodiscard]] std::chrono::nanoseconds wait(std::chrono::nanoseconds now, std::uint64_t messages,
                                              std::uint64_t bytes) const noexcept;

 private:
  [[nodiscard]] double owed(std::chrono::nanoseconds now, std::uint64_t messages,
                            std::uint64_t bytes) const noexcept;

  std::optional<Rate> rate_;
  std::chrono::nanoseconds origin_{0};
};

}  // namespace netio::cli
