// /proc/net/tcp: "sl local_address rem_address st ...", addresses as HEX:PORT, 0A for a listener.
#include "transport/port_use.hpp"

#include <array>
#include <cstdio>
#include <fstream>
#include <string_view>

namespace netio::detail {

namespace {

struct PortUse {
  bool listens = false;    // a program
  bool connected = false;  // or about to be, or was until a minute ago
};

void look_in(const char* path, std::string_view port, PortUse& use) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::array<char, 40> at{};
    std::array<char, 3> what{};
    if (std::sscanf(line.c_str(), " %*d: %39s %*s %2s", at.data(), what.data()) != 2) continue;
    if (!std::string_view(at.data()).ends_with(port)) continue;
    (std::string_view(what.data()) == "0A" ? use.listens : use.connected) = true;
  }
}

}  // namespace

std::string advice_for_port_in_use(std::uint16_t port) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), ":%04X", port);
  PortUse use;
  look_in("/proc/net/tcp", text.data(), use);
  look_in("/proc/net/tcp6", text.data(), use);
  const std::string decimal = std::to_string(port);
  if (!use.listens && use.connected) {
    return "no program listens there, but an outgoing connection has that port (ss -tanp 'sport = "
           ":" +
           decimal +
           "' shows it): choose a port outside the range of outgoing connections (sysctl "
           "net.ipv4.ip_local_port_range), or keep it free with sysctl -w "
           "net.ipv4.ip_local_reserved_ports=" +
           decimal;
  }
  return "another program listens there (ss -ltnp 'sport = :" + decimal +
         "' shows which); stop it, or bind port 0 for any free one";
}

}  // namespace netio::detail
