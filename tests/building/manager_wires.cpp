// See manager_wires.hpp.
#include "building/manager_wires.hpp"

#include <algorithm>
#include <utility>

#include "building/describe.hpp"
#include "building/simulated_builder.hpp"
#include "building/simulated_manager.hpp"
#include "building/simulated_unit.hpp"

namespace netio::test {

void ManagerWire::dial() {
  if (dialing_ || has_[0]) return;
  dialing_ = true;
  const std::int64_t most = std::min(play_.drawn.deadline / 8, 20 * ms);
  play_.clock.after(play_.chance.between(0, most), [this] {
    dialing_ = false;
    if (!ends_[0].lives() || has_[0]) return;
    // The manager has to hear of the end of the connection before first.
    if (ends_[manager].lives() && !has_[manager] && cut_off_until_ <= play_.clock.now()) {
      return made();
    }
    dial();
  });
}

void ManagerWire::made() {
  ++id_;
  up_ = true;
  has_ = {true, true};
  on_wire_ = {};
  refused_ = {};
  up_since_ = play_.clock.now();
  play_.say(client_ + " and the manager are connected");
  ends_[0].put([this, id = id_] {
    if (id_ == id && has_[0]) ends_[0].connected();
  });
}

void ManagerWire::cut(bool told_soon) {
  if (!up_) return;
  up_ = false;
  play_.say("the connection of " + client_ + " and the manager is cut");
  const std::int64_t most = told_soon ? 10 * us : play_.drawn.deadline / 8;
  for (const std::size_t end : {0U, 1U}) {
    play_.clock.after(play_.chance.between(0, most), [this, end, id = id_] { tell(end, id); });
  }
}

void ManagerWire::cut_off(std::int64_t time) {
  cut_off_until_ = play_.clock.now() + time;
  play_.say(client_ + " and the manager are cut off");
  cut(false);
}

void ManagerWire::client_died() {
  cut(true);
  has_[0] = false;
}

void ManagerWire::manager_died() {
  cut(true);
  has_[manager] = false;
}

void ManagerWire::tell(std::size_t end, std::uint64_t id) {
  if (!ends_[end].lives()) return;
  ends_[end].put([this, end, id] {
    if (id_ != id || !has_[end]) return;
    has_[end] = false;
    ends_[end].disconnected();
    if (end == 0) dial();
  });
}

bool ManagerWire::put(bool to_manager, const WithManager& message, std::int64_t now_ns) {
  if (!up_) return true;  // nobody knows it yet, and what is put on it is lost
  const std::size_t to = to_manager ? manager : 0;
  if (on_wire_[to] >= play_.drawn.on_wire_max) {
    refused_[to] = true;
    return false;
  }
  ++on_wire_[to];
  const std::int64_t now = std::max(play_.clock.now(), now_ns);
  last_at_[to] = std::max(last_at_[to], now + play_.chance.between(1, play_.drawn.latency));
  play_.clock.after(last_at_[to] - play_.clock.now(), [this, to, id = id_, message] {
    if (id_ != id || !up_) return;
    ends_[to].put([this, to, id, message] {
      if (id_ != id || !has_[to]) return;
      --on_wire_[to];
      if (play_.settings.trace) {
        play_.say((to == 0 ? "manager to " + client_ : client_ + " to manager") + ": " +
                  describe(message));
      }
      ends_[to].received(message);
      if (refused_[to] && up_) tell_writable(1 - to, id);
    });
  });
  return true;
}

void ManagerWire::tell_writable(std::size_t end, std::uint64_t id) {
  refused_[1 - end] = false;
  if (!ends_[end].lives()) return;
  ends_[end].put([this, end, id] {
    if (id_ == id && has_[end]) ends_[end].writable();
  });
}

namespace {

ManagerEnd end_of_unit(Play& play, std::uint32_t source) {
  const auto unit = [&play, source]() -> SimulatedUnit& { return *play.units[source]; };
  return {[unit] { return unit().lives(); },
          [unit](std::function<void()> work) { unit().put(std::move(work)); },
          [unit] { unit().protocol->managed()->manager_connected(); },
          [unit](const WithManager& message) {
            unit().protocol->managed()->manager_received(
                std::get<detail::ManagerToUnit>(std::get<FromManager>(message)));
          },
          [unit] { unit().protocol->managed()->manager_disconnected(); },
          [unit] { unit().protocol->managed()->manager_writable(); }};
}

ManagerEnd end_of_builder(Play& play, std::uint32_t number) {
  const auto builder = [&play, number]() -> SimulatedBuilder& { return *play.builders[number]; };
  return {[builder] { return builder().lives(); },
          [builder](std::function<void()> work) { builder().put(std::move(work)); },
          [builder] { builder().protocol->managed()->manager_connected(); },
          [builder](const WithManager& message) {
            builder().protocol->managed()->manager_received(
                std::get<detail::ManagerToBuilder>(std::get<FromManager>(message)));
          },
          [builder] { builder().protocol->managed()->manager_disconnected(); },
          [builder] { builder().protocol->managed()->manager_writable(); }};
}

ManagerEnd end_of_manager(Play& play, std::uint32_t number, bool unit) {
  const auto manager = [&play]() -> SimulatedManager& { return *play.manager; };
  return {[manager] { return manager().lives(); },
          [manager](std::function<void()> work) { manager().put(std::move(work)); },
          [] {},
          [manager, number, unit](const WithManager& message) {
            manager().received(number, unit, std::get<ToManager>(message));
          },
          [manager, number, unit] { manager().disconnected(number, unit); },
          [manager, number, unit] { manager().writable(number, unit); }};
}

}  // namespace

ManagerWires::ManagerWires(Play& play) : play_(play) {
  const detail::BuildPlan& plan = play.drawn.plan;
  wires_.reserve(plan.sources + plan.builders);
  for (std::uint32_t each = 0; each < plan.sources; ++each) {
    wires_.emplace_back(play, "unit " + text(each), end_of_unit(play, each),
                        end_of_manager(play, each, true));
  }
  for (std::uint32_t each = 0; each < plan.builders; ++each) {
    wires_.emplace_back(play, "builder " + text(each), end_of_builder(play, each),
                        end_of_manager(play, each, false));
  }
}

void ManagerWires::dial_all() {
  for (ManagerWire& each : wires_) each.dial();
}

void ManagerWires::manager_died() {
  for (ManagerWire& each : wires_) each.manager_died();
}

void ManagerWires::no_more_faults() {
  for (ManagerWire& each : wires_) each.no_more_faults();
}

}  // namespace netio::test
