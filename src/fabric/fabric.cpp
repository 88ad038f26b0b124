// fi_fabric.
#include "fabric/fabric.hpp"

#include "base/helper_thread.hpp"
#include "fabric/error.hpp"
#include "fabric/library.hpp"

namespace netio::detail {

Fabric::Fabric(const Info& info) {
  const HelpersStart helpers;
  fid_fabric* opened = nullptr;
  check_fabric(fabric_library().fabric(info->fabric_attr, &opened, nullptr), "open the fabric");
  fabric_.reset(opened);
}

}  // namespace netio::detail
