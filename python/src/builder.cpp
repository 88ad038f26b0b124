// The builder unit: whole events come out, in the memory that their fragments came in. The library
// bounds what is kept: while that is more than keep_bytes_max, no event is handed over.
#include <deque>
#include <nanobind/stl/string.h>

#include "errors.hpp"
#include "message.hpp"
#include "units.hpp"

namespace netio::python {

namespace {

// An event of Python, and one of its fragments, which holds it.
struct BuiltEvent {
  KeptEvent event;
};
struct BuiltFragment {
  nb::object event;
  const KeptEvent::Fragment* fragment;
};

class BuilderState : public UnitState<BuilderUnit, BuilderBooks> {
 public:
  BuilderState(ContextState& context, Context& made_in, const BuilderOptions& options)
      : UnitState(context) {
    unit = std::make_unique<BuilderUnit>(made_in, options);
    unit->on_event([this](const netio::Event& event) {
      built.push_back(event.keep());
      happened(Kind::readable);
    });
    unit->on_up([this](std::uint32_t source, const PeerInfo& peer) {
      came(peer);
      record([=] { return nb::make_tuple("unit_up", source, peer); });
    });
    unit->on_down([this](std::uint32_t source, const PeerInfo& peer, const Down& down) {
      went(peer, down);
      record([=] { return nb::make_tuple("unit_down", source, peer, down.reason, down.detail); });
    });
    unit->on_refused([this](const PeerInfo&, std::string_view why) { refused(std::string(why)); });
    unit->on_manager_up([this](const PeerInfo& peer) { came(peer); });
    unit->on_manager_down([this](const PeerInfo& peer, const Down& down) { went(peer, down); });
    unit->on_manager_refused([this](std::string_view why) { refused(std::string(why)); });
  }
  void close(std::chrono::nanoseconds linger) override { unit->close(linger, then()); }

  std::deque<KeptEvent> built;
};

constexpr const char* kind = "builder unit";

BuilderUnit& builder(SocketBase& self, const char* operation) {
  return *living<BuilderState>(self, operation, kind).unit;
}

nb::dict books(SocketBase& self) {
  const BuilderBooks now = state_of<BuilderState>(self, "read the books", kind).books();
  nb::dict books;
  books["complete"] = now.complete;
  books["incomplete"] = now.incomplete;
  books["again"] = now.again;
  books["open"] = now.open;
  books["bytes"] = now.bytes;
  books["open_bytes"] = now.open_bytes;
  books["kept_bytes"] = now.kept_bytes;
  nb::list sources;
  for (const BuilderBooks::Source& source : now.sources) {
    nb::dict each;
    each["received"] = source.received;
    each["built"] = source.built;
    each["incomplete"] = source.incomplete;
    each["late"] = source.late;
    each["open"] = source.open;
    each["connected"] = source.connected;
    each["busy"] = source.busy;
    sources.append(each);
  }
  books["sources"] = sources;
  return books;
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  const auto bytes = nb::inst_ptr<BuiltFragment>(self)->fragment->bytes();
  static std::byte nothing{};
  auto* const data = const_cast<std::byte*>(bytes.data());
  return PyBuffer_FillInfo(view, self, data != nullptr ? data : &nothing,
                           static_cast<Py_ssize_t>(bytes.size()), 1, flags);
}

Py_ssize_t length(PyObject* self) noexcept {
  return static_cast<Py_ssize_t>(nb::inst_ptr<BuiltFragment>(self)->fragment->bytes().size());
}

Py_ssize_t sources(PyObject* self) noexcept {
  return static_cast<Py_ssize_t>(nb::inst_ptr<BuiltEvent>(self)->event.fragments().size());
}

const PyType_Slot fragment_slots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
    {Py_sq_length, reinterpret_cast<void*>(length)},
    {0, nullptr},
};
const PyType_Slot event_slots[] = {
    {Py_sq_length, reinterpret_cast<void*>(sources)},
    {0, nullptr},
};

nb::object fragment(nb::handle self, std::size_t source) {
  const auto& fragments = nb::inst_ptr<BuiltEvent>(self)->event.fragments();
  if (source >= fragments.size()) throw nb::index_error("there is no such source");
  return nb::cast(BuiltFragment{.event = nb::borrow(self), .fragment = &fragments[source]});
}

nb::str fragment_text(const BuiltFragment& self) {
  const KeptEvent::Fragment& fragment = *self.fragment;
  const nb::object why = fragment.here ? nb::cast(fragment.status) : nb::cast(fragment.missing);
  if (!fragment.here) return nb::str("<netio.Fragment, missing: {}>").format(why.attr("name"));
  return nb::str("<netio.Fragment of {} bytes, {}>")
      .format(fragment.bytes().size(), why.attr("name"));
}

nb::str event_text(const BuiltEvent& self) {
  const EventId id = self.event.id();
  return nb::str("<netio.Event {} of run {}, {}{}>")
      .format(id.number, id.run, self.event.complete() ? "complete" : "incomplete",
              self.event.again() ? ", again" : "");
}

void bind_events(nb::module_& module) {
  nb::class_<BuiltFragment>(module, "Fragment", nb::type_slots(fragment_slots), nb::pooled(1024),
                            "The fragment of one source: a read-only buffer that holds its event.")
      .def_prop_ro("status", [](const BuiltFragment& self) { return self.fragment->status; })
      .def_prop_ro("missing", [](const BuiltFragment& self) { return self.fragment->missing; })
      .def_prop_ro("here", [](const BuiltFragment& self) { return self.fragment->here; })
      .def("__bool__", [](const BuiltFragment& self) { return self.fragment->here; })
      .def("__repr__", &fragment_text);
  nb::class_<BuiltEvent>(module, "Event", nb::type_slots(event_slots), nb::pooled(128),
                         "An event: its fragments by source. Its builder is done with it when it "
                         "and all arrays of it are gone, with settle_released=True.")
      .def_prop_ro(
          "id", [](const BuiltEvent& self) { return event_tuple(self.event.id()); },
          "(run, number)")
      .def_prop_ro("complete", [](const BuiltEvent& self) { return self.event.complete(); })
      .def_prop_ro("again", [](const BuiltEvent& self) { return self.event.again(); })
      .def("__getitem__", &fragment, nb::arg("source"))
      .def("__repr__", &event_text);
}

}  // namespace

std::unique_ptr<SocketState> made_builder(ContextState& context, const AllOptions& options) {
  BuilderOptions builder = options.builder;
  builder.plan = options.plan;
  builder.socket = options.socket;
  return std::make_unique<BuilderState>(context, context.use("make a builder unit"), builder);
}

nb::object take_event(SocketState& state) {
  auto* const builder = dynamic_cast<BuilderState*>(&state);
  if (builder == nullptr) throw nb::type_error("this socket builds no events");
  auto& built = builder->built;
  if (built.empty()) return {};
  nb::object event = nb::cast(BuiltEvent{.event = std::move(built.front())});
  built.pop_front();
  return event;
}

void bind_builder(nb::module_& module, nb::class_<SocketBase>& type) {
  bind_events(module);
  type.def("_builder_bind",
           [](SocketBase& self, const std::string& address) {
             return builder(self, "bind").bind(address);
           })
      .def("_builder_join", [](SocketBase& self,
                               const std::string& manager) { builder(self, "join").join(manager); })
      .def("_builder_books", &books)
      .def("_builder_fill", [](SocketBase& self) { return builder(self, "ask for fill").fill(); })
      .def("_builder_counters",
           [](SocketBase& self) { return builder(self, "read the counters").counters(); });
}

}  // namespace netio::python
