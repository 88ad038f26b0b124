#include "worker/histogram.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace netio::bench {

void Histogram::add(const Histogram& other) noexcept {
  for (std::size_t i = 0; i < step_count; ++i) counts_[i] += other.counts_[i];
  total_ += other.total_;
}

std::uint64_t Histogram::at(double share) const noexcept {
  const double rank = std::max(1.0, std::ceil(share * static_cast<double>(total_)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < step_count; ++i) {
    seen += counts_[i];
    if (counts_[i] != 0 && static_cast<double>(seen) >= rank) return highest(i);
  }
  return 0;
}

double Histogram::mean() const noexcept {
  double sum = 0;
  for (const auto& [ns, count] : steps())
    sum += static_cast<double>(ns) * static_cast<double>(count);
  return total_ == 0 ? 0 : sum / static_cast<double>(total_);
}

double Histogram::deviation() const noexcept {
  const double centre = mean();
  double sum = 0;
  for (const auto& [ns, count] : steps()) {
    const double off = static_cast<double>(ns) - centre;
    sum += off * off * static_cast<double>(count);
  }
  return total_ == 0 ? 0 : std::sqrt(sum / static_cast<double>(total_));
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> Histogram::steps() const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> steps;
  for (std::size_t i = 0; i < step_count; ++i) {
    if (counts_[i] != 0) steps.emplace_back(lowest(i), counts_[i]);
  }
  return steps;
}

std::string Histogram::percentile_text() const {
  std::string text = fmt::format("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile",
                                 "TotalCount", "1/(1-Percentile)");
  std::uint64_t seen = 0;
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < step_count; ++i) {
    if (counts_[i] == 0) continue;
    seen += counts_[i];
    most = highest(i);
    const double share = static_cast<double>(seen) / static_cast<double>(total_);
    const auto us = static_cast<double>(most) / 1000;
    if (seen == total_) {
      text += fmt::format("{:12.3f} {:2.12f} {:10}\n", us, 1.0, seen);
    } else {
      text += fmt::format("{:12.3f} {:2.12f} {:10} {:14.2f}\n", us, share, seen, 1 / (1 - share));
    }
  }
  text += fmt::format("#[Mean    = {:12.3f}, StdDeviation   = {:12.3f}]\n", mean() / 1000,
                      deviation() / 1000);
  text += fmt::format("#[Max     = {:12.3f}, Total count    = {:12}]\n",
                      static_cast<double>(most) / 1000, total_);
  text += fmt::format("#[Buckets = {:12}, SubBuckets     = {:12}]\n", 64 - exact_bits, exact_count);
  return text;
}

}  // namespace netio::bench
