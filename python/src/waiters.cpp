// Wakes those who await.
#include "waiters.hpp"

namespace netio::python {

void Waiters::wake() noexcept {
  if (futures_.empty()) return;
  for (const nb::object& future : std::exchange(futures_, {})) {
    settle(future, "set_result", [] { return nb::none(); });
  }
}

}  // namespace netio::python
