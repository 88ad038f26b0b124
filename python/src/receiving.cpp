// Awaits what comes. A Next is what `async for` awaits each time: it answers at once if something
// is here, and otherwise waits on a future of asyncio, which only says that it is worth looking.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "errors.hpp"
#include "message.hpp"
#include "options.hpp"
#include "reply.hpp"
#include "socket.hpp"
#include "units.hpp"

namespace netio::python {

namespace {

enum class What : std::uint8_t { message, batch, request, event };

// Movable; waits no more when destroyed, which may be on any thread.
class Next {
 public:
  // `iterates`: the end of the socket is the end of an iteration, and otherwise an error.
  Next(nb::object socket, What awaited, bool iterates) noexcept
      : what(awaited), ends(iterates), owner_(std::move(socket)) {}
  Next(Next&& other) noexcept = default;
  Next& operator=(Next&&) = delete;
  ~Next() { end_wait(); }

  [[nodiscard]] nb::handle owner() const noexcept { return owner_; }
  [[nodiscard]] SocketBase& socket() const { return *nb::inst_ptr<SocketBase>(owner_); }
  void begin_wait() {
    const nb::object loop = socket().context().attr("_event_loop")();
    future_ = loop.attr("create_future")();
    waiting_ = future_.attr("__await__")();
    socket().waiters(Kind::readable)->add(future_);
  }
  // The iterator of the future that is waited for; null if none is.
  [[nodiscard]] PyObject* waiting() const noexcept { return waiting_.ptr(); }
  void end_wait() noexcept {
    if (!future_.is_valid()) return;
    if (Waiters* const waiters = socket().waiters(Kind::readable)) waiters->remove(future_);
    waiting_.reset();
    future_.reset();
  }

  const What what;
  const bool ends;

