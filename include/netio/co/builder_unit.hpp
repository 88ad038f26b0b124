// BuilderUnit for coroutines: one reader, resumed inside the unit's call-back with the event in
// place.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

#include <netio/builder_unit.hpp>
#include <netio/co/gate.hpp>

namespace netio::co {

// What receive() of a BuilderUnit gives. True if it is an event.
struct [[nodiscard]] Built {
  // ok: `event` or `run` is set. closed: this unit was closed, or end_receiving() was called.
  Status status = Status::closed;
  // The event, where its fragments lie: valid until this coroutine waits again, for whatever.
  // keep() it to have it longer. Null if there is none.
  const Event* event = nullptr;
  // A run is over, and each event of it was received: see BuilderUnit::on_run_end(). Valid until
  // this coroutine waits again. Null otherwise.
  const RunBooks* run = nullptr;

  // Whether it is an event, and the event:
  explicit operator bool() const noexcept { return event != nullptr; }
  const Event& operator*() const noexcept { return *event; }
  const Event* operator->() const noexcept { return event; }
};

}  // namespace netio::co

namespace netio::detail {

class BuiltGate : public Gate<BuilderUnit, co::Built> {
 public:
  BuiltGate(Loop& loop, BuilderUnit& unit, bool managed) : Gate(loop, unit, "receive an event") {
    unit.on_event([this](const Event& event) { deliver({Status::ok, &event}); });
    if (managed) return;
    unit.on_run_end([this](const RunBooks& run) { deliver({Status::ok, nullptr, &run}); });
  }
};

}  // namespace netio::detail

namespace netio::co {

// A netio::BuilderUnit whose events are awaited. While no coroutine waits, nothing is handed over,
// and units are held back when their windows are full. An event is settled when the coroutine waits
// again, for whatever, or ends; or later if it was kept (BuilderOptions::settle_released): who
// awaits that it is written keeps it.
//
// Destroying it answers `closed` to the coroutine that waits, from the loop. That must not touch it
// then. close() answers `closed` as well, and so does Context::close() at its end.
class BuilderUnit : public netio::BuilderUnit {
 public:
  // As netio::BuilderUnit.
  BuilderUnit(Context& context, const BuilderOptions& options)
      : netio::BuilderUnit(context, options),
        loop_(context.loop()),
        gate_(loop_, *this, options.plan.managed) {
    on_closed({});
  }
  ~BuilderUnit() {
    if (gone_ != nullptr) *gone_ = true;
    closing_.resume_later(loop_, false);
  }
  BuilderUnit(const BuilderUnit&) = delete;
  BuilderUnit& operator=(const BuilderUnit&) = delete;

  // Waits for the next event, for the end of a run, or for the end of all: see Built. One coroutine
  // may wait at a time; a second one gets an Error, thrown from its co_await.
  [[nodiscard]] auto receive() { return detail::BuiltGate::Awaiter(gate_); }

  // From now on receive() answers `closed`, also to the coroutine that waits, from the loop. Units
  // stay connected. To end in order with events that are kept: call this, release them on whatever
  // thread they are, and close().
  void end_receiving() noexcept { gate_.close(); }

  // Begins to close at once, whether it is awaited or not. Awaiting the result, now or later, waits
  // for the end of the closing, and gives true; false if this was destroyed while a coroutine
  // waited. One coroutine at a time may wait. The result must not outlive this, unless a coroutine
  // waits for it.
  auto close(std::chrono::nanoseconds linger = std::chrono::seconds(5)) {
    netio::BuilderUnit::close(linger, {});
    gate_.close();
    return closing_.wait();
  }

  // As of netio::BuilderUnit. It is called before the coroutines that wait are resumed.
  void on_closed(std::function<void()> call) {
    netio::BuilderUnit::on_closed([this, call = std::move(call)] {
      const detail::GoneWatch watch(gone_);
      if (call) call();
      if (watch.gone()) return;
      gate_.close();
      closing_.end(loop_, true);
    });
  }

 private:
  using netio::BuilderUnit::on_event;
  using netio::BuilderUnit::on_range;
  using netio::BuilderUnit::on_run_end;
  using netio::BuilderUnit::pause;
  using netio::BuilderUnit::resume;

  Loop& loop_;
  detail::BuiltGate gate_;
  detail::WaitingPlace<bool> closing_;
  bool* gone_ = nullptr;
};

}  // namespace netio::co
