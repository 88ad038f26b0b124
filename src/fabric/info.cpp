// getinfo, with what netio can cope with as its hints.
#include "fabric/info.hpp"

#include <algorithm>
#include <cstring>

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "base/helper_thread.hpp"
#include "fabric/error.hpp"
#include "fabric/library.hpp"

namespace netio::detail {

namespace {

Info copy_of(const fi_info* info) { return Info(fabric_library().dupinfo(info)); }

// Of one provider if it is not empty.
Info any_of(const std::string& provider) {
  Info hints(fabric_library().dupinfo(nullptr));
  if (!hints) throw FabricError("ask for fabrics", FI_ENOMEM);
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  if (!provider.empty()) hints->fabric_attr->prov_name = strdup(provider.c_str());
  return hints;
}

// What netio can cope with: it registers what it sends from and receives into, gives every
// operation a context of its own, and takes keys and addresses as they are granted.
Info hints_for(const std::string& provider) {
  Info hints = any_of(provider);
  hints->caps = FI_MSG | FI_RMA;
  hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA;
  hints->ep_attr->type = FI_EP_MSG;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->tx_attr->msg_order = FI_ORDER_SAS;
  return hints;
}

// The first of the list that is the provider itself: "verbs" is not "verbs;ofi_rxm".
Info query(const std::string& provider, const char* host, const std::string& port,
           std::uint64_t flags) {
  const Info hints = hints_for(provider);
  const HelpersStart helpers;
  fi_info* found = nullptr;
  check_fabric(fabric_library().getinfo(fabric_api, host, port.c_str(), flags, hints.get(), &found),
               "ask for fabrics");
  const Info list(found);
  for (const fi_info* each = found; each != nullptr; each = each->next) {
    if (provider == each->fabric_attr->prov_name) return copy_of(each);
  }
  throw FabricError("ask for fabrics", FI_ENODATA);
}

}  // namespace

void Info::Free::operator()(fi_info* info) const noexcept { fabric_library().freeinfo(info); }

Info Info::to_connect(const std::string& provider, const std::string& host, std::uint16_t port) {
  return query(provider, host.c_str(), std::to_string(port), FI_NUMERICHOST);
}

Info Info::to_listen(const std::string& provider, const std::string& host, std::uint16_t port) {
  return query(provider, host.empty() ? nullptr : host.c_str(), std::to_string(port), FI_SOURCE);
}

Info Info::with_depths(std::size_t transmits, std::size_t receives) const {
  Info sized = copy_of(get());
  if (!sized) throw FabricError("describe an endpoint", FI_ENOMEM);
  sized->tx_attr->size = std::min(sized->tx_attr->size, transmits);
  sized->rx_attr->size = std::min(sized->rx_attr->size, receives);
  return sized;
}

bool Info::writes_with_immediates() const noexcept {
  constexpr std::uint64_t in_order = FI_ORDER_WAW | FI_ORDER_WAS;
  return get()->domain_attr->cq_data_size >= sizeof(std::uint32_t) &&
         (get()->tx_attr->msg_order & in_order) == in_order;
}

std::vector<Info> Info::all(const std::string& provider) {
  std::vector<Info> infos;
  const Info hints = any_of(provider);
  hints->mode = ~std::uint64_t{0};
  const HelpersStart helpers;
  fi_info* found = nullptr;
  if (fabric_library().getinfo(fabric_api, nullptr, nullptr, 0, hints.get(), &found) != 0) {
    return infos;
  }
  const Info list(found);
  for (const fi_info* each = found; each != nullptr; each = each->next) {
    infos.push_back(copy_of(each));
  }
  return infos;
}

}  // namespace netio::detail
