// Conversions between names, numbers and sockaddrs, by getaddrinfo and getnameinfo.
#include "transport/internet_address.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <string_view>
#include <utility>

namespace netio::detail {

namespace {

int ask(const std::string& host, std::uint16_t port, int flags, LookUp& result) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  const auto free = [](addrinfo* list) { freeaddrinfo(list); };
  const std::unique_ptr<addrinfo, decltype(free)> list(found, free);
  if (error != 0) return error;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    result.addresses.emplace_back(each->ai_addr, each->ai_addrlen);
  }
  return result.addresses.empty() ? EAI_NONAME : 0;
}

// RFC 6761, 6.4: names under ".invalid" never exist, and need not be asked for.
bool never_exists(const std::string& host) {
  constexpr std::string_view suffix = ".invalid";
  return host == "invalid" || std::string_view(host).ends_with(suffix);
}

Down failure_of(const std::string& host, int error) {
  if (error == EAI_SYSTEM || error == EAI_MEMORY) {
    return {DownReason::resources, "cannot look up '" + host + "': " + gai_strerror(error)};
  }
  if (error == EAI_AGAIN) {
    return {DownReason::name_temporary, "the name service did not answer for '" + host +
                                            "'; check /etc/resolv.conf or give a "
                                            "numeric address"};
  }
  const std::size_t percent = host.find('%');
  if (host.find(':') < percent && percent != host.npos) {
    return {DownReason::name_unknown, "this host has no interface '" + host.substr(percent + 1) +
                                          "', which '" + host + "' names (ip link shows them)"};
  }
  return {DownReason::name_unknown, "there is no host named '" + host + "'"};
}

using AddressOf = int (*)(int, sockaddr*, socklen_t*);
InternetAddress address_of(int fd, AddressOf ask_kernel) {
  InternetAddress address;
  address.bytes = sizeof address.storage;
  if (ask_kernel(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.bytes) != 0) {
    address.bytes = 0;
  }
  return address;
}

}  // namespace

InternetAddress::InternetAddress(const void* address, std::size_t address_bytes) noexcept {
  if (address == nullptr || address_bytes > sizeof storage) return;
  std::memcpy(&storage, address, address_bytes);
  bytes = static_cast<socklen_t>(address_bytes);
}

std::string host_number(const InternetAddress& address) {
  std::array<char, NI_MAXHOST> host{};
  if (address.bytes == 0 || getnameinfo(address.get(), address.bytes, host.data(), host.size(),
                                        nullptr, 0, NI_NUMERICHOST) != 0) {
    return {};
  }
  constexpr std::string_view mapped = "::ffff:";  // IPv4, at a socket for both families
  const std::string_view number = host.data();
  const bool is_mapped = number.starts_with(mapped) && number.find('.') != number.npos;
  return std::string(number.substr(is_mapped ? mapped.size() : 0));
}

std::string to_string(const InternetAddress& address) {
  const std::string host = host_number(address);
  if (host.empty()) return "(unknown address)";
  // The port has the same place in both families.
  const auto port = reinterpret_cast<const sockaddr_in*>(address.get())->sin_port;
  return (host.find(':') != host.npos ? "[" + host + "]" : host) + ":" +
         std::to_string(ntohs(port));
}

InternetAddress local_address(int fd) { return address_of(fd, getsockname); }
InternetAddress remote_address(int fd) { return address_of(fd, getpeername); }

std::optional<LookUp> look_up_number(const std::string& host, std::uint16_t port) {
  LookUp result;
  if (ask(host, port, AI_NUMERICHOST, result) != 0) return std::nullopt;
  return result;
}

LookUp look_up(const std::string& host, std::uint16_t port) {
  auto number = look_up_number(host, port);
  return number ? std::move(*number) : look_up_name(host, port);
}

LookUp look_up_name(const std::string& host, std::uint16_t port) {
  LookUp result;
  const int error = never_exists(host) ? EAI_NONAME : ask(host, port, 0, result);
  if (error != 0) result.failure = failure_of(host, error);
  return result;
}

Down name_service_late(const std::string& peer_address) {
  return {DownReason::name_temporary,
          "the name service did not find the host of " + peer_address +
              " in time: see /etc/resolv.conf, or use the host's number"};
}

}  // namespace netio::detail
