// Opens fabrics and devices under their names.
#include "transport/ofi/fabric_set.hpp"

namespace netio::detail {

FabricSet::~FabricSet() {
  // Who held it at the fork is not here to let go.
  if (resources_.loop.copied_by_fork()) return;
  const std::unique_lock lock(gate_->mutex);
  gate_->open = false;
}

FabricPort& FabricSet::port_of(const Info& info) {
  auto& port = ports_[info->fabric_attr->name];
  if (!port) port = std::make_unique<FabricPort>(resources_.loop, info);
  return *port;
}

Device& FabricSet::device_of(const Info& info) {
  FabricPort& port = port_of(info);
  auto& device = devices_[{&port, info->domain_attr->name}];
  if (!device) device = std::make_unique<Device>(resources_, port, info);
  return *device;
}

}  // namespace netio::detail
