// See build_socket.hpp.
#include "units/build_socket.hpp"

#include <memory>
#include <utility>

#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

static constexpr Pattern readout_facts{WirePattern::readout, WirePattern::builder, true, true, 1};
static constexpr Pattern builder_facts{WirePattern::builder, WirePattern::readout, true, true,
                                       SIZE_MAX};

// The store of the unit is the copy that counts.
static SocketOptions without_resume(SocketOptions options) {
  options.mode = Mode::buffered;
  options.distribute = Distribute::in_turn;
  options.resume_bytes_max = 0;
  options.acknowledge = Acknowledge::delivered;
  return options;
}

BuildSocket::BuildSocket(std::unique_ptr<SocketCore> core)
    : Socket(std::move(core)), Sending(core_->sending), Receiving(core_->receiving) {}

ReadoutSocket::ReadoutSocket(Context& context, const SocketOptions& options)
    : BuildSocket(
          std::make_unique<SocketCore>(context.core(), without_resume(options), readout_facts)) {}

BuilderSocket::BuilderSocket(Context& context, const SocketOptions& options)
    : BuildSocket(
          std::make_unique<SocketCore>(context.core(), without_resume(options), builder_facts)) {}

}  // namespace netio::detail
