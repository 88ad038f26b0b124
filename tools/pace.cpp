#include "pace.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "units.hpp"

namespace netio::cli {

namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();
constexpr double backlog_seconds_max = 0.1;
// Above 5,000 messages a second they leave in small bursts: a timer each would cost more than they.
constexpr std::chrono::nanoseconds wait_min = std::chrono::microseconds(200);

}  // namespace

// Counted in messages or bytes, as the rate is. The first unit is due at once.
double Pace::owed(std::chrono::nanoseconds now, std::uint64_t messages,
                  std::uint64_t bytes) const noexcept {
  const double sent = static_cast<double>(rate_->in_bytes ? bytes : messages);
  return 1.0 + seconds_of(now - origin_) * rate_->per_second - sent;
}

Allowance Pace::due(std::chrono::nanoseconds now, std::uint64_t messages,
                    std::uint64_t bytes) noexcept {
  if (!rate_) return {no_limit, no_limit};
  double units = owed(now, messages, bytes);
  const double units_max = std::max(1.0, rate_->per_second * backlog_seconds_max);
  if (units > units_max) {
    const double forgiven_seconds = (units - units_max) / rate_->per_second;
    origin_ += std::chrono::nanoseconds(std::llround(forgiven_seconds * 1e9));
    units = units_max;
  }
  // A hair below one is one: the timer that woke us counts whole nanoseconds.
  const auto whole = static_cast<std::uint64_t>(std::max(0.0, units + 1e-6));
  return rate_->in_bytes ? Allowance{no_limit, whole} : Allowance{whole, no_limit};
}

std::chrono::nanoseconds Pace::wait(std::chrono::nanoseconds now, std::uint64_t messages,
                                    std::uint64_t bytes) const noexcept {
  const double missing = 1.0 - owed(now, messages, bytes);
  // A year is as long as a timer needs to be.
  const double wait_seconds = std::clamp(missing / rate_->per_second, 0.0, 365.0 * 86400);
  return std::max(wait_min, std::chrono::nanoseconds(std::llround(wait_seconds * 1e9)));
}

}  // namespace netio::cli