 private:
  nb::object owner_;
  nb::object future_{};
  nb::object waiting_{};
};

nb::object take(const nb::handle& owner, SocketState& state, What what) {
  if (what == What::request) return take_request(owner, state);
  if (what == What::event) return take_event(state);
  if (what == What::batch) {
    ReceivedBatch received = state.inbox.take_batch();
    return received.batch ? batch_object(std::move(received)) : nb::object();
  }
  std::uint64_t sender = 0;
  Message message = state.inbox.take_message(sender);
  return message ? message_object(std::move(message), sender) : nb::object();
}

// Sets the exception for the end of the socket.
void set_end(const Next& next) {
  if (next.ends) {
    PyErr_SetNone(PyExc_StopAsyncIteration);
  } else {
    try {
      throw_closed("receive", "the socket is closed");
    } catch (nb::python_error& error) {
      error.restore();
    }
  }
}

PySendResult send(PyObject* self, PyObject* value, PyObject** result) noexcept {
  Next& next = *nb::inst_ptr<Next>(self);
  *result = nullptr;
  try {
    while (true) {
      if (next.waiting() != nullptr) {
        const PySendResult answer = PyIter_Send(next.waiting(), value, result);
        if (answer == PYGEN_NEXT) return answer;
        next.end_wait();
        if (answer == PYGEN_ERROR) return answer;
        Py_CLEAR(*result);
        value = Py_None;
      }
      SocketState& state = next.socket().state("receive");
      if (nb::object taken = take(next.owner(), state, next.what); taken.is_valid()) {
        *result = taken.release().ptr();
        return PYGEN_RETURN;
      }
      if (state.ended()) {
        set_end(next);
        return PYGEN_ERROR;
      }
      if (state.inbox.streams() && !state.context().asyncio_loop.is_none() &&
          state.context().turn_in_task() && (!state.inbox.empty() || state.ended())) {
        continue;
      }
      next.begin_wait();
    }
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return PYGEN_ERROR;
}

PyObject* iter_next(PyObject* self) noexcept {
  PyObject* result = nullptr;
  const PySendResult answer = send(self, Py_None, &result);
  if (answer != PYGEN_RETURN) return result;
  PyObject* const stop = PyObject_CallOneArg(PyExc_StopIteration, result);
  Py_DECREF(result);
  if (stop != nullptr) {
    PyErr_SetObject(PyExc_StopIteration, stop);
    Py_DECREF(stop);
  }
  return nullptr;
}

PyObject* itself(PyObject* self) noexcept { return Py_NewRef(self); }

const PyType_Slot slots[] = {
    {Py_am_await, reinterpret_cast<void*>(itself)},
    {Py_am_send, reinterpret_cast<void*>(send)},
    {Py_tp_iter, reinterpret_cast<void*>(itself)},
    {Py_tp_iternext, reinterpret_cast<void*>(iter_next)},
    {0, nullptr},
};

// Iterates: of a socket over messages or batches.
struct Stream {
  nb::object owner;
  What what;
};

nb::object next_of(nb::handle owner, What what, bool ends) {
  return nb::cast(Next(nb::borrow(owner), what, ends));
}

// Blocks for at most the time limit: none when that is over.
nb::object receive(nb::handle self, What what, double timeout_s) {
  SocketBase& socket = *nb::inst_ptr<SocketBase>(self);
  SocketState& state = socket.state("receive");
  nb::object taken = take(self, state, what);
  if (taken.is_valid()) return taken;
  socket.context_state().turn_until(duration(timeout_s), [&] {
    // What came in the turn that ended the socket is given first.
    if (state.take(Kind::readable)) taken = take(self, state, what);
    return taken.is_valid() || state.ended();
  });
  if (taken.is_valid()) return taken;
  if (state.ended()) {
    throw_closed("receive", "the socket is closed");
  }
  return nb::none();
}

struct Names {
  const char* next;
  const char* receive;
  const char* try_receive;
};

void bind_taking(nb::class_<SocketBase>& type, What what, const Names& names) {
  type.def(names.next, [what](nb::handle self) { return next_of(self, what, false); })
      .def(names.receive,
           [what](nb::handle self, double timeout) { return receive(self, what, timeout); })
      .def(names.try_receive, [what](nb::handle self) {
        nb::object taken = take(self, nb::inst_ptr<SocketBase>(self)->state("receive"), what);
        return taken.is_valid() ? taken : nb::none();
      });
}

}  // namespace

void bind_receiving(nb::module_& module, nb::class_<SocketBase>& type) {
  nb::class_<Next>(module, "_Next", nb::type_slots(slots), nb::pooled(64));
  nb::class_<Stream>(module, "_Batches", "Batches of a socket, for `async for`.")
      .def("__aiter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__anext__", [](Stream& self) { return next_of(self.owner, self.what, true); });
  type.def("_anext", [](nb::handle self) { return next_of(self, What::message, true); })
      .def("_anext_request", [](nb::handle self) { return next_of(self, What::request, true); })
      .def("_anext_event", [](nb::handle self) { return next_of(self, What::event, true); })
      .def("_batches",
           [](nb::handle self) {
             return Stream{nb::borrow(self), What::batch};
           })
      .def("_pause",
           [](SocketBase& self, bool paused) {
             if (SocketState* const open = self.open_state("pause")) open->pause(paused);
           })
      .def("_pause_peer",
           [](SocketBase& self, nb::handle id, bool paused) {
             const std::uint64_t peer = peer_of(id);
             SocketState* const open = self.open_state("pause a peer");
             return open != nullptr ? open->pause_peer(peer, paused) : Status::closed;
           })
      .def("_paused", [](SocketBase& self) { return self.state("look").inbox.paused(); });
  bind_taking(type, What::message, {"_next_message", "_receive", "_try_receive"});
  bind_taking(type, What::batch, {"_next_batch", "_receive_batch", "_try_receive_batch"});
  bind_taking(type, What::event, {"_next_built", "_receive_built", "_try_receive_built"});
  bind_taking(type, What::request, {"_next_request", "_receive_request", "_try_receive_request"});
}

}  // namespace netio::python
