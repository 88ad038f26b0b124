// What goes wrong on purpose, and when: steps of the run, each at its share of it.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include <netio/netio.hpp>

namespace demo {

class Disturbances {
 public:
  struct Step {
    double at = 0;  // 0 to 1 of the run
    std::function<void()> act;
  };

  // The steps in their order.
  Disturbances(netio::Loop& loop, std::vector<Step> steps)
      : steps_(std::move(steps)), timer_(loop, [this] { act(); }) {}

  void start(std::chrono::duration<double> run) {
    run_ = run;
    wait();
  }
  void stop() noexcept { timer_.stop(); }

 private:
  void wait() {
    if (next_ == steps_.size()) return;
    const double before = next_ == 0 ? 0 : steps_[next_ - 1].at;
    timer_.start_once(
        std::chrono::duration_cast<std::chrono::nanoseconds>(run_ * (steps_[next_].at - before)));
  }
  void act() {
    steps_[next_].act();
    ++next_;
    wait();
  }

  std::vector<Step> steps_;
  std::size_t next_ = 0;
  std::chrono::duration<double> run_{};
  netio::Timer timer_;
};

}  // namespace demo
