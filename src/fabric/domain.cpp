// fi_domain.
#include "fabric/domain.hpp"

#include "base/helper_thread.hpp"
#include "fabric/error.hpp"

namespace netio::detail {

Domain::Domain(const Fabric& fabric, const Info& info) : mr_mode_(info->domain_attr->mr_mode) {
  const HelpersStart helpers;  // those of the provider
  fid_domain* opened = nullptr;
  check_fabric(fi_domain(fabric.get(), info.get(), &opened, nullptr), "open the device");
  domain_.reset(opened);
}

}  // namespace netio::detail
