// The read-out unit: fragments go in, and are held until their events are settled.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <optional>

#include "bytes.hpp"
#include "errors.hpp"
#include "message.hpp"
#include "records.hpp"
#include "units.hpp"

namespace netio::python {

EventId event_id(nb::handle given) {
  try {
    const auto pair = nb::cast<std::pair<std::uint64_t, std::uint64_t>>(
        nb::make_tuple(nb::object(given[nb::int_(0)]), nb::object(given[nb::int_(1)])));
    return {pair.first, pair.second};
  } catch (const std::bad_cast&) {
    throw nb::type_error("an event is a tuple (run, number) of two numbers from 0 to 2**64 - 1");
  }
}

nb::tuple event_tuple(EventId id) { return nb::make_tuple(id.run, id.number); }

namespace {

class ReadoutState : public UnitState<ReadoutUnit, ReadoutBooks> {
 public:
  ReadoutState(ContextState& context, Context& made_in, const ReadoutOptions& options)
      : UnitState(context) {
    unit = std::make_unique<ReadoutUnit>(made_in, options);
    unit->on_room([this] { happened(Kind::writable); });
    unit->on_released([this](std::uint64_t token) {
      released.push_back(token);
      happened(Kind::writable);
    });
    unit->on_up([this](std::uint32_t builder, const PeerInfo& peer) {
      came(peer);
      record([=] { return nb::make_tuple("unit_up", builder, peer); });
    });
    unit->on_down([this](std::uint32_t builder, const PeerInfo& peer, const Down& down) {
      went(peer, down);
      record([=] { return nb::make_tuple("unit_down", builder, peer, down.reason, down.detail); });
    });
    unit->on_refused([this](std::uint32_t builder, std::string_view why) {
      refused("builder " + std::to_string(builder) + ": " + std::string(why));
    });
    unit->on_manager_up([this](const PeerInfo& peer) { came(peer); });
    unit->on_manager_down([this](const PeerInfo& peer, const Down& down) { went(peer, down); });
    unit->on_manager_refused([this](std::string_view why) { refused(std::string(why)); });
    unit->on_begin([this](EventId produced) {
      record([produced] { return nb::make_tuple("begin", event_tuple(produced)); });
    });
    unit->on_stop(
        [this](EventId at) { record([at] { return nb::make_tuple("stop", event_tuple(at)); }); });
  }
  void close(std::chrono::nanoseconds linger) override { unit->finish(linger, then()); }
};

constexpr const char* kind = "read-out unit";

ReadoutState& readout(SocketBase& self, const char* operation) {
  return living<ReadoutState>(self, operation, kind);
}

Status try_send(SocketBase& self, nb::handle event, nb::handle data, FragmentStatus status) {
  const EventId id = event_id(event);
  const bool is_message = nb::isinstance<MessageBase>(data);
  std::optional<Bytes> bytes;  // before the unit is asked for, as this may run code of Python
  if (!is_message) bytes.emplace(data);
  if (self.open_state("send") == nullptr) return Status::closed;
  ReadoutUnit& unit = *readout(self, "send").unit;
  if (bytes) return unit.send(id, bytes->span(), status);
  return send_out(*nb::inst_ptr<MessageBase>(data),
                  [&](Message&& message) { return unit.send(id, std::move(message), status); });
}

nb::dict books(SocketBase& self) {
  const ReadoutBooks now = state_of<ReadoutState>(self, "read the books", kind).books();
  nb::dict books;
  books["sent"] = now.sent;
  books["settled"] = now.settled;
  books["built"] = now.built;
  books["incomplete"] = now.incomplete;
  books["dropped"] = now.dropped;
  books["late"] = now.late;
  books["held"] = now.held;
  books["held_bytes"] = now.held_bytes;
  books["resent"] = now.resent;
  return books;
}

nb::list held_for_builders(SocketBase& self) {
  nb::list all;
  for (const HeldForBuilder& held : readout(self, "read what is held").unit->held_for_builders()) {
    nb::dict each;
    each["connected"] = held.connected;
    each["fragments"] = held.fragments;
    each["bytes"] = held.bytes;
    each["oldest"] = nb::make_tuple(held.oldest.run, held.oldest.number);
    each["window_bytes"] = held.window_bytes;
    all.append(each);
  }
  return all;
}

}  // namespace

std::unique_ptr<SocketState> made_readout(ContextState& context, const AllOptions& options) {
  ReadoutOptions readout = options.readout;
  readout.plan = options.plan;
  readout.socket = options.socket;
  return std::make_unique<ReadoutState>(context, context.use("make a read-out unit"), readout);
}

void bind_readout(nb::class_<SocketBase>& type) {
  type.def("_readout_connect",
           [](SocketBase& self, std::uint32_t builder, const std::vector<std::string>& addresses) {
             readout(self, "connect").unit->connect(builder, addresses);
           })
      .def("_readout_join",
           [](SocketBase& self, const std::string& manager) {
             readout(self, "join").unit->join(manager);
           })
      .def("_readout_try_send", &try_send, nb::arg("event"), nb::arg("data").none(),
           nb::arg("status"))
      .def("_readout_advance",
           [](SocketBase& self, nb::handle below) {
             readout(self, "advance").unit->advance(event_id(below));
           })
      .def("_readout_settled",
           [](SocketBase& self) {
             return event_tuple(readout(self, "say what is settled").unit->settled());
           })
      .def("_readout_fill",
           [](SocketBase& self) { return readout(self, "ask for fill").unit->fill(); })
      .def("_readout_builders",
           [](SocketBase& self) { return readout(self, "count").unit->builders_connected(); })
      .def("_readout_held", &held_for_builders)
      .def("_readout_books", &books);
}

}  // namespace netio::python
