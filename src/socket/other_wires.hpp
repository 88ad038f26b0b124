// What both sides of a netio:// address know of the wires beside tcp: their names, which of them
// the address asks for, and where this process can be reached by shared memory. Set-up only.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/url.hpp"
#include "wire/offers.hpp"

namespace netio::detail {

// The better ones first.
inline constexpr std::array other_wires{OfferedWire::shm, OfferedWire::verbs, OfferedWire::ofi_tcp};

// The scheme of its addresses: "shm".
[[nodiscard]] std::string_view scheme_of(OfferedWire wire) noexcept;
// Of the part of shared memory that was offered so: shm://offer-0123456789abcdef.
[[nodiscard]] Url shm_url(std::uint64_t name);

[[nodiscard]] inline bool is_netio(const Url& url) noexcept { return url.scheme == "netio"; }

// ?wire=best|tcp|shm|verbs|ofi+tcp of a netio:// address; without it, best.
class WireOption {
 public:
  // Throws AddressError for another value or another option. `verb`: what is done with the address.
  WireOption(const char* verb, const Url& url);

  // Whether it asks for this wire. Best does not ask for ofi+tcp, which is no better than tcp.
  [[nodiscard]] bool asks_for(OfferedWire wire) const noexcept;
  // By its own name: then it is an error if the wire cannot be had.
  [[nodiscard]] bool names(OfferedWire wire) const noexcept;
  [[nodiscard]] bool tcp_only() const noexcept { return value_ == "tcp"; }

 private:
  std::string value_;
};

// A netio:// address without its options: what its tcp link connects to, or listens at. Other
// addresses as they are.
[[nodiscard]] Url without_options_of_netio(const Url& url);

// Where this thread is. Fields that the system does not tell stay zeros.
[[nodiscard]] HostPlace place_of_this_thread();
// Why two places do not share memory: what is said of the other end. Empty if they do.
[[nodiscard]] std::string why_apart(const HostPlace& here, const HostPlace& there);

// There may be an RDMA device. Asked before libfabric is loaded, which takes its time.
[[nodiscard]] bool may_have_verbs();

}  // namespace netio::detail
