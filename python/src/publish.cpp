// Publish and Subscribe: sets of tags, and what both sides are told of them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>
#include <vector>

#include "errors.hpp"
#include "state_of.hpp"

namespace netio::python {

namespace {

nb::list ranges_of(const std::vector<TagRange>& ranges) {
  nb::list list;
  for (const TagRange& range : ranges) list.append(nb::make_tuple(range.first, range.last));
  return list;
}

// Of a tag, a (first, last), or a range of Python.
TagRange range_of(nb::handle given) {
  if (nb::isinstance<nb::tuple>(given) && nb::len(given) == 2) {
    const auto pair = nb::cast<nb::tuple>(given);
    return {nb::cast<std::uint64_t>(pair[0]), nb::cast<std::uint64_t>(pair[1])};
  }
  if (PyRange_Check(given.ptr())) {
    if (!given.attr("step").equal(nb::int_(1)) || !nb::cast<bool>(given.attr("__bool__")())) {
      throw nb::value_error("a range of tags has the step 1, and is not empty");
    }
    return {nb::cast<std::uint64_t>(given.attr("start")),
            nb::cast<std::uint64_t>(given.attr("stop") - nb::int_(1))};
  }
  const auto tag = nb::cast<std::uint64_t>(given);
  return {tag, tag};
}

Subscribe& subscriber(SocketBase& self, const char* operation) {
  (void)self.socket(operation);
  auto* const state = dynamic_cast<StateOf<Subscribe>*>(&self.state(operation));
  if (state == nullptr) throw nb::type_error("this socket subscribes to nothing");
  return *state->get();
}

void change(SocketBase& self, bool more, nb::args tags) {
  Subscribe& socket = subscriber(self, "subscribe");
  std::vector<TagRange> ranges;
  try {
    for (nb::handle each : tags) ranges.push_back(range_of(each));
  } catch (const std::bad_cast&) {
    throw nb::type_error("a tag is a number from 0 to 2**64 - 1, or a range of them");
  }
  if (more) {
    socket.subscribe(ranges);
  } else {
    socket.unsubscribe(ranges);
  }
}

}  // namespace

void take_note_of_subscribers(SocketState& state, Publish& socket) {
  const auto note_ranges = [&state](const char* name) {
    return [&state, name](const PeerInfo& peer, std::span<const TagRange> ranges) {
      state.record([name, peer, ranges = std::vector<TagRange>(ranges.begin(), ranges.end())] {
        return nb::make_tuple(name, peer, ranges_of(ranges));
      });
    };
  };
  const auto note_peer = [&state](const char* name) {
    return [&state, name](const PeerSnapshot& peer) {
      state.record([name, peer] { return nb::make_tuple(name, peer); });
    };
  };
  socket.on_subscribe(note_ranges("subscribed_tags"));
  socket.on_unsubscribe(note_ranges("unsubscribed_tags"));
  socket.on_behind(note_peer("behind"));
  socket.on_caught_up(note_peer("caught_up"));
  socket.on_policy_changed(note_peer("policy_changed"));
}

void take_note_of_publishers(SocketState& state, Subscribe& socket) {
  socket.on_subscribed([&state](const PeerInfo& peer, const Subscribed& s) {
    state.record([peer, s] {
      return nb::make_tuple("subscribed", peer, s.revision, s.refused, s.from, s.policy,
                            s.behind_bytes_max, s.goes_on, s.detail);
    });
  });
}

void bind_publishing(nb::class_<SocketBase>& type) {
  type.def("_subscribe", [](SocketBase& self, nb::args tags) { change(self, true, tags); })
      .def("_unsubscribe", [](SocketBase& self, nb::args tags) { change(self, false, tags); })
      .def("_subscribed", [](SocketBase& self) {
        const auto ranges = subscriber(self, "list tags").subscribed();
        return ranges_of(std::vector<TagRange>(ranges.begin(), ranges.end()));
      });
}

}  // namespace netio::python
