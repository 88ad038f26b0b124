// The error of an address that may be there later. It is part of the event-driven API in C++.
#pragma once

#include <netio/export.hpp>
#include <netio/status.hpp>

namespace netio {

// Thrown by bind() for an address that makes sense and is not there yet: the name service does not
// know the host, or no interface of this host has the address, or the folder of a path is missing.
// Nothing was done. The call may be made again, from a timer for example, until it does not throw.
class NETIO_API NotThereYet : public Error {
  using Error::Error;
};

}  // namespace netio
