#include "fabrics.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "units.hpp"

namespace netio::cli {

namespace {

using nlohmann::ordered_json;

constexpr const char* install = "install libfabric-dev (1.17 or newer) and build netio again";

std::string abilities(const FabricDevice& device) {
  const std::string largest = device.message_bytes_max == UINT64_MAX
                                  ? "of any size"
                                  : "up to " + binary_bytes(device.message_bytes_max);
  return fmt::format("messages {}, injects {} B, {}, {}", largest, device.inject_bytes_max,
                     device.rma ? "RMA" : "no RMA",
                     device.registers_memory ? "registers memory" : "registers no memory");
}

std::vector<std::string> addresses_of(const FabricDevice& device) {
  std::vector<std::string> addresses;
  if (device.scheme.empty()) return addresses;
  for (const std::string& host : device.hosts) addresses.push_back(device.scheme + "://" + host);
  return addresses;
}

// Each provider of which netio can use no device, once.
std::vector<std::string> unusable(const std::vector<FabricDevice>& devices) {
  std::vector<std::string> names;
  for (const FabricDevice& one : devices) {
    const bool other_is_usable = std::ranges::any_of(devices, [&one](const FabricDevice& each) {
      return each.provider == one.provider && !each.scheme.empty();
    });
    const bool listed = std::ranges::find(names, one.provider) != names.end();
    if (!other_is_usable && !listed) names.push_back(one.provider);
  }
  return names;
}

}  // namespace

std::string Fabrics::why_not(std::string_view scheme) const {
  if (!built) return fmt::format("this build of netio has no libfabric: {}", install);
  const bool found = std::ranges::any_of(devices, [scheme](const FabricDevice& device) {
    return device.scheme.starts_with(scheme) && !device.hosts.empty();
  });
  if (found) return {};
  return "libfabric finds no device for it that has an IP address (rdma link and fi_info show what "
         "there is)";
}

Fabrics read_fabrics() { return {fabrics_built(), fabric_devices()}; }

std::vector<std::pair<std::string, std::string>> rows_of(const Fabrics& fabrics) {
  if (!fabrics.built) return {{"none", fabrics.why_not({})}};
  std::vector<std::pair<std::string, std::string>> rows;
  for (const FabricDevice& one : fabrics.devices) {
    if (one.scheme.empty()) continue;
    rows.emplace_back(one.provider,
                      fmt::format("{} on {}: {}", one.device, one.fabric, abilities(one)));
    for (const std::string& address : addresses_of(one)) rows.emplace_back("", address + ":PORT");
    if (one.hosts.empty()) rows.emplace_back("", "no IP address: netio cannot use it");
  }
  const std::vector<std::string> names = unusable(fabrics.devices);
  if (!names.empty()) {
    rows.emplace_back("not usable",
                      fmt::format("no connected endpoints with RMA, which netio needs for now: {}",
                                  fmt::join(names, ", ")));
  }
  if (rows.empty()) rows.emplace_back("none", "libfabric finds no devices");
  return rows;
}

ordered_json json_of(const Fabrics& fabrics) {
  ordered_json json = {{"built", fabrics.built},
                       {"error", nullptr},
                       {"locked_bytes_needed", fabric_locked_bytes},
                       {"devices", ordered_json::array()}};
  if (!fabrics.built) json["error"] = fabrics.why_not({});
  for (const FabricDevice& one : fabrics.devices) {
    ordered_json row = {{"provider", one.provider},
                        {"device", one.device},
                        {"fabric", one.fabric},
                        {"usable", !one.scheme.empty() && !one.hosts.empty()},
                        {"addresses", addresses_of(one)},
                        {"connected", one.connected},
                        {"rma", one.rma}};
    if (one.connected) {
      row["message_bytes_max"] = one.message_bytes_max;
      row["inject_bytes_max"] = one.inject_bytes_max;
      row["registers_memory"] = one.registers_memory;
    }
    json["devices"].push_back(std::move(row));
  }
  return json;
}

bool locks_enough(const Limits& limits) noexcept {
  return limits.locks_without_limit || !limits.locked_bytes.soft ||
         *limits.locked_bytes.soft >= fabric_locked_bytes;
}

}  // namespace netio::cli
