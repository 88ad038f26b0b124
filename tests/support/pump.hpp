// Turns several loops on one thread until a condition holds or a time limit passes. Waits in
// poll(2) on their descriptors when none has work, so that a loaded machine is not loaded more.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <initializer_list>
#include <poll.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <netio/context.hpp>
#include <netio/loop.hpp>

namespace netio::test {

using namespace std::chrono_literals;  // NOLINT: tests speak of 20ms

// Long enough for a loaded machine under a sanitizer; only a failing test ever waits it out.
inline constexpr std::chrono::seconds soon_max = 30s;

class Pump {
 public:
  Pump() = default;
  Pump(std::initializer_list<Context*> contexts) {
    for (Context* context : contexts) add(*context);
  }

  void add(Context& context) { loops_.push_back(&context.loop()); }
  void remove(Context& context) { std::erase(loops_, &context.loop()); }
  // Called after every turn; for what must hold at every moment.
  void after_each_turn(std::function<void()> check) { checks_.push_back(std::move(check)); }
  void forget_checks() { checks_.clear(); }

  // One turn of each loop; waits at most `idle` if none of them did anything.
  void turn(std::chrono::milliseconds idle = 1ms) {
    bool worked = false;
    for (std::size_t i = 0; i < loops_.size(); ++i) {
      worked |= loops_[i]->run_once(std::chrono::nanoseconds(0));
    }
    for (const auto& check : checks_) check();
    if (!worked && idle > 0ms) wait(idle);
  }
  void turns(int count) {
    for (int i = 0; i < count; ++i) turn(0ms);
  }
  void run_for(std::chrono::nanoseconds duration) {
    const auto end = std::chrono::steady_clock::now() + duration;
    do {
      turn();
    } while (std::chrono::steady_clock::now() < end);
  }

  // `what` is the condition as text; see ASSERT_SOON.
  template <class Condition>
  testing::AssertionResult until(Condition&& condition, std::string_view what,
                                 std::chrono::nanoseconds limit = soon_max) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
      if (std::chrono::steady_clock::now() >= end) {
        return testing::AssertionFailure()
               << "after " << std::chrono::duration<double>(limit).count()
               << " s still not: " << std::string(what);
      }
      turn();
    }
    return testing::AssertionSuccess();
  }

 private:
  void wait(std::chrono::milliseconds idle) {
    descriptors_.clear();
    for (Loop* loop : loops_) descriptors_.push_back({loop->fd(), POLLIN, 0});
    (void)::poll(descriptors_.data(), descriptors_.size(), static_cast<int>(idle.count()));
  }

  std::vector<Loop*> loops_;
  std::vector<std::function<void()>> checks_;
  std::vector<pollfd> descriptors_;
};

}  // namespace netio::test

// Turns the loops of `pump` until the condition holds; fails with its text on time-out.
#define ASSERT_SOON(pump, ...) \
  ASSERT_TRUE((pump).until([&] { return static_cast<bool>(__VA_ARGS__); }, #__VA_ARGS__))
#define EXPECT_SOON(pump, ...) \
  EXPECT_TRUE((pump).until([&] { return static_cast<bool>(__VA_ARGS__); }, #__VA_ARGS__))
