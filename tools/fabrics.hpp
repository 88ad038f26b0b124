// The RDMA fabrics of this machine, as `netio info` shows them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <netio/fabrics.hpp>

#include "limits.hpp"

namespace netio::cli {

struct Fabrics {
  std::string missing;  // why there is no libfabric; empty: there is
  std::vector<FabricDevice> devices;

  // Why addresses of a scheme that begins so cannot be used here; empty: they can.
  [[nodiscard]] std::string why_not(std::string_view scheme) const;
};

[[nodiscard]] Fabrics read_fabrics();

// Names and values, in the order to show them. A value that goes on has an empty name.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> rows_of(const Fabrics& fabrics);
[[nodiscard]] nlohmann::ordered_json json_of(const Fabrics& fabrics);

// What a context with default options locks on a device that registers memory: 32 MiB of pages to
// send and 32 MiB to receive into, headers and queues; and a few large messages on their way.
inline constexpr std::uint64_t fabric_locked_bytes = std::uint64_t{80} << 20U;
[[nodiscard]] bool locks_enough(const Limits& limits) noexcept;

}  // namespace netio::cli
