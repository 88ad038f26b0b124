// One device of a fabric, and what it demands of memory. Owner thread only.
#pragma once

#include <cstdint>

#include <rdma/fi_domain.h>

#include "fabric/fabric.hpp"

namespace netio::detail {

class Domain {
 public:
  // Throws FabricError.
  Domain(const Fabric& fabric, const Info& info);

  [[nodiscard]] fid_domain* get() const noexcept { return domain_.get(); }
  // What is sent from or received into has to be registered.
  [[nodiscard]] bool registers_local() const noexcept { return (mr_mode_ & FI_MR_LOCAL) != 0; }
  // Remote addresses are those of the owner's address space, and not counted from the region.
  [[nodiscard]] bool virtual_addresses() const noexcept {
    return (mr_mode_ & FI_MR_VIRT_ADDR) != 0;
  }
  // The next key to ask for; the provider chooses one itself if it grants FI_MR_PROV_KEY.
  [[nodiscard]] std::uint64_t next_key() noexcept {
    return (mr_mode_ & FI_MR_PROV_KEY) != 0 ? 0 : ++last_key_;
  }

 private:
  FabricHandle<fid_domain> domain_;
  int mr_mode_ = 0;
  std::uint64_t last_key_ = 0;
};

}  // namespace netio::detail
