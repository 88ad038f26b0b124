// Messages of event building in words, for a trace.
#pragma once

#include <string>

#include "building/manager_wires.hpp"
#include "building/network.hpp"

namespace netio::test {

[[nodiscard]] std::string describe(const OnWire& what);
[[nodiscard]] std::string describe(const WithManager& what);

}  // namespace netio::test
