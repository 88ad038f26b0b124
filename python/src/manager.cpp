// The event manager: gives ranges of events to builders.
#include <nanobind/stl/string.h>

#include "errors.hpp"
#include "units.hpp"

namespace netio::python {

namespace {

class ManagerState : public UnitState<EventManager, ManagerBooks> {
 public:
  ManagerState(ContextState& context, Context& made_in, const ManagerOptions& options)
      : UnitState(context) {
    unit = std::make_unique<EventManager>(made_in, options);
    unit->on_unit_up([this](std::uint32_t source, const PeerInfo& peer) {
      came(peer);
      record([=] { return nb::make_tuple("unit_up", source, peer); });
    });
    unit->on_unit_down([this](std::uint32_t source, const PeerInfo& peer, const Down& down) {
      went(peer, down);
      record([=] { return nb::make_tuple("unit_down", source, peer, down.reason, down.detail); });
    });
    unit->on_builder_up([this](std::uint32_t builder, const PeerInfo& peer) {
      came(peer);
      record([=] { return nb::make_tuple("builder_up", builder, peer); });
    });
    unit->on_builder_down([this](std::uint32_t builder, const PeerInfo& peer, const Down& down) {
      went(peer, down);
      record(
          [=] { return nb::make_tuple("builder_down", builder, peer, down.reason, down.detail); });
    });
    unit->on_refused([this](const PeerInfo&, std::string_view why) { refused(std::string(why)); });
    unit->on_superseded([this](std::uint64_t term) {
      record_refused("superseded by term " + std::to_string(term));
    });
    unit->on_failed([this](std::string_view why) { record_refused(std::string(why)); });
  }
  void close(std::chrono::nanoseconds linger) override { unit->close(linger, then()); }

  bool stopped = false;  // stop() came to its end
};

constexpr const char* kind = "event manager";

ManagerState& manager(SocketBase& self, const char* operation) {
  return living<ManagerState>(self, operation, kind);
}

nb::dict books(SocketBase& self) {
  const ManagerBooks now = state_of<ManagerState>(self, "read the books", kind).books();
  nb::dict books;
  books["assigned"] = now.assigned;
  books["again"] = now.again;
  books["settled"] = now.settled;
  books["revoked"] = now.revoked;
  books["open"] = now.open;
  books["waiting"] = now.waiting;
  books["events"] = now.events;
  books["term"] = now.term;
  books["produced"] = event_tuple(now.produced);
  books["assigned_below"] = event_tuple(now.assigned_below);
  return books;
}

void stop(SocketBase& self, nb::handle at) {
  ManagerState& state = manager(self, "stop");
  if (state.done) throw_closed("stop", "the manager is closed");
  state.stopped = false;
  state.unit->stop(event_id(at), [&state] {
    state.stopped = true;
    state.happened(Kind::writable);
  });
}

}  // namespace

std::unique_ptr<SocketState> made_manager(ContextState& context, const AllOptions& options) {
  ManagerOptions manager = options.manager;
  manager.plan = options.plan;
  manager.plan.managed = true;
  manager.socket = options.socket;
  return std::make_unique<ManagerState>(context, context.use("make an event manager"), manager);
}

void bind_manager(nb::class_<SocketBase>& type) {
  type.def("_manager_bind",
           [](SocketBase& self, const std::string& address) {
             return manager(self, "bind").unit->bind(address);
           })
      .def("_manager_stop", &stop)
      .def("_manager_stopped",
           [](SocketBase& self) {
             const ManagerState& state = manager(self, "stop");
             if (state.done && !state.stopped) throw_closed("stop", "the manager is closed");
             return state.stopped;
           })
      .def("_manager_books", &books);
}

}  // namespace netio::python
