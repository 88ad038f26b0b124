// Times that were measured, all of them kept, and what share of them was how short.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace demo {

class Percentiles {
 public:
  void reserve(std::size_t count) { samples_.reserve(count); }
  void add(std::int64_t ns) { samples_.push_back(ns); }
  void clear() noexcept { samples_.clear(); }
  [[nodiscard]] std::size_t count() const noexcept { return samples_.size(); }

  // The smallest time that at least `share` (0 to 1) of the samples do not exceed; 0 without any.
  // Reorders the samples.
  [[nodiscard]] std::int64_t at(double share) {
    if (samples_.empty()) return 0;
    const double rank = std::ceil(share * static_cast<double>(samples_.size()));
    const auto nth = samples_.begin() + static_cast<std::ptrdiff_t>(std::max(rank, 1.0)) - 1;
    std::nth_element(samples_.begin(), nth, samples_.end());
    return *nth;
  }

 private:
  std::vector<std::int64_t> samples_;
};

}  // namespace demo
