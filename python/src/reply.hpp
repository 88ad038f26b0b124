// The right to answer a request, as an object of Python.
#pragma once

#include <nanobind/nanobind.h>

#include <netio/reply.hpp>

#include "socket.hpp"

namespace netio::python {

// Its destruction without an answer tells the requester so, on any thread.
struct ReplyToBase {
  ReplyTo to;
  nb::object owner;  // the socket
};

// The next request and the right to answer it, as a tuple; null if there is none.
nb::object take_request(const nb::handle& owner, SocketState& state);
void bind_replies(nb::module_& module, nb::class_<SocketBase>& type);

}  // namespace netio::python
