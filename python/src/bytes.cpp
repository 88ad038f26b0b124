// Borrows the bytes of Python objects, and says in words why it cannot.
#include "bytes.hpp"

#include <cstring>
#include <nanobind/stl/string.h>
#include <string>

namespace netio::python {

namespace {

[[noreturn]] void refuse(nb::handle object) {
  const std::string type = nb::cast<std::string>(nb::handle(object.type()).attr("__name__"));
  if (PyUnicode_Check(object.ptr())) {
    throw nb::type_error("a message is bytes, and this is a str: send text.encode()");
  }
  if (!PyObject_CheckBuffer(object.ptr())) {
    throw nb::type_error(
        ("a message is anything with the buffer protocol, which " + type + " has not").c_str());
  }
  Py_buffer view{};
  if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_INDIRECT) != 0) throw nb::python_error();
  PyBuffer_Release(&view);
  throw nb::buffer_error(("the bytes of this " + type +
                          " are not contiguous: send a copy, such as numpy.ascontiguousarray(it)")
                             .c_str());
}

}  // namespace

Bytes::Bytes(nb::handle object) {
  // What has no format of the protocol, such as dates of NumPy, has bytes all the same.
  if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_ND | PyBUF_FORMAT) == 0) {
    if (view_.format == nullptr || std::strchr(view_.format, 'O') == nullptr) return;
    PyBuffer_Release(&view_);
    throw nb::type_error("this holds Python objects, not their bytes: give it a dtype of numbers");
  }
  PyErr_Clear();
  view_ = {};
  if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) == 0) return;
  view_ = {};
  PyErr_Clear();
  refuse(object);
}

}  // namespace netio::python
