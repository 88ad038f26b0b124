// Lists what libfabric has on this machine, in netio's words. Any thread.
#include <algorithm>
#include <cstring>

#include <netio/fabrics.hpp>

#include "fabric/domain.hpp"
#include "fabric/info.hpp"
#include "transport/internet_address.hpp"
#include "transport/transport.hpp"

namespace netio::detail {

namespace {

std::string text_of(const char* text) { return text == nullptr ? std::string() : text; }

// Endpoints that stand on those of another provider ("verbs;ofi_rxm") are not looked at.
bool is_connected(const Info& info) {
  return info->ep_attr->type == FI_EP_MSG && (info->caps & FI_MSG) != 0 &&
         std::strchr(info->fabric_attr->prov_name, ';') == nullptr;
}

// Empty for what is no IP address.
std::string host_of(const Info& info) {
  const bool v6 = info->addr_format == FI_SOCKADDR_IN6;
  if (!v6 && info->addr_format != FI_SOCKADDR_IN && info->addr_format != FI_SOCKADDR) return {};
  const std::string host = host_number({info->src_addr, info->src_addrlen});
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

void add_abilities(FabricDevice& device, const Info& info) {
  device.connected = true;
  device.rma = (info->caps & FI_RMA) != 0;
  // Deprecated by libfabric; taking a connection crashes in its thread.
  const bool broken = device.provider == "sockets";
  if (device.rma && !broken) {
    device.scheme = device.provider == "verbs" ? device.provider : "ofi+" + device.provider;
  }
  device.message_bytes_max = info->ep_attr->max_msg_size;
  device.inject_bytes_max = info->tx_attr->inject_size;
  device.registers_memory = (info->domain_attr->mr_mode & FI_MR_LOCAL) != 0;
}

}  // namespace

std::vector<FabricDevice> ofi_devices(const std::string& provider) {
  std::vector<FabricDevice> devices;
  for (const Info& info : Info::all(provider)) {
    FabricDevice one;
    one.provider = text_of(info->fabric_attr->prov_name);
    one.device = text_of(info->domain_attr->name);
    one.fabric = text_of(info->fabric_attr->name);
    auto found = std::ranges::find_if(devices, [&one](const FabricDevice& each) {
      return each.provider == one.provider && each.device == one.device &&
             each.fabric == one.fabric;
    });
    if (found == devices.end()) found = devices.insert(devices.end(), std::move(one));
    if (!is_connected(info)) continue;
    if (!found->connected) add_abilities(*found, info);
    const std::string host = host_of(info);
    const bool known = std::ranges::find(found->hosts, host) != found->hosts.end();
    if (!host.empty() && !known) found->hosts.push_back(host);
  }
  return devices;
}

}  // namespace netio::detail
