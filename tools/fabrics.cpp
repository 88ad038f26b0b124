#include "fabrics.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <netio/status.hpp>

#include "units.hpp"

namespace netio::cli {

namespace {

using nlohmann::ordered_json;

constexpr const char* install = "install libfabric-dev (1.17 or newer) and build netio again";

std::string abilities(const FabricDevice& device) {
  // Some providers say 2^64 less a header.
  constexpr std::uint64_t any_size = std::uint64_t{1} << 62U;
  const std::string largest = device.message_bytes_max >= any_size
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

std::string why_unusable(const FabricDevice& device) {
  if (device.provider == "shm") {
    return "libfabric's own shared memory, not netio's shm://, which needs none of it";
  }
  if (!device.connected) return "no connected endpoints: netio cannot use it yet";
  return device.rma ? "does not work with netio" : "no RMA: netio cannot use it";
}

using Rows = std::vector<std::pair<std::string, std::string>>;

// Devices of one provider that differ in nothing but their fabric follow each other.
void add_usable(const std::vector<FabricDevice>& devices, Rows& rows) {
  std::string heading;
  for (const FabricDevice& one : devices) {
    if (one.scheme.empty()) continue;
    const std::string name = one.provider + " " + one.device;
    if (const std::string able = abilities(one); name + able != heading) {
      rows.emplace_back(name, able);
      heading = name + able;
    }
    std::string line;
    for (const std::string& address : addresses_of(one)) line += address + ":PORT  ";
    if (line.empty()) line = "no IP address, which netio needs, ";
    rows.emplace_back("", line + "on " + one.fabric);
  }
}

// Each provider of which netio can use no device, once.
void add_unusable(const std::vector<FabricDevice>& devices, Rows& rows) {
  std::vector<std::string> known;
  for (const FabricDevice& one : devices) {
    if (!one.scheme.empty()) known.push_back(one.provider);
  }
  for (const FabricDevice& one : devices) {
    if (std::ranges::find(known, one.provider) != known.end()) continue;
    known.push_back(one.provider);
    rows.emplace_back(one.provider, why_unusable(one));
  }
}

}  // namespace

std::string Fabrics::why_not(std::string_view scheme) const {
  if (!missing.empty()) return missing;
  const bool found = std::ranges::any_of(devices, [scheme](const FabricDevice& device) {
    return device.scheme.starts_with(scheme) && !device.hosts.empty();
  });
  if (found) return {};
  return "libfabric finds no device for it that has an IP address (rdma link shows what there "
         "is)";
}

Fabrics read_fabrics() {
  if (!fabrics_built()) {
    return {fmt::format("this build of netio has no libfabric: {}", install), {}};
  }
  try {
    return {{}, fabric_devices()};
  } catch (const Error& error) {
    return {error.what(), {}};
  }
}

std::vector<std::pair<std::string, std::string>> rows_of(const Fabrics& fabrics) {
  if (!fabrics.missing.empty()) return {{"none", fabrics.missing}};
  Rows rows;
  add_usable(fabrics.devices, rows);
  add_unusable(fabrics.devices, rows);
  if (rows.empty()) rows.emplace_back("none", "libfabric finds no devices");
  return rows;
}

ordered_json json_of(const Fabrics& fabrics) {
  ordered_json json = {{"built", fabrics_built()},
                       {"error", nullptr},
                       {"locked_bytes_needed", fabric_locked_bytes},
                       {"devices", ordered_json::array()}};
  if (!fabrics.missing.empty()) json["error"] = fabrics.missing;
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
