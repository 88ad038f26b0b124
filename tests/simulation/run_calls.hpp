// Around each call and each call-back of a run.
#pragma once

#include <string>
#include <utility>

#include "simulation/play.hpp"
#include "simulation/run.hpp"

namespace netio::test {

// No call-back may come before it returns.
template <typename Call>
auto Run::user_call(const char* name, Call&& call) {
  struct Scope {
    World& world;
    const char* call;
    Run* caller;
    ~Scope() {
      world.call = call;
      world.caller = caller;
    }
  };
  const Scope scope{world_, std::exchange(world_.call, name), std::exchange(world_.caller, this)};
  return call();
}

template <typename Event>
void Run::event(CallBack which, const char* name, Event&& event) {
  if (!may_be_called(which, name)) return;
  in_call_back_ = which;
  event();
  if (!world_.calm()) act_in(which, name);
  in_call_back_.reset();
}

inline void Run::act_in(CallBack which, const char* name) {
  for (std::size_t i = 0; i < mischief_.size() && alive_ && !world_.failed(); ++i) {
    if (mischief_[i].in != which || mischief_[i].nth-- != 0) continue;
    world_.say(name_, " acts in ", name);
    world_.tally.add(Happened::in_call_back);
    play_.act(*this, mischief_[i].act);
  }
}

}  // namespace netio::test
