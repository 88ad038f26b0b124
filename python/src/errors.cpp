// Turns errors of the library into exceptions of the package.
#include "errors.hpp"

#include <exception>
#include <nanobind/stl/string.h>

#include <netio/not_there_yet.hpp>
#include <netio/status.hpp>

namespace netio::python {

namespace {

void set_error(const char* name, const std::string& operation, const std::string& cause,
               const std::string& advice) {
  try {
    const nb::object type = nb::module_::import_("netio.errors").attr(name);
    PyErr_SetObject(type.ptr(), type(operation, cause, advice).ptr());
  } catch (nb::python_error& error) {
    error.restore();
  }
}

}  // namespace

void throw_closed(const char* operation, const char* cause) {
  set_error("ClosedError", operation, cause, "");
  throw nb::python_error();
}

void throw_error(const char* operation, const std::string& cause, const std::string& advice) {
  set_error("Error", operation, cause, advice);
  throw nb::python_error();
}

void bind_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const AddressError& error) {
      set_error("AddressError", error.operation(), error.cause(), error.advice());
    } catch (const NotThereYet& error) {
      set_error("NotThereYet", error.operation(), error.cause(), error.advice());
    } catch (const Error& error) {
      set_error("Error", error.operation(), error.cause(), error.advice());
    }
  });
}

}  // namespace netio::python
