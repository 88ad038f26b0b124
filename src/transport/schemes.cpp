// The table of schemes: a transport is a row here.
#include <array>
#include <string_view>

#include "transport/transport.hpp"

namespace netio::detail {

namespace {

struct Scheme {
  std::string_view name;
  std::unique_ptr<Transport> (*make)(const TransportResources&);
};

constexpr std::array schemes{
    Scheme{"tcp", make_tcp_transport},
};

}  // namespace

std::unique_ptr<Transport> make_transport(const std::string& scheme,
                                          const TransportResources& resources) {
  for (const Scheme& each : schemes) {
    if (each.name == scheme) return each.make(resources);
  }
  return nullptr;
}

std::string known_schemes() {
  std::string names;
  for (const Scheme& each : schemes) {
    if (!names.empty()) names += ", ";
    names += each.name;
    names += "://";
  }
  return names;
}

}  // namespace netio::detail
