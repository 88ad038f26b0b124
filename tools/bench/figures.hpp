// What is reported of a sample, one figure each.
#pragma once

#include "bench/measure.hpp"

namespace netio::cli::figure {

inline double messages_per_s(const Sample& sample) { return sample.messages_per_s; }
inline double bytes_per_s(const Sample& sample) { return sample.bytes_per_s; }
inline double cpu_ns(const Sample& sample) { return sample.cpu_ns_per_message(); }
inline double sender_cores(const Sample& sample) { return sample.cores(sample.sender); }
inline double receiver_cores(const Sample& sample) { return sample.cores(sample.receiver); }
inline double cores(const Sample& sample) { return sender_cores(sample) + receiver_cores(sample); }
inline double switches_per_s(const Sample& sample) {
  return sample.sender.switches_per_s + sample.receiver.switches_per_s;
}
inline auto rtt_us(double share) {
  return [share](const Sample& sample) {
    return static_cast<double>(sample.round_trips.at(share)) / 1000;
  };
}

// Rounds that differ by more were of two kinds, or on a busy machine.
inline constexpr double unsteady_max = 3;

}  // namespace netio::cli::figure
