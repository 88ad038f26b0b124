// The clock of a schedule of event building, its random numbers, and what a process has not taken
// yet. All of it is determined by the seed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <utility>
#include <variant>

#include "build/build_messages.hpp"

namespace netio::test {

inline constexpr std::int64_t us = 1'000;
inline constexpr std::int64_t ms = 1'000'000;

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : engine_(seed) {}
  // From `least` to `most`.
  std::int64_t between(std::int64_t least, std::int64_t most) {
    const auto span = static_cast<std::uint64_t>(most - least) + 1;
    return least + static_cast<std::int64_t>(engine_() % span);
  }
  std::int64_t one_of(std::initializer_list<std::int64_t> values) {
    return values.begin()[between(0, static_cast<std::int64_t>(values.size()) - 1)];
  }
  bool in_thousand(std::int64_t part) { return between(0, 999) < part; }
  std::uint64_t number() { return engine_() | 1U; }

 private:
  std::mt19937_64 engine_;
};

class SimulatedClock {
 public:
  [[nodiscard]] std::int64_t now() const { return now_; }
  void after(std::int64_t delay, std::function<void()> work) {
    work_.emplace(std::pair(now_ + delay, next_++), std::move(work));
  }
  // False when nothing is left.
  bool step() {
    if (work_.empty()) return false;
    auto first = work_.extract(work_.begin());
    now_ = first.key().first;
    first.mapped()();
    return true;
  }
  [[nodiscard]] std::int64_t next() const {
    return work_.empty() ? INT64_MAX : work_.begin()->first.first;
  }

 private:
  std::int64_t now_ = 0;
  std::uint64_t next_ = 0;
  std::map<std::pair<std::int64_t, std::uint64_t>, std::function<void()>> work_;
};

// What has arrived at a process, which takes it in its order when it is not busy.
class Inbox {
 public:
  explicit Inbox(SimulatedClock& clock) : clock_(clock) {}

  void put(std::function<void()> work) {
    work_.push_back(std::move(work));
    wake();
  }
  void busy_for(std::int64_t time) { busy_until_ = std::max(busy_until_, clock_.now()) + time; }
  [[nodiscard]] bool busy() const { return busy_until_ > clock_.now(); }
  [[nodiscard]] std::int64_t busy_until() const { return busy_until_; }
  [[nodiscard]] bool empty() const { return work_.empty(); }
  // The process ends. What comes later is for the next one.
  void clear() {
    work_.clear();
    busy_until_ = 0;
    ++process_;
    waking_ = false;
  }

 private:
  void wake() {
    if (waking_ || work_.empty()) return;
    waking_ = true;
    clock_.after(std::max<std::int64_t>(busy_until_ - clock_.now(), 0), [this, of = process_] {
      if (of != process_) return;
      waking_ = false;
      while (of == process_ && !work_.empty() && !busy()) {
        const std::function<void()> work = std::move(work_.front());
        work_.pop_front();
        work();
      }
      if (of == process_) wake();
    });
  }

  SimulatedClock& clock_;
  std::deque<std::function<void()>> work_;
  std::int64_t busy_until_ = 0;
  std::uint64_t process_ = 0;
  bool waking_ = false;
};

struct SentFragment {
  detail::Fragment head;
  std::uint64_t memory = 0;
};
using OnWire = std::variant<detail::UnitMessage, SentFragment, detail::BuilderMessage>;

}  // namespace netio::test
