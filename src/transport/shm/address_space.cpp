// One count for the process, as its address space is.
#include "transport/shm/address_space.hpp"

#include <algorithm>
#include <atomic>
#include <string>

#include <netio/status.hpp>

namespace netio::detail {

namespace {
std::atomic<std::size_t> taken_bytes{0};
}  // namespace

std::size_t PeerAddressSpace::most(std::size_t bytes, std::size_t taken) noexcept {
  if (bytes <= ordinary_bytes_max) return bytes_max - taken;
  constexpr std::size_t for_large = bytes_max - kept_bytes;
  return (for_large - std::min(taken, for_large)) / part_of_rest;
}

PeerAddressSpace PeerAddressSpace::take(std::size_t bytes) {
  std::size_t taken = taken_bytes.load(std::memory_order_relaxed);
  do {
    if (bytes > most(bytes, taken)) {
      throw Error(
          "find address space for " + std::to_string(bytes >> 20U) + " MiB of shared memory",
          "the peers of this process have " + std::to_string(taken >> 20U) + " of the " +
              std::to_string(bytes_max >> 20U) +
              " MiB that they may have together, and one may have no more than a part of "
              "the rest",
          "lower ContextOptions::large_bytes_max at the end that shares it");
    }
  } while (!taken_bytes.compare_exchange_weak(taken, taken + bytes, std::memory_order_relaxed));
  return PeerAddressSpace(bytes);
}

PeerAddressSpace::~PeerAddressSpace() {
  if (bytes_ != 0) taken_bytes.fetch_sub(bytes_, std::memory_order_relaxed);
}

}  // namespace netio::detail
