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
  // A part of it is kept for memory of ordinary size: enough for 4,096 peers, which is what
  // SocketOptions::peers_max allows by default.
  static constexpr std::size_t ordinary_bytes_max = std::size_t{1} << 33U;
  static constexpr std::size_t kept_bytes = std::size_t{1} << 45U;
  // Of the rest, one peer with larger memory gets no more than this part of what is left.
  static constexpr std::size_t part_of_rest = 8;
  // The most that a peer that asks for `bytes` gets while `taken` are taken.
  [[nodiscard]] static std::size_t most(std::size_t bytes, std::size_t taken) noexcept;

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
