// Options of contexts and sockets as keyword arguments, named as in C++; a time is a number of
// seconds, and its name ends in _s.
#pragma once

#include <chrono>
#include <cstdint>
#include <nanobind/nanobind.h>

#include <netio/builder_unit.hpp>
#include <netio/context.hpp>
#include <netio/event_manager.hpp>
#include <netio/options.hpp>
#include <netio/readout_unit.hpp>
#include <netio/reply.hpp>
#include <netio/request.hpp>
#include <netio/subscription.hpp>

namespace netio::python {

namespace nb = nanobind;

// Throws ValueError for what is no time. A negative one is for ever.
std::chrono::nanoseconds duration(double seconds);
// Numbers of 64 bits. Throw TypeError or ValueError, in words.
std::uint64_t tag_of(nb::handle given);
std::uint64_t peer_of(nb::handle given);

// All that a socket may have; each pattern takes some of them.
struct AllOptions {
  SocketOptions socket{};
  PublishOptions publish{};
  SubscribeOptions subscribe{};
  RequestOptions request{};
  ReplyOptions reply{};
  BuildPlan plan{};  // of the next three
  ReadoutOptions readout{};
  BuilderOptions builder{};
  ManagerOptions manager{};
};

// Throw TypeError for a name that is no option, or a value of another type.
ContextOptions context_options(const nb::kwargs& given);
// `pattern`: whose options are allowed beside those of every socket.
AllOptions socket_options(const nb::kwargs& given, std::string_view pattern);

}  // namespace netio::python
