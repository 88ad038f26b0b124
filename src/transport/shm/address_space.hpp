// How much address space this process gives to the memory of its peers, of all contexts together.
// A peer's memory is as large as the peer says, and takes address space whether it is used or not.
#pragma once

#include <cstddef>
#include <utility>

namespace netio::detail {

// A part of it, given back when destroyed. On any thread.
class PeerAddressSpace {
 public:
  // Half of what a process has on common machines, so that the other half is there for the rest.
  static constexpr std::size_t bytes_max = std::size_t{1} << 46U;
  // One peer gets no more than this part of what is left: the largest are refused first, and those
  // of ordinary size long after them.
  static constexpr std::size_t part_of_rest = 8;

  PeerAddressSpace() noexcept = default;
  // Throws Error if that is more than one peer may have now.
  static PeerAddressSpace take(std::size_t bytes);
  PeerAddressSpace(PeerAddressSpace&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}
  PeerAddressSpace& operator=(PeerAddressSpace&&) = delete;
  ~PeerAddressSpace();

 private:
  explicit PeerAddressSpace(std::size_t bytes) noexcept : bytes_(bytes) {}
  std::size_t bytes_ = 0;
};

}  // namespace netio::detail
