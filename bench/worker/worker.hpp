// One end of a measurement as a process, or both as two threads of one. The system runs on the main
// thread; another obeys the lines on standard input and answers each with one line of JSON:
//   snap    what was counted and used so far
//   record  round trips count from now on; a publisher or a read-out end begins, the latter at the
//           time that may follow, in ns of the steady clock
//   stop    (or the end of input) the system stops; a requester or a build end then says its
//           histogram
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <thread>

#include <nlohmann/json_fwd.hpp>

#include "worker/clock.hpp"
#include "worker/histogram.hpp"
#include "worker/options.hpp"
#include "worker/tally.hpp"

namespace netio::bench {

class Worker {
 public:
  // `binder`: the end that binds, if it is a thread of this process, and then outlives this one.
  explicit Worker(const Options& options, const Worker* binder = nullptr);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const Options options;
  Tally tally;

  // Of an open loop: who is that far behind sends no more before some have returned.
  static constexpr std::uint64_t requests_under_way_max = 1000;

  // Bound (to `port`) or connected: the other end may be started, or the clock.
  void ready(std::uint16_t port = 0);
  // For who runs this end on a thread: called instead of telling the command, which then knows
  // nothing of it; it is never told to stop, and goes with the process.
  void on_ready(std::function<void()> told) { told_ = std::move(told); }
  // How a system that sleeps is woken to see stopping(): any thread calls it. Before ready().
  void on_stop(std::function<void()> wake) { wake_ = std::move(wake); }
  [[nodiscard]] bool stopping() const noexcept { return stopping_.load(std::memory_order_relaxed); }

  // What a snap says beside or instead of the rest. The control thread calls it. Before ready().
  void on_snap(std::function<void(nlohmann::ordered_json&)> more) { more_ = std::move(more); }
  // What the last line says beside the rest. The main thread calls it, in finish().
  void on_finish(std::function<void(nlohmann::ordered_json&)> more) { last_ = std::move(more); }
  // Of a publisher or a read-out end: all that are to receive are there.
  [[nodiscard]] bool told_to_begin() const noexcept {
    return recording_.load(std::memory_order_acquire);
  }

  // When a read-out end begins, so that all begin together; 0: at once.
  [[nodiscard]] std::int64_t begin_ns() const noexcept { return begin_ns_; }

  // Of a requester: the reply has come, so long after it was sent, or was to be. Of a build end:
  // the event is whole, so long after its first fragment was sent.
  void round_trip(std::int64_t ns) noexcept {
    if (recording_.load(std::memory_order_relaxed)) {
      round_trips_.add(ns < 0 ? 0 : static_cast<std::uint64_t>(ns));
    }
  }
  // Blocks until the wake-up call has been made and has returned. Before what it uses goes.
  void join() { control_.join(); }
  // The last line, from the main thread.
  void finish();

 private:
  void obey();
  void answer(const std::string& line);

  // What is measured is counted at the receiving end, and at the one that asks.
  [[nodiscard]] const Worker& counting() const noexcept {
    return binder_ != nullptr && options.role == Role::send ? *binder_ : *this;
  }
  [[nodiscard]] std::uint64_t faults() const noexcept {
    return tally.faults() + (binder_ != nullptr ? binder_->tally.faults() : 0);
  }

  const Worker* binder_;
  std::function<void()> told_;
  std::function<void()> wake_;
  std::function<void(nlohmann::ordered_json&)> more_;
  std::function<void(nlohmann::ordered_json&)> last_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> recording_{false};
  std::int64_t begin_ns_ = 0;  // written before recording_ is set
  Histogram round_trips_;
  std::thread control_;
};

// When requests are to be sent: each at its time (a rate), or when the last has returned.
class Pace {
 public:
  explicit Pace(double rate) noexcept : interval_ns_(rate > 0 ? 1e9 / rate : 0), begin_(now_ns()) {}
  [[nodiscard]] bool open_loop() const noexcept { return interval_ns_ > 0; }
  // When request `number` is to leave. Open loop only.
  [[nodiscard]] std::int64_t at(std::uint64_t number) const noexcept {
    return begin_ + static_cast<std::int64_t>(interval_ns_ * static_cast<double>(number));
  }
  // For systems that send one at a time: waits until it is time for request `number`, if there is
  // a rate, and says from when it counts.
  [[nodiscard]] std::int64_t wait(std::uint64_t number, bool sleeps) const;

 private:
  double interval_ns_;
  std::int64_t begin_;
};

// What a system's messages can travel over beside the kernel's sockets; the rest is refused.
struct Reach {
  bool fabrics = false;
  bool memory = false;
  bool loans = false;
  bool publishes = false;
  bool surfaces = false;  // beside the usual one
  bool requests = false;  // beside the usual round trips
  bool concurrent = false;
  bool relays = false;
  bool builds = false;
  bool meshes = false;            // on sockets
  bool meshes_elsewhere = false;  // on fabrics and in memory, too
  bool pages = false;             // have a size that may be chosen
  bool rings = false;             // on fabrics
  bool both_ways = false;         // an end may send and receive at once
  bool points = false;            // delays of parts
  bool paced = false;             // one way at a rate
};

// Says {"error": ...} and ends the process.
[[noreturn]] void end_with(const std::exception& error);

// A worker's main(): `run` does what worker.options.role says, until worker.stopping(). An
// exception ends it with a line {"error": ...}.
int worker_main(int argc, char** argv, const char* system, void (*run)(Worker&), Reach reach = {});

}  // namespace netio::bench
