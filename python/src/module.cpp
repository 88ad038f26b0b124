// The extension module: what the package netio is made of.
#include <nanobind/nanobind.h>

#include "context.hpp"
#include "errors.hpp"
#include "message.hpp"
#include "records.hpp"
#include "socket.hpp"

NB_MODULE(_netio, module) {
  namespace python = netio::python;
  // What lives at the exit of the interpreter ends with the process.
  nanobind::set_leak_warnings(false);
  module.attr("__doc__") = "The parts of netio that are written in C++.";
  module.def(
      "fabrics_built", &netio::fabrics_built,
      "Whether this build of netio has fabrics. libfabric is loaded when the first address of "
      "one is used, and need not be installed before.");
  python::bind_errors(module);
  python::bind_enums(module);
  python::bind_records(module);
  python::bind_messages(module);
  python::bind_batches(module);
  python::bind_context(module);
  python::bind_sockets(module);
}
