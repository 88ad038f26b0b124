// The enums of the library, with the names that they have there.
#include <netio/netio.hpp>

#include "errors.hpp"

namespace netio::python {

namespace {

void bind_statuses(nb::module_& module) {
  nb::enum_<Status>(module, "Status",
                    "The answer of every try_ call. On any but ok nothing was taken.")
      .value("ok", Status::ok, "Done; the library has the message.")
      .value("again", Status::again, "No room or memory for now.")
      .value("not_connected", Status::not_connected, "No peer is connected.")
      .value("closed", Status::closed, "The socket was closed.")
      .value("too_big", Status::too_big, "The message exceeds a limit.")
      .value("invalid", Status::invalid, "The call makes no sense in this state.");
  nb::enum_<Outcome>(module, "Outcome", "How a request ended.")
      .value("answered", Outcome::answered)
      .value("timed_out", Outcome::timed_out)
      .value("not_answered", Outcome::not_answered)
      .value("cancelled", Outcome::cancelled)
      .value("not_executed", Outcome::not_executed)
      .value("in_doubt", Outcome::in_doubt);
  nb::enum_<DropReason>(module, "DropReason", "Why a message that was sent was not delivered.")
      .value("peer_closed", DropReason::peer_closed)
      .value("connection_lost", DropReason::connection_lost)
      .value("not_sent", DropReason::not_sent)
      .value("linger_expired", DropReason::linger_expired)
      .value("dropped_new", DropReason::dropped_new)
      .value("dropped_old", DropReason::dropped_old)
      .value("superseded", DropReason::superseded);
}

void bind_down_reasons(nb::module_& module) {
  nb::enum_<DownReason>(module, "DownReason", "Why a connection ended, or was not made.")
      .value("closed_by_peer", DownReason::closed_by_peer)
      .value("closed_here", DownReason::closed_here)
      .value("lost", DownReason::lost)
      .value("refused", DownReason::refused)
      .value("unreachable", DownReason::unreachable)
      .value("name_unknown", DownReason::name_unknown)
      .value("name_temporary", DownReason::name_temporary)
      .value("foreign_protocol", DownReason::foreign_protocol)
      .value("version_mismatch", DownReason::version_mismatch)
      .value("pattern_mismatch", DownReason::pattern_mismatch)
      .value("rejected", DownReason::rejected)
      .value("handshake_timeout", DownReason::handshake_timeout)
      .value("protocol_error", DownReason::protocol_error)
      .value("message_too_big", DownReason::message_too_big)
      .value("too_slow", DownReason::too_slow)
      .value("stalled", DownReason::stalled)
      .value("resources", DownReason::resources);
}

void bind_building(nb::module_& module) {
  nb::enum_<FragmentStatus>(module, "FragmentStatus", "How a fragment came from the detector.")
      .value("good", FragmentStatus::good)
      .value("truncated", FragmentStatus::truncated)
      .value("in_error", FragmentStatus::in_error);
  nb::enum_<Missing>(module, "Missing", "Why an event has no fragment of a source.")
      .value("no", Missing::no)
      .value("late", Missing::late)
      .value("not_connected", Missing::not_connected)
      .value("not_begun", Missing::not_begun)
      .value("dropped", Missing::dropped)
      .value("forgotten", Missing::forgotten);
  nb::enum_<WhenFull>(module, "WhenFull", "What a read-out unit does when its store is full.")
      .value("again", WhenFull::again)
      .value("drop", WhenFull::drop);
}

void bind_choices(nb::module_& module) {
  nb::enum_<Mode>(module, "Mode", "How messages are sent.")
      .value("buffered", Mode::buffered, "Gathered in pages: the most messages per second.")
      .value("unbuffered", Mode::unbuffered, "Each by itself: the least latency.");
  nb::enum_<Distribute>(module, "Distribute", "To which of its Pull peers a Push sends a message.")
      .value("in_turn", Distribute::in_turn)
      .value("by_tag", Distribute::by_tag);
  nb::enum_<Acknowledge>(module, "Acknowledge", "What an acknowledgement says about a message.")
      .value("delivered", Acknowledge::delivered)
      .value("released", Acknowledge::released);
  nb::enum_<Policy>(module, "Policy", "What a publisher does when a subscriber is slow.")
      .value("block", Policy::block)
      .value("drop_new", Policy::drop_new)
      .value("drop_old", Policy::drop_old)
      .value("sample", Policy::sample)
      .value("disconnect", Policy::disconnect);
  nb::enum_<IdlePolicy>(module, "IdlePolicy", "What a loop does when there is nothing to do.")
      .value("sleep", IdlePolicy::sleep)
      .value("spin", IdlePolicy::spin)
      .value("adaptive", IdlePolicy::adaptive);
}

}  // namespace

void bind_enums(nb::module_& module) {
  bind_statuses(module);
  bind_down_reasons(module);
  bind_choices(module);
  bind_building(module);
}

}  // namespace netio::python
