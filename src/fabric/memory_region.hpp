// Memory that the device may use: registered while this lives. Owner thread only.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fabric/domain.hpp"

namespace netio::detail {

class MemoryRegion {
 public:
  enum class Use : std::uint8_t {
    local,  // sent from, received and read into by this side
    lent,   // read by the peer
    ring,   // written by the peer
  };
  // Throws FabricError; ENOMEM where too little memory may be locked.
  MemoryRegion(Domain& domain, std::span<const std::byte> bytes, Use use);
  ~MemoryRegion();
  MemoryRegion(const MemoryRegion&) = delete;
  MemoryRegion& operator=(const MemoryRegion&) = delete;

  // What local operations name it by.
  [[nodiscard]] void* descriptor() const noexcept { return fi_mr_desc(region_.get()); }
  // What the peer names it by: the key, and the address of its byte at `data`.
  [[nodiscard]] std::uint64_t key() const noexcept { return fi_mr_key(region_.get()); }
  [[nodiscard]] std::uint64_t remote_address(const std::byte* data) const noexcept {
    return reinterpret_cast<std::uintptr_t>(data) - base_;
  }

  // Regions that live in this process: to see that none leaks.
  [[nodiscard]] static std::size_t live() noexcept { return regions_live; }

 private:
  static std::atomic<std::size_t> regions_live;

  FabricHandle<fid_mr> region_;
  std::uintptr_t base_ = 0;
};

}  // namespace netio::detail
