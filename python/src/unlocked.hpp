// Gives up the lock of the interpreter for as long as it lives.
#pragma once

#include <Python.h>
#include <unistd.h>

namespace netio::python {

// While the interpreter ends, Python up to 3.13 ends a daemon thread where it takes the lock again,
// by unwinding its stack, which C++ takes for an error. Such a thread sleeps here instead until the
// process ends, as Python 3.14 does it.
class Unlocked {
 public:
  Unlocked() noexcept : state_(PyEval_SaveThread()) {}
  ~Unlocked() {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {
      while (true) ::pause();
    }
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace netio::python
