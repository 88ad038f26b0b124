// Marks in the world for which connection an event is.
#pragma once

#include <utility>

#include "simulation/sim_link.hpp"
#include "simulation/world.hpp"

namespace netio::test {

template <typename Event>
void SimLink::during_event(Event&& event) {
  if (world_.call != nullptr) world_.fail("an event of a link came from inside a call");
  Wire* const wire = std::exchange(world_.event_wire, wire_);
  const int side = std::exchange(world_.event_side, side_);
  event();
  world_.event_wire = wire;
  world_.event_side = side;
}

}  // namespace netio::test
