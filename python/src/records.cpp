// Books, counters and peers, with the names that they have in C++; times are seconds.
#include "records.hpp"

#include <nanobind/stl/optional.h>
#include <string_view>

namespace netio::python {

namespace {

template <std::size_t count>
nb::dict by_reason(const std::array<std::uint64_t, count>& numbers) {
  nb::dict counts;
  for (std::size_t i = 0; i < count; ++i) {
    counts[nb::cast(static_cast<DropReason>(i))] = numbers[i];
  }
  return counts;
}

void bind_books(nb::module_& module) {
  nb::class_<Books>(module, "Books",
                    "sent == acknowledged + dropped + in_doubt + unacknowledged, always.")
      .def_ro("sent", &Books::sent)
      .def_ro("acknowledged", &Books::acknowledged)
      .def_prop_ro("dropped_by", [](const Books& books) { return by_reason(books.dropped_by); })
      .def_prop_ro("dropped", &Books::dropped)
      .def_ro("in_doubt", &Books::in_doubt)
      .def_ro("unacknowledged", &Books::unacknowledged)
      .def_prop_ro("unsettled", &Books::unsettled)
      .def_ro("delivered", &Books::delivered)
      .def_ro("missed", &Books::missed);
  nb::class_<Counters>(module, "Counters", "What happened so far. The counters only grow.")
      .def_ro("bytes_sent", &Counters::bytes_sent)
      .def_ro("bytes_received", &Counters::bytes_received)
      .def_ro("bytes_arrived", &Counters::bytes_arrived)
      .def_ro("pages_sent", &Counters::pages_sent)
      .def_ro("pages_received", &Counters::pages_received)
      .def_ro("agains", &Counters::agains)
      .def_ro("connects", &Counters::connects)
      .def_ro("disconnects", &Counters::disconnects)
      .def_ro("rejected", &Counters::rejected)
      .def_ro("starved", &Counters::starved)
      .def_ro("copies", &Counters::copies)
      .def_ro("bytes_copied", &Counters::bytes_copied)
      .def_ro("resent", &Counters::resent)
      .def_ro("resume_given_up", &Counters::resume_given_up)
      .def_ro("ring_writes", &Counters::ring_writes)
      .def_ro("published", &Counters::published)
      .def_ro("unwanted", &Counters::unwanted)
      .def_ro("demoted", &Counters::demoted)
      .def_ro("bodies_encoded", &Counters::bodies_encoded);
}

void bind_request_books(nb::module_& module) {
  nb::class_<RequestBooks>(module, "RequestBooks", "asked == the sum of ended + under_way, always.")
      .def_ro("asked", &RequestBooks::asked)
      .def_prop_ro("ended",
                   [](const RequestBooks& books) {
                     nb::dict counts;
                     for (std::size_t i = 0; i < books.ended.size(); ++i) {
                       counts[nb::cast(static_cast<Outcome>(i))] = books.ended[i];
                     }
                     return counts;
                   })
      .def_ro("under_way", &RequestBooks::under_way)
      .def_ro("late", &RequestBooks::late)
      .def_ro("repeated", &RequestBooks::repeated);
  nb::class_<ReplyBooks>(module, "ReplyBooks",
                         "requests == answered + not_answered + unwanted + open, always.")
      .def_ro("requests", &ReplyBooks::requests)
      .def_ro("answered", &ReplyBooks::answered)
      .def_ro("not_answered", &ReplyBooks::not_answered)
      .def_ro("unwanted", &ReplyBooks::unwanted)
      .def_ro("open", &ReplyBooks::open)
      .def_ro("expired", &ReplyBooks::expired)
      .def_ro("withdrawn", &ReplyBooks::withdrawn);
}

void bind_peers(nb::module_& module) {
  nb::class_<ToAll>(module, "ToAll", "What became of a message to all peers.")
      .def_ro("status", &ToAll::status)
      .def_ro("peers", &ToAll::peers)
      .def_ro("away", &ToAll::away)
      .def_prop_ro("to_everyone", &ToAll::to_everyone);
  nb::class_<PeerInfo>(module, "PeerInfo", "A peer, as events have it.")
      .def_ro("id", &PeerInfo::id)
      .def_ro("address", &PeerInfo::address)
      .def_ro("name", &PeerInfo::name)
      .def_prop_ro("run", [](const PeerInfo& p) { return nb::bytes(p.run.data(), p.run.size()); })
      .def_ro("dialed", &PeerInfo::dialed)
      .def_ro("retrying", &PeerInfo::retrying)
      .def_ro("was_up", &PeerInfo::was_up)
      .def_ro("books", &PeerInfo::books)
      .def_ro("message_bytes_max", &PeerInfo::message_bytes_max)
      .def_ro("restarts", &PeerInfo::restarts)
      .def_ro("wire", &PeerInfo::wire)
      .def_ro("wire_reason", &PeerInfo::wire_reason);
  nb::class_<PeerSnapshot, PeerInfo>(module, "PeerSnapshot", "A peer as it is at this moment.")
      .def_ro("up", &PeerSnapshot::up)
      .def_ro("paused", &PeerSnapshot::paused)
      .def_ro("behind", &PeerSnapshot::behind)
      .def_prop_ro("up_for_s", [](const PeerSnapshot& p) { return seconds(p.up_for); })
      .def_prop_ro("behind_for_s", [](const PeerSnapshot& p) { return seconds(p.behind_for); })
      .def_prop_ro("silent_for_s", [](const PeerSnapshot& p) { return seconds(p.silent_for); })
      .def_ro("policy", &PeerSnapshot::policy)
      .def_ro("demoted", &PeerSnapshot::demoted)
      .def_ro("waiting_messages", &PeerSnapshot::waiting_messages)
      .def_ro("waiting_bytes", &PeerSnapshot::waiting_bytes)
      .def_ro("wire_bytes", &PeerSnapshot::wire_bytes)
      .def_ro("kept_bytes", &PeerSnapshot::kept_bytes);
}

}  // namespace

void bind_records(nb::module_& module) {
  bind_books(module);
  bind_request_books(module);
  bind_peers(module);
}

}  // namespace netio::python
