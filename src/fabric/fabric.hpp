// One fabric: what domains and event queues are opened on.
#pragma once

#include "fabric/handle.hpp"
#include "fabric/info.hpp"

namespace netio::detail {

class Fabric {
 public:
  // Throws FabricError.
  explicit Fabric(const Info& info);
  [[nodiscard]] fid_fabric* get() const noexcept { return fabric_.get(); }

 private:
  FabricHandle<fid_fabric> fabric_;
};

}  // namespace netio::detail
