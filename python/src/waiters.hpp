// Futures of asyncio that wait for something to happen at a socket. Needs the lock of the
// interpreter for everything. A future says only that it is worth looking again: what came lies in
// the socket, so an await that is cancelled loses nothing.
#pragma once

#include <algorithm>
#include <nanobind/nanobind.h>
#include <utility>
#include <vector>

namespace netio::python {

namespace nb = nanobind;

// Calls set_result or set_exception of a future with what `value` makes, unless it is done. One
// that cannot be woken, because its event loop is closed, keeps nobody else from being told.
template <class Value>
void settle(nb::handle future, const char* how, Value&& value) noexcept {
  try {
    if (!nb::cast<bool>(future.attr("done")())) future.attr(how)(value());
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("netio: a future could not be woken");
  }
}

class Waiters {
 public:
  void add(nb::object future) { futures_.push_back(std::move(future)); }
  void remove(nb::handle future) {
    const auto found = std::find_if(futures_.begin(), futures_.end(),
                                    [&](const nb::object& other) { return other.is(future); });
    if (found != futures_.end()) futures_.erase(found);
  }
  [[nodiscard]] std::size_t size() const noexcept { return futures_.size(); }
  [[nodiscard]] bool empty() const noexcept { return futures_.empty(); }
  // Wakes all of them. A future whose event loop is closed is left alone.
  void wake() noexcept;

 private:
  std::vector<nb::object> futures_;
};

}  // namespace netio::python
