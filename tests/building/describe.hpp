// Messages of event building in words, for a trace.
#pragma once

#include <string>

#include "building/network.hpp"

namespace netio::test {

[[nodiscard]] std::string describe(const OnWire& what);

}  // namespace netio::test
