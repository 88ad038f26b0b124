// Asks and answers. What comes in a turn is noted there, and told after it.
#include "request.hpp"

#include <nanobind/stl/optional.h>

#include "bytes.hpp"
#include "errors.hpp"
#include "message.hpp"
#include "options.hpp"

namespace netio::python {

namespace {

nb::object failure(Outcome outcome) {
  return nb::module_::import_("netio.requests").attr("failed")(outcome);
}

}  // namespace

RequestState::RequestState(ContextState& context, Context& made_in,
                           const RequestOptions& requesting, const SocketOptions& options)
    : StateOf(context, made_in, requesting, options) {
  get()->on_reply([this](std::uint64_t id, const MessageView& answer) {
    request_ended(id, {.outcome = Outcome::answered, .message = answer.keep()});
  });
  get()->on_failed(
      [this](std::uint64_t id, Outcome outcome) { request_ended(id, {.outcome = outcome}); });
}

void RequestState::request_ended(std::uint64_t id, Answered answer) {
  ended_.push_back({id, std::move(answer)});
  happened(Kind::readable);
}

void RequestState::tell_more() {
  for (Ended& each : std::exchange(ended_, {})) {
    const auto found = waiting.find(each.id);
    if (found == waiting.end()) continue;
    const nb::object future = std::move(found->second);
    waiting.erase(found);
    if (future.is_none()) {
      answers.emplace(each.id, std::move(each.answer));
    } else if (each.answer.outcome == Outcome::answered) {
      settle(future, "set_result",
             [&] { return message_object(std::move(each.answer.message), 0); });
    } else {
      settle(future, "set_exception", [&] { return failure(each.answer.outcome); });
    }
  }
}

void RequestState::cancel(std::uint64_t id) {
  waiting.erase(id);
  if (context().usable() != nullptr) {
    if (get() != nullptr) (void)get()->cancel(id);
    return;
  }
  context().post([here = here_, id] {
    if (*here != nullptr && (*here)->get() != nullptr) (void)(*here)->get()->cancel(id);
  });
}

void RequestState::end() {
  if (get() == nullptr) return;
  last_requests = get()->requests();
  tell_more();
  for (auto& [id, future] : std::exchange(waiting, {})) {
    if (future.is_none()) {
      answers.emplace(id, Answered{.outcome = Outcome::cancelled});
    } else {
      settle(future, "set_exception", [] { return failure(Outcome::cancelled); });
    }
  }
  StateOf::end();
}

namespace {

RequestState& requester(SocketBase& self, const char* operation) {
  auto* const state = dynamic_cast<RequestState*>(&self.state(operation));
  if (state == nullptr) throw nb::type_error("this socket asks no requests");
  return *state;
}

// The id of the request, or the Status that says why it was not sent.
nb::object try_ask(SocketBase& self, nb::handle data, nb::object future, double timeout_s,
                   std::uint64_t peer, bool idempotent) {
  const bool is_message = nb::isinstance<MessageBase>(data);
  std::optional<Bytes> bytes;  // before the socket is asked for, as this may run code of Python
  if (!is_message) bytes.emplace(data);
  RequestState& state = requester(self, "ask");
  if (state.get() == nullptr) return nb::cast(Status::closed);
  const Ask ask{.within = timeout_s < 0
                              ? std::chrono::nanoseconds(0)
                              : std::max(duration(timeout_s), std::chrono::nanoseconds(1)),
                .peer = peer,
                .idempotent = idempotent};
  std::uint64_t id = 0;
  Status status = Status::invalid;
  if (is_message) {
    status = send_out(*nb::inst_ptr<MessageBase>(data), [&](Message&& message) {
      return state.get()->send(std::move(message), id, ask);
    });
  } else {
    status = state.get()->send(bytes->span(), id, ask);
  }
  if (status != Status::ok) return nb::cast(status);
  state.waiting.emplace(id, std::move(future));
  // One by itself goes at once. Others go together, with the next turn of the event loop.
  if (state.waiting.size() == 1) state.get()->flush();
  return nb::cast(id);
}

// Waits for the answer of a request that no future waits for.
nb::object wait_answer(SocketBase& self, std::uint64_t id) {
  RequestState& state = requester(self, "ask");
  const auto answered = [&] { return state.answers.contains(id) || state.get() == nullptr; };
  try {
    self.context_state().turn_until(std::chrono::nanoseconds(-1), answered);
  } catch (...) {  // Ctrl-C
    if (state.get() != nullptr) (void)state.get()->cancel(id);
    state.waiting.erase(id);
    throw;
  }
  const auto found = state.answers.find(id);
  if (found == state.answers.end()) return nb::cast(Outcome::cancelled);
  Answered answer = std::move(found->second);
  state.answers.erase(found);
  if (answer.outcome != Outcome::answered) return nb::cast(answer.outcome);
  return message_object(std::move(answer.message), 0);
}

void bind_asking(nb::class_<SocketBase>& type) {
  type.def("_try_ask", &try_ask, nb::arg("data").none(), nb::arg("future").none(),
           nb::arg("timeout_s"), nb::arg("peer"), nb::arg("idempotent"))
      .def("_wait_answer", &wait_answer)
      .def("_cancel",
           [](SocketBase& self, std::uint64_t id) {
             if (auto* const state = dynamic_cast<RequestState*>(self.state_anywhere())) {
               state->cancel(id);
             }
           })
      .def("_request_books", [](SocketBase& self) {
        RequestState& state = requester(self, "read the books");
        return state.get() != nullptr ? state.get()->requests() : state.last_requests;
      });
}

}  // namespace

void bind_requests(nb::module_&, nb::class_<SocketBase>& type) { bind_asking(type); }

}  // namespace netio::python
