// Times by three significant digits: exact below 2,048 ns, then 1,024 steps for each doubling.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace netio::bench {

class Histogram {
 public:
  void add(std::uint64_t ns, std::uint64_t count = 1) noexcept {
    counts_[index_of(ns)] += count;
    total_ += count;
  }
  void add(const Histogram& other) noexcept;

  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
  // The highest time that counts as one of the lowest `share` (0 to 1) of all; 0 without any.
  [[nodiscard]] std::uint64_t at(double share) const noexcept;
  [[nodiscard]] double mean() const noexcept;
  [[nodiscard]] double deviation() const noexcept;

  // Each step that has any: its lowest time and how many.
  [[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint64_t>> steps() const;
  // The percentile text that HdrHistogram's plotters read; times in microseconds.
  [[nodiscard]] std::string percentile_text() const;

 private:
  static constexpr unsigned exact_bits = 11;
  static constexpr std::size_t exact_count = std::size_t{1} << exact_bits;
  static constexpr std::size_t half_count = exact_count / 2;
  static constexpr std::size_t step_count = exact_count + (64 - exact_bits) * half_count;

  [[nodiscard]] static std::size_t index_of(std::uint64_t ns) noexcept {
    if (ns < exact_count) return static_cast<std::size_t>(ns);
    const auto shift = static_cast<unsigned>(std::bit_width(ns)) - exact_bits;
    return shift * half_count + static_cast<std::size_t>(ns >> shift);
  }
  [[nodiscard]] static std::uint64_t lowest(std::size_t index) noexcept {
    if (index < exact_count) return index;
    const std::size_t shift = index / half_count - 1;
    return static_cast<std::uint64_t>(index - shift * half_count) << shift;
  }
  [[nodiscard]] static std::uint64_t highest(std::size_t index) noexcept {
    if (index < exact_count) return index;
    return lowest(index) + (std::uint64_t{1} << (index / half_count - 1)) - 1;
  }

  std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(step_count);
  std::uint64_t total_ = 0;
};

}  // namespace netio::bench
