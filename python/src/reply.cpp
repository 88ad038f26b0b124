// Requests that came, and their answers.
#include "reply.hpp"

#include "bytes.hpp"
#include "errors.hpp"
#include "message.hpp"
#include "request.hpp"

namespace netio::python {

ReplyState::ReplyState(ContextState& context, Context& made_in, const ReplyOptions& replying,
                       const SocketOptions& options)
    : StateOf(context, made_in, replying, options) {
  get()->on_request([this](const MessageView& request, ReplyTo to) {
    bytes_ += request.size();
    asked_.push_back({request.keep(), std::move(to), get()->sender_id()});
    if (asked_.size() >= asked_max || bytes_ >= asked_bytes_max) get()->pause();
    happened(Kind::readable);
  });
}

bool ReplyState::take(Asked& asked) {
  if (asked_.empty()) {
    bytes_ = 0;
    if (get() != nullptr && get()->paused() && !inbox.paused()) get()->resume();
    return false;
  }
  asked = std::move(asked_.front());
  asked_.pop_front();
  return true;
}

void ReplyState::answered() noexcept {
  if (asked_.empty() && get() != nullptr && get()->requests().open == 0) get()->flush();
}

void ReplyState::pause(bool paused) {
  inbox.pause(paused);
  if (get() == nullptr) return;
  if (paused) {
    get()->pause();
  } else if (asked_.size() < asked_max && bytes_ < asked_bytes_max) {
    get()->resume();
  }
}

void ReplyState::end() {
  if (get() == nullptr) return;
  last_requests = get()->requests();
  StateOf::end();
}

nb::object take_request(const nb::handle& owner, SocketState& state) {
  ReplyState::Asked asked;
  auto* const reply = dynamic_cast<ReplyState*>(&state);
  if (reply == nullptr) throw nb::type_error("this socket is given no requests");
  if (!reply->take(asked)) return {};
  nb::object message = message_object(std::move(asked.request), asked.sender);
  return nb::make_tuple(std::move(message),
                        ReplyToBase{.to = std::move(asked.to), .owner = nb::borrow(owner)});
}

namespace {

Status send_answer(ReplyTo& to, nb::handle data) {
  if (!nb::isinstance<MessageBase>(data)) return to.send(Bytes(data).span());
  return send_out(*nb::inst_ptr<MessageBase>(data),
                  [&](Message&& message) { return to.send(std::move(message)); });
}

Status try_send(ReplyToBase& self, nb::handle data) {
  auto& owner = *nb::inst_ptr<SocketBase>(self.owner);
  if (owner.open_state("answer") == nullptr) return Status::closed;
  const Status status = send_answer(self.to, data);
  if (status != Status::ok) return status;
  // Code of the data may have closed the socket meanwhile.
  if (auto* const state = dynamic_cast<ReplyState*>(owner.state_anywhere())) state->answered();
  return status;
}

nb::object time_left(const ReplyToBase& self) {
  const auto left = self.to.time_left();
  return left ? nb::cast(seconds(*left)) : nb::none();
}

}  // namespace

void bind_replies(nb::module_& module, nb::class_<SocketBase>& type) {
  nb::class_<ReplyToBase>(module, "ReplyTo", nb::pooled(256),
                          "The right to answer one request, once. Without an answer the requester "
                          "is told so when this goes.")
      .def("try_send", &try_send, nb::arg("answer").none(),
           "Answers, or says why not: again if twice send_bytes_max waits for that requester; "
           "not_connected if nobody waits for the answer any more.")
      .def_prop_ro(
          "wanted", [](const ReplyToBase& self) { return self.to.wanted(); },
          "Whether somebody still waits.")
      .def_prop_ro("time_left_s", &time_left,
                   "The time that the requester will still wait, or None.")
      .def_prop_ro("peer", [](const ReplyToBase& self) { return self.to.peer(); })
      .def_prop_ro("_owner", [](const ReplyToBase& self) { return self.owner; })
      .def("__bool__", [](const ReplyToBase& self) { return static_cast<bool>(self.to); })
      .def(
          "give_up", [](ReplyToBase& self) { self.to = ReplyTo(); },
          "Tells the requester that there will be no answer.");
  type.def("_reply_books", [](SocketBase& self) {
    auto& state = dynamic_cast<ReplyState&>(self.state("read the books"));
    return state.get() != nullptr ? state.get()->requests() : state.last_requests;
  });
}

}  // namespace netio::python
