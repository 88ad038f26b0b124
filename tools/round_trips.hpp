// What `netio ping` has to report: messages that went to an echo and back, in words and as JSON.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "exit_code.hpp"
#include "worker/histogram.hpp"

namespace netio::cli {

struct RoundTrips {
  void add(std::uint64_t ns) {
    ++answered;
    sum_ns += ns;
    least_ns = std::min(least_ns, ns);
    most_ns = std::max(most_ns, ns);
    times.add(ns);
  }
  // By three digits, but never outside of what there was.
  [[nodiscard]] std::uint64_t percentile_ns(double share) const {
    return std::clamp(times.at(share), least_ns, most_ns);
  }
  [[nodiscard]] std::uint64_t lost() const noexcept { return sent - answered - (pending ? 1 : 0); }

  std::string address;
  ExitCode code = ExitCode::done;
  std::string error;  // empty: none
  std::uint64_t message_bytes = 0;
  double seconds = 0;  // with an echo there
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;
  bool pending = false;    // the last one sent was not waited for
  std::uint64_t late = 0;  // answers to what counts as lost
  std::uint64_t sum_ns = 0;
  std::uint64_t least_ns = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t most_ns = 0;
  bench::Histogram times;
};

// "min 10 us, median ..."; of what was answered, which is something.
[[nodiscard]] std::string times_text(const RoundTrips& trips);
// Lines, the last one ended.
[[nodiscard]] std::string to_text(const RoundTrips& trips);
// An object, indented, its last line ended.
[[nodiscard]] std::string to_json(const RoundTrips& trips);

}  // namespace netio::cli
