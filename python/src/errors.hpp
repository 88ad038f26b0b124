// Exceptions of the package, which are classes in Python (netio/errors.py).
#pragma once

#include <nanobind/nanobind.h>
#include <string>

namespace netio::python {

namespace nb = nanobind;

// Throws netio.ClosedError with these parts.
[[noreturn]] void throw_closed(const char* operation, const char* cause);
// Throws netio.Error with these parts.
[[noreturn]] void throw_error(const char* operation, const std::string& cause,
                              const std::string& advice);
// Errors of the library become those of Python, and its enums are made.
void bind_errors(nb::module_& module);
void bind_enums(nb::module_& module);

}  // namespace netio::python
