// Plain records of the library as objects of Python: books, counters, peers.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <netio/netio.hpp>

namespace netio::python {

namespace nb = nanobind;

inline double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}
void bind_records(nb::module_& module);

}  // namespace netio::python
