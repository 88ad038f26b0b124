// Event building: a read-out unit, a builder unit and an event manager, as sockets of Python.
#pragma once

#include <memory>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <string>
#include <utility>

#include <netio/netio.hpp>

#include "errors.hpp"
#include "options.hpp"
#include "socket.hpp"

namespace netio::python {

// The state of a unit, which is no Socket: how it ends, and its books until then and afterwards.
template <class Unit, class BooksOfUnit>
class UnitState : public SocketState {
 public:
  using SocketState::SocketState;
  [[nodiscard]] Socket* socket() noexcept override { return nullptr; }
  [[nodiscard]] bool alive() noexcept override { return unit != nullptr; }
  [[nodiscard]] bool ended() noexcept override { return unit == nullptr || done; }
  void end() override {
    if (unit == nullptr) return;
    last_ = unit->books();
    unit.reset();
    end_loans();
  }
  [[nodiscard]] BooksOfUnit books() const { return unit != nullptr ? unit->books() : last_; }
  // What is called at the end of finish() or close().
  auto then() {
    return [this] {
      done = true;
      for (const Kind kind : {Kind::closed, Kind::readable, Kind::writable, Kind::event}) {
        happened(kind);
      }
    };
  }

  // A peer does not work with this side.
  void refused(std::string why) {
    failed(why);
    record_refused(std::move(why));
  }
  void record_refused(std::string why) {
    record([why = std::move(why)] { return nb::make_tuple("refused", why); });
  }

  std::unique_ptr<Unit> unit;
  bool done = false;

 private:
  BooksOfUnit last_{};
};

// The state of this kind, which `name` says for people; and the same while its unit lives.
template <class State>
State& state_of(SocketBase& self, const char* operation, const char* name) {
  auto* const state = dynamic_cast<State*>(&self.state(operation));
  if (state == nullptr) throw nb::type_error((std::string("this is no ") + name).c_str());
  return *state;
}
template <class State>
State& living(SocketBase& self, const char* operation, const char* name) {
  State& state = state_of<State>(self, operation, name);
  if (state.unit == nullptr) {
    throw_closed(operation, (std::string("the ") + name + " is closed").c_str());
  }
  return state;
}

// An event as (run, number).
EventId event_id(nb::handle given);
nb::tuple event_tuple(EventId id);

std::unique_ptr<SocketState> made_readout(ContextState& context, const AllOptions& options);
std::unique_ptr<SocketState> made_builder(ContextState& context, const AllOptions& options);
std::unique_ptr<SocketState> made_manager(ContextState& context, const AllOptions& options);
// The next event of a builder; null if there is none.
nb::object take_event(SocketState& state);
void bind_readout(nb::class_<SocketBase>& type);
void bind_builder(nb::module_& module, nb::class_<SocketBase>& type);
void bind_manager(nb::class_<SocketBase>& type);

}  // namespace netio::python
