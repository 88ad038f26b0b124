// What the user may destroy inside one of its own call-backs, while it is on the stack: the core of
// a socket, a unit or an event manager. Owner thread only.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

namespace netio::detail {

class Buriable {
 public:
  Buriable() = default;
  Buriable(const Buriable&) = delete;
  Buriable& operator=(const Buriable&) = delete;
  virtual ~Buriable() = default;

  // No more call-backs, no more connections: about to be destroyed, perhaps while on the stack.
  virtual void abandon() noexcept = 0;
  [[nodiscard]] bool abandoned() const noexcept { return abandoned_; }

 protected:
  // Calls the user, unless there is no such call, or the user has destroyed this in an earlier one.
  // What the user throws ends the process.
  template <typename Call, typename... Arguments>
  void tell(Call& call, Arguments&&... arguments) const noexcept {
    if (call && !abandoned_) call(std::forward<Arguments>(arguments)...);
  }

  bool abandoned_ = false;

 private:
  friend class ContextCore;
  std::unique_ptr<Buriable> buried_before_;  // in its context's list
};

// A unit or an event manager: it has sockets of its own, and ends them itself.
class SocketOwner : public Buriable {
 public:
  // This is its copy in a child of fork(). Nothing may be written to memory of the parent.
  virtual void freeze() noexcept {}
  // The context is being closed: it ends in order, within `linger`. Also if it ends already, or for
  // the second time: that may leave it less time, and never more. Takes no memory.
  virtual void end_within(std::chrono::nanoseconds linger) noexcept = 0;
  [[nodiscard]] virtual bool has_ended() const noexcept = 0;
  // Those of its context that do not are waited for by it: they go on until it has ended.
  [[nodiscard]] virtual bool ends_first() const noexcept { return false; }
};

}  // namespace netio::detail
