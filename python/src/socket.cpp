// What sockets of all patterns have in common.
#include "socket.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "errors.hpp"
#include "options.hpp"
#include "reply.hpp"
#include "request.hpp"
#include "state_of.hpp"
#include "units.hpp"

namespace netio::python {

void SocketState::happened(Kind kind) noexcept {
  happened_ |= bit(kind);
  untold_ |= bit(kind);
  if (std::exchange(telling_, true)) return;
  context_.tell(*this);
}

void SocketState::tell_again() {
  if (!std::exchange(telling_, true)) context_.tell(*this);
  context_.post([] {});
}

void SocketState::record(Event event) noexcept {
  if (!keeps_events) return;
  events.push_back(std::move(event));
  if (events.size() > events_max) events.pop_front();
  happened(Kind::event);
}

void SocketState::failed(std::string_view why, std::string_view at) noexcept {
  try {
    last_failure = why;
    failed_at_ = at;
  } catch (const std::bad_alloc&) {
    last_failure.clear();
  }
}

nb::object SocketState::tell() {
  telling_ = false;
  const unsigned happened = std::exchange(untold_, 0);
  for (std::size_t i = 0; i < waiters.size(); ++i) {
    if ((happened & bit(static_cast<Kind>(i))) != 0) waiters[i].wake();
  }
  for (const std::uint64_t token : std::exchange(released, {})) {
    end_loan(nb::cast(token));
  }
  tell_more();
  if (!called_back.is_valid()) return {};
  nb::object self = called_back();
  return self.is_none() ? nb::object() : self;  // none: let go of, and about to be buried
}

void SocketState::end_loan(nb::handle token) {
  if (!loans.contains(token)) return;
  const nb::object future = nb::cast<nb::tuple>(loans[token])[1];
  nb::del(loans[token]);
  if (!future.is_none()) settle(future, "set_result", [] { return nb::none(); });
}

void SocketState::end_loans() {
  for (nb::handle token : loans.keys()) end_loan(token);
}

void SocketState::wake_all() noexcept {
  for (Waiters& each : waiters) each.wake();
}

SocketBase::~SocketBase() {
  if (!state_) return;
  // Loans are held until the socket no longer sends from them; events are the owner thread's.
  state_->waiters = {};
  state_->let_go();
  state_of_->bury(std::move(state_));
}

SocketState& SocketBase::state(const char* operation) {
  if (!state_) throw_closed(operation, "the socket was not made");
  if (!state_of_->destroyed()) state_of_->use(operation);
  return *state_;
}

Socket& SocketBase::socket(const char* operation) {
  Socket* const socket = state(operation).socket();
  if (socket == nullptr && state(operation).alive()) {
    throw_error(operation, "this is a part of event building, which tells that in its own way",
                "see its books() and events()");
  }
  if (socket == nullptr) throw_closed(operation, "the socket is closed");
  return *socket;
}

SocketState* SocketBase::open_state(const char* operation) {
  SocketState& found = state(operation);
  return found.alive() ? &found : nullptr;
}

namespace {

template <class S>
std::unique_ptr<SocketState> made(ContextState& context, const AllOptions& options) {
  Context& in = context.use("make a socket");
  if constexpr (std::is_same_v<S, Publish>) {
    return std::make_unique<StateOf<S>>(context, in, options.publish, options.socket);
  } else if constexpr (std::is_same_v<S, Subscribe>) {
    return std::make_unique<StateOf<S>>(context, in, options.subscribe, options.socket);
  } else if constexpr (std::is_same_v<S, Request>) {
    return std::make_unique<RequestState>(context, in, options.request, options.socket);
  } else if constexpr (std::is_same_v<S, Reply>) {
    return std::make_unique<ReplyState>(context, in, options.reply, options.socket);
  } else {
    return std::make_unique<StateOf<S>>(context, in, options.socket);
  }
}

std::unique_ptr<SocketState> made(std::string_view pattern, ContextState& context,
                                  const AllOptions& options) {
  if (pattern == "push") return made<Push>(context, options);
  if (pattern == "pull") return made<Pull>(context, options);
  if (pattern == "pair") return made<Pair>(context, options);
  if (pattern == "publish") return made<Publish>(context, options);
  if (pattern == "subscribe") return made<Subscribe>(context, options);
  if (pattern == "request") return made<Request>(context, options);
  if (pattern == "reply") return made<Reply>(context, options);
  if (pattern == "readout") return made_readout(context, options);
  if (pattern == "builder") return made_builder(context, options);
  if (pattern == "manager") return made_manager(context, options);
  throw nb::value_error("there is no such pattern");
}

bool has_ended(SocketBase& self) { return self.state("look at a socket").ended(); }

void bind_addresses(nb::class_<SocketBase>& type) {
  type.def(
          "bind",
          [](SocketBase& self, std::string_view address) {
            return self.socket("bind").bind(address);
          },
          nb::arg("address"),
          "Listens at `address`, such as tcp://*:0, shm://name or netio://*:5555. Returns the "
          "address with the real port or name.")
      .def(
          "connect",
          [](SocketBase& self, std::string_view address) {
            self.socket("connect").connect(address);
          },
          nb::arg("address"), "Begins to connect to `address`; the peer need not exist yet.")
      .def(
          "disconnect",
          [](SocketBase& self, std::uint64_t peer, double linger_s) {
            return self.socket("disconnect").disconnect(peer, duration(linger_s));
          },
          nb::arg("peer"), nb::arg("linger_s") = 5.0,
          "Lets one peer go (PeerInfo.id): what was sent to it before is delivered within "
          "`linger_s` seconds, then it is forgotten. False if there is no such peer.")
      .def(
          "disconnect",
          [](SocketBase& self, std::string_view address, double linger_s) {
            return self.socket("disconnect").disconnect(address, duration(linger_s));
          },
          nb::arg("address"), nb::arg("linger_s") = 5.0,
          "The same for all peers that are dialed at `address`. Returns how many there are.")
      .def(
          "unbind",
          [](SocketBase& self, std::string_view address) {
            return self.socket("unbind").unbind(address);
          },
          nb::arg("address"),
          "Stops listening at `address`, as it was given to bind(), or as bind() returned it. "
          "Connections stay. False if this socket does not listen there.")
      .def(
          "peers", [](SocketBase& self) { return self.socket("list peers").peers(); },
          "The peers as they are now.")
      .def_prop_ro(
          "peers_connected",
          [](SocketBase& self) {
            SocketState* const open = self.open_state("count peers");
            Socket* const socket = open != nullptr ? open->socket() : nullptr;
            return socket != nullptr ? socket->peers_connected() : std::size_t{0};
          },
          "How many peers are connected; 0 for units of event building, see their books().")
      .def_prop_ro(
          "last_failure",
          [](SocketBase& self) { return self.state("look at a socket").last_failure; },
          "Why the latest connection that did not come up failed, made here or from outside: in "
          "words; empty if there was none, or its peer came since.")
      .def_prop_ro("run", [](SocketBase& self) {
        const auto run = self.socket("ask for the run").run();
        return nb::bytes(run.data(), run.size());
      });
}

void bind_figures(nb::class_<SocketBase>& type) {
  type.def(
          "books",
          [](SocketBase& self) {
            SocketState& state = self.state("read the books");
            return state.socket() != nullptr ? state.socket()->books() : state.last_books;
          },
          "What became of the messages, over all peers. Also after the end of the socket.")
      .def(
          "counters",
          [](SocketBase& self) {
            SocketState& state = self.state("read the counters");
            if (state.alive()) return self.socket("read the counters").counters();
            return state.last_counters;
          },
          "What happened so far. Also after the end of the socket.")
      .def_prop_ro(
          "fill", [](SocketBase& self) { return self.socket("ask for fill").fill(); },
          "How full the socket is, from 0 to 1.")
      .def_prop_ro(
          "kept_bytes", [](SocketBase& self) { return self.socket("ask").kept_bytes(); },
          "The memory that kept messages of this socket hold, in bytes.")
      .def_prop_ro("closed", &has_ended, "Whether the socket was closed, and that is done.");
}

void bind_waiting(nb::class_<SocketBase>& type) {
  type.def("_begin_close",
           [](SocketBase& self, double linger_s) {
             if (SocketState* const open = self.open_state("close a socket")) {
               open->closing = true;
               open->close(duration(linger_s));
             }
           })
      .def("_end",
           [](SocketBase& self) {
             if (SocketState* const open = self.open_state("close a socket")) {
               open->end();
               open->wake_all();
             }
           })
      .def("_add_waiter",
           [](SocketBase& self, unsigned kind, nb::object future) {
             self.state("wait").waiters.at(kind).add(std::move(future));
           })
      .def("_remove_waiter",
           [](SocketBase& self, unsigned kind, nb::handle future) {
             // Of an await that is given up, on whichever thread.
             if (Waiters* const waiters = self.waiters(static_cast<Kind>(kind))) {
               waiters->remove(future);
             }
           })
      .def("_waiters",
           [](SocketBase& self) {
             std::size_t sum = 0;
             for (const Waiters& each : self.state("count").waiters) sum += each.size();
             return sum;
           })
      .def("_take", [](SocketBase& self,
                       unsigned kind) { return self.state("wait").take(static_cast<Kind>(kind)); })
      .def("_wait",
           [](SocketBase& self, unsigned kind, double timeout_s) {
             SocketState& state = self.state("wait");
             return self.context_state().turn_until(duration(timeout_s), [&] {
               return state.take(static_cast<Kind>(kind)) || !state.alive();
             });
           })
      .def("_keep_events",
           [](SocketBase& self, bool keep) { self.state("wait for events").keeps_events = keep; })
      .def("_call_back_to",
           [](SocketBase& self, nb::object weak) {
             self.state("set a call-back").called_back = std::move(weak);
           })
      .def("_tell_again", [](SocketBase& self) { self.state("set a call-back").tell_again(); })
      .def("_tell_unraisable",
           [](nb::handle self, nb::handle error) {
             PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
             PyErr_WriteUnraisable(self.ptr());
           })
      .def("_next_event", [](SocketBase& self) -> nb::object {
        SocketState& state = self.state("take an event");
        if (state.events.empty()) return nb::none();
        const auto event = std::move(state.events.front());
        state.events.pop_front();
        return event();
      });
}

}  // namespace

void bind_sockets(nb::module_& module) {
  nb::class_<SocketBase> type(module, "SocketBase", nb::is_weak_referenceable());
  type.def(
      "__init__",
      [](SocketBase* self, std::string_view pattern, nb::object context, nb::kwargs options) {
        if (!nb::isinstance<ContextState>(context)) {
          throw nb::type_error("the first argument of a socket is its netio.Context");
        }
        const AllOptions all = socket_options(options, pattern);
        auto state = made(pattern, *nb::cast<ContextState*>(context), all);
        (new (self) SocketBase(std::move(context)))->set(std::move(state));
      },
      nb::arg("pattern"), nb::arg("context").none(), nb::arg("options"));
  type.def_prop_ro("context", [](SocketBase& self) { return nb::borrow(self.context()); })
      .def("__reduce__", [](nb::handle) -> nb::object {
        throw nb::type_error("a socket cannot be pickled: make one in each process");
      });
  bind_addresses(type);
  bind_figures(type);
  bind_waiting(type);
  bind_sending(type);
  bind_receiving(module, type);
  bind_publishing(type);
  bind_requests(module, type);
  bind_replies(module, type);
  bind_readout(type);
  bind_builder(module, type);
  bind_manager(type);
}

}  // namespace netio::python
