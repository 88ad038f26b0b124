// What the user may destroy inside one of its own call-backs, while it is on the stack: the core of
// a socket, a unit or an event manager. Owner thread only.
#pragma once

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
  // Of a unit: this is its copy in a child of fork(). Nothing may be written to memory of the
  // parent.
  virtual void freeze() noexcept {}
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

}  // namespace netio::detail
