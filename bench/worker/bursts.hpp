// How much a publisher with a rate may send by now, in bursts. Time is an argument.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace netio::bench {

class Bursts {
 public:
  // Between two looks at the clock: a timer for each message would cost more than they.
  static constexpr std::chrono::microseconds apart{200};

  Bursts(double per_second, std::int64_t now_ns) noexcept
      : per_ns_(per_second / 1e9), origin_ns_(now_ns) {}

  // What could not leave in time is made up for only as far as 100 ms go.
  [[nodiscard]] std::uint64_t due(std::int64_t now_ns, std::uint64_t sent) noexcept {
    const double most = std::max(1.0, per_ns_ * backlog_ns_max);
    double owed = per_ns_ * static_cast<double>(now_ns - origin_ns_) - static_cast<double>(sent);
    if (owed > most) {
      origin_ns_ += static_cast<std::int64_t>((owed - most) / per_ns_);
      owed = most;
    }
    return owed > 0 ? static_cast<std::uint64_t>(owed) : 0;
  }

 private:
  static constexpr double backlog_ns_max = 1e8;

  double per_ns_;
  std::int64_t origin_ns_;
};

}  // namespace netio::bench
