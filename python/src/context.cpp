// The loop turns without the lock of the interpreter, and tells afterwards.
#include "context.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "errors.hpp"
#include "options.hpp"
#include "socket.hpp"
#include "unlocked.hpp"

namespace netio::python {

ContextState::ContextState(const ContextOptions& options)
    : context_(std::make_unique<Context>(options)) {}

ContextState::~ContextState() {
  if (context_ == nullptr) return;
  if (!turned_here()) {
    const nb::error_scope pending;  // this may run while an exception unwinds
    PyErr_WarnEx(PyExc_ResourceWarning,
                 "a netio.Context was let go of on another thread than its own, and its memory "
                 "stays taken: close it, or use it in a with statement",
                 1);
    PyErr_Clear();
    (void)context_.release();
    for (auto& socket : grave_) (void)socket.release();
    for (auto& socket : leaving_) (void)socket.release();
    return;
  }
  std::exchange(grave_, {}).clear();
  std::exchange(leaving_, {}).clear();
}

Context& ContextState::use(const char* operation) {
  if (context_ == nullptr) throw_closed(operation, "the context is closed");
  const Loop& loop = context_->loop();
  if (loop.copied_by_fork()) {
    throw_error(operation, "this process was forked after its context was made",
                "make the context in the child, or start the child with the method spawn");
  }
  if (!turned_here()) {
    throw_error(operation, "the context belongs to another thread",
                "use a context of its own in each thread");
  }
  return *context_;
}

Context* ContextState::usable() const noexcept {
  if (context_ == nullptr || context_->loop().copied_by_fork()) return nullptr;
  return turned_here() ? context_.get() : nullptr;
}

bool ContextState::turn(std::chrono::nanoseconds timeout) {
  Loop& loop = use("run the loop").loop();
  turned_by_ = std::this_thread::get_id();
  bool worked = false;
  {
    const Unlocked unlocked;
    worked = loop.run_once(timeout);
  }
  tell_all();
  return worked;
}

void ContextState::refuse_to_block() {
  use("wait");
  if (asyncio_loop.is_none() || !nb::cast<bool>(asyncio_loop.attr("is_running")())) return;
  throw_error("wait", "asyncio runs the loop of this context",
              "use the sockets of netio.blocking in a context of their own");
}

bool ContextState::turn_in_task() {
  if (turns_in_task_ >= turns_in_task_max) return false;
  ++turns_in_task_;
  try {
    turn(std::chrono::nanoseconds(0));
  } catch (nb::python_error& error) {  // of a call-back, which is not the task's
    nb::dict told;
    told["message"] = "exception in a call-back of netio";
    told["exception"] = nb::borrow(error.value());
    asyncio_loop.attr("call_exception_handler")(told);
  }
  return true;
}

bool ContextState::turn_until_work(std::chrono::nanoseconds timeout) {
  refuse_to_block();
  const std::chrono::nanoseconds begin = now();
  bool worked = false;
  do {
    worked = turn(slice(timeout, begin));
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  } while (!worked && (timeout.count() < 0 || now() - begin < timeout));
  return worked;
}

std::chrono::nanoseconds ContextState::slice(std::chrono::nanoseconds timeout,
                                             std::chrono::nanoseconds begin) noexcept {
  if (timeout.count() < 0) return sleep_max;
  return std::clamp(timeout - (now() - begin), std::chrono::nanoseconds(0), sleep_max);
}

void ContextState::close(std::chrono::nanoseconds linger) {
  closing_told_ = false;
  use("close the context").close(linger, [this] { closed_ = true; });
}

void ContextState::destroy() {
  use("destroy the context");
  empty_grave();
  telling_.clear();
  {
    const Walk walk(walks_);  // none of these goes, though some may be added
    for (std::size_t i = 0; i < sockets_.size(); ++i) sockets_[i]->end();
    context_.reset();
    closed_ = true;
    closing.wake();
    for (std::size_t i = 0; i < sockets_.size(); ++i) sockets_[i]->wake_all();
  }
  empty_grave();
}

void ContextState::remove(SocketState& socket) noexcept {
  std::erase(sockets_, &socket);
  std::erase(telling_, &socket);
}

void ContextState::post(std::function<void()> work) noexcept {
  if (context_ == nullptr || context_->loop().copied_by_fork()) return;
  try {
    context_->loop().post(std::move(work));
  } catch (const std::exception&) {  // there is no memory: the next turn will do
  }
}

void ContextState::bury(std::unique_ptr<SocketState> socket) noexcept {
  if (walks_ != 0 || (context_ != nullptr && !turned_here())) {
    {
      const std::scoped_lock lock(grave_lock_);
      grave_.push_back(std::move(socket));
    }
    post([] {});
  } else {
    leave(std::move(socket));
  }
}

void ContextState::empty_grave() noexcept {
  if (walks_ != 0) return;
  std::vector<std::unique_ptr<SocketState>> buried;
  {
    const std::scoped_lock lock(grave_lock_);
    buried.swap(grave_);
  }
  for (auto& socket : buried) leave(std::move(socket));
  // What goes may run code of Python, which may let go of more.
  const auto ended = std::partition(leaving_.begin(), leaving_.end(),
                                    [](const auto& socket) { return !socket->ended(); });
  const std::vector gone(std::make_move_iterator(ended), std::make_move_iterator(leaving_.end()));
  leaving_.erase(ended, leaving_.end());
}

void ContextState::leave(std::unique_ptr<SocketState> socket) noexcept {
  if (usable() == nullptr || socket->ended()) return;  // it is destroyed
  socket->keeps_events = false;
  try {
    if (!std::exchange(socket->closing, true)) socket->close(linger_let_go);
    leaving_.push_back(std::move(socket));
  } catch (const std::exception&) {  // there is no memory
  }
}

void ContextState::tell_all() {
  if (closed_ && !closing_told_) {
    closing_told_ = true;
    closing.wake();
  }
  if (telling_.empty()) {
    if (!grave_.empty()) empty_grave();
    return;
  }
  // What is told runs code of Python, which may let go of sockets.
  std::vector<nb::object> selves;
  {
    const Walk walk(walks_);
    for (SocketState* const socket : std::exchange(telling_, {})) {
      if (nb::object self = socket->tell(); self.is_valid()) selves.push_back(std::move(self));
    }
  }
  empty_grave();
  std::optional<nb::python_error> failed;  // the first; the others are told by sys.unraisablehook
  for (const nb::object& self : selves) {
    try {
      self.attr("_call_back")();
    } catch (nb::python_error& error) {
      if (failed) {
        error.discard_as_unraisable(self);
      } else {
        failed.emplace(std::move(error));
      }
    }
  }
  if (failed) throw std::move(*failed);
}

namespace {

double limit(nb::handle seconds) { return seconds.is_none() ? -1.0 : nb::cast<double>(seconds); }

void bind_loop(nb::class_<ContextState>& type) {
  type.def(
          "_turn",
          [](ContextState& self) {
            self.event_loop_is_here();
            self.turn(std::chrono::nanoseconds(0));
          },
          "Does what is ready, and never waits: for an event loop that watches fileno().")
      .def(
          "run_once",
          [](ContextState& self, nb::object timeout) {
            return self.turn_until_work(duration(limit(timeout)));
          },
          nb::arg("timeout").none() = nb::float_(0.0),
          "Turns the loop until it has done something, at most `timeout` seconds (None: for ever). "
          "Returns whether it has.")
      .def(
          "fileno", [](ContextState& self) { return self.use("watch the loop").loop().fd(); },
          "A descriptor that is readable whenever the loop has something to do.");
}

}  // namespace

void bind_context(nb::module_& module) {
  nb::class_<ContextState> type(module, "ContextBase", nb::is_weak_referenceable());
  type.def(
      "__init__",
      [](ContextState* self, nb::kwargs options) {
        new (self) ContextState(context_options(options));
      },
      "The options are those of ContextOptions in C++.");
  bind_loop(type);
  type.def("_begin_close",
           [](ContextState& self, double linger_s) { self.close(duration(linger_s)); })
      .def("_wait_closed",
           [](ContextState& self, double timeout_s) {
             return self.turn_until(duration(timeout_s), [&] { return self.closed(); });
           })
      .def("_turn_until",
           [](ContextState& self, nb::callable done, double timeout_s) {
             return self.turn_until(duration(timeout_s), [&] { return nb::cast<bool>(done()); });
           })
      .def("_destroy", &ContextState::destroy)
      .def_prop_ro("_closing_done", &ContextState::closed)
      .def_prop_ro("closed", &ContextState::destroyed, "Whether the context was closed.")
      .def_rw("_asyncio_loop", &ContextState::asyncio_loop, nb::for_setter(nb::arg("loop").none()))
      .def("_add_waiter", [](ContextState& self, nb::object f) { self.closing.add(std::move(f)); })
      .def("_remove_waiter", [](ContextState& self, nb::handle f) { self.closing.remove(f); })
      .def("__reduce__", [](nb::handle) -> nb::object {
        throw nb::type_error("a context cannot be pickled: make one in each process");
      });
}

}  // namespace netio::python
