// See units.hpp.
#include "c_api/units.hpp"

#include "c_api/socket.hpp"

namespace netio::c_api {

BuildPlan from_c(const netio_build_plan& plan) noexcept {
  return {plan.sources, plan.builders, plan.range_events, plan.managed != 0};
}

netio_build_plan to_c(const BuildPlan& plan) noexcept {
  return {plan.sources, plan.builders, plan.range_events, plan.managed ? 1 : 0, 0};
}

SocketOptions unit_socket_options(const netio_socket_options* options) {
  return socket_options(checked(options), Mode::buffered);
}

extern "C" NETIO_API netio_event_id netio_end_of_run(uint64_t run) { return to_c(end_of_run(run)); }

}  // namespace netio::c_api
