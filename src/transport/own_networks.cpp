// getifaddrs, and a comparison under the mask.
#include "transport/own_networks.hpp"

#include <cstddef>
#include <cstring>
#include <ifaddrs.h>
#include <memory>
#include <netinet/in.h>
#include <optional>
#include <span>
#include <string_view>

#include "transport/internet_address.hpp"

namespace netio::detail {

namespace {

std::span<const std::byte> bytes_of(const sockaddr* address) noexcept {
  if (address == nullptr) return {};
  if (address->sa_family == AF_INET) {
    return std::as_bytes(std::span(&reinterpret_cast<const sockaddr_in*>(address)->sin_addr, 1));
  }
  if (address->sa_family == AF_INET6) {
    return std::as_bytes(std::span(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, 1));
  }
  return {};
}

// Of a link-local address; else 0.
std::uint32_t scope_of(const sockaddr* address) noexcept {
  if (address->sa_family != AF_INET6) return 0;
  return reinterpret_cast<const sockaddr_in6*>(address)->sin6_scope_id;
}

bool same(const sockaddr* one, const sockaddr* other, const sockaddr* mask) noexcept {
  const auto a = bytes_of(one);
  const auto b = bytes_of(other);
  if (a.empty() || a.size() != b.size() || scope_of(one) != scope_of(other)) return false;
  const auto m = bytes_of(mask);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::byte looked_at = i < m.size() ? m[i] : std::byte{0xff};
    if ((a[i] & looked_at) != (b[i] & looked_at)) return false;
  }
  return true;
}

std::optional<InternetAddress> number(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  auto found = look_up_number(std::string(host), 0);
  if (!found || found->addresses.empty()) return std::nullopt;
  return found->addresses.front();
}

}  // namespace

bool in_network_of(const std::vector<std::string>& own, const std::string& host) {
  const auto there = number(host);
  if (!there) return false;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return false;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(first, freeifaddrs);
  for (const std::string& each : own) {
    const auto here = number(each);
    if (!here) continue;
    for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
      if (same(one->ifa_addr, here->get(), nullptr) &&
          same(one->ifa_addr, there->get(), one->ifa_netmask)) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace netio::detail
