// Who is called when it is worth trying again to send: the user, and then each forward to the
// socket. Owner thread only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "base/call_back.hpp"

namespace netio::detail {

class WritableWaiter {
 public:
  virtual void on_writable() noexcept = 0;

 protected:
  ~WritableWaiter() = default;
};

class WritableCalls {
 public:
  void set(std::function<void()> user) { user_ = std::move(user); }
  // Throws std::bad_alloc. Also from inside a call: the others keep their places.
  void add(WritableWaiter& waiter) {
    const auto free = std::find(waiters_.begin(), waiters_.end(), nullptr);
    if (free != waiters_.end()) {
      *free = &waiter;
    } else {
      waiters_.push_back(&waiter);
    }
  }
  // Also from inside a call.
  void remove(WritableWaiter& waiter) noexcept {
    std::replace(waiters_.begin(), waiters_.end(), &waiter, static_cast<WritableWaiter*>(nullptr));
  }
  void call() {
    if (user_) user_();
    for (std::size_t i = 0; i < waiters_.size(); ++i) {
      if (waiters_[i] != nullptr) waiters_[i]->on_writable();
    }
  }

 private:
  CallBack<void()> user_;
  std::vector<WritableWaiter*> waiters_;
};

}  // namespace netio::detail
