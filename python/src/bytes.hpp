// The bytes of a Python object, borrowed through the buffer protocol: the object cannot be resized
// or freed until they are given back. Needs the lock of the interpreter.
#pragma once

#include <cstddef>
#include <nanobind/nanobind.h>
#include <span>
#include <utility>

namespace netio::python {

namespace nb = nanobind;

// Movable; gives the buffer back when destroyed.
class Bytes {
 public:
  // Throws BufferError or TypeError, in words, for what is no buffer or not contiguous.
  explicit Bytes(nb::handle object);
  Bytes(Bytes&& other) noexcept : view_(std::exchange(other.view_, Py_buffer{})) {}
  Bytes& operator=(Bytes&& other) noexcept {
    std::swap(view_, other.view_);
    return *this;
  }
  ~Bytes() {
    if (view_.obj != nullptr) PyBuffer_Release(&view_);
  }

  [[nodiscard]] std::span<const std::byte> span() const noexcept {
    return {static_cast<const std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
};

}  // namespace netio::python
