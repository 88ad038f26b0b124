// What ends with the loop: the frames of coroutines that still wait.
#include <cassert>

#include <netio/loop.hpp>

namespace netio {

void Loop::at_end(detail::Deferred& work) noexcept {
  assert(on_owner_thread() && !work.scheduled());
  work.next_ = &endings_;
  work.prev_ = endings_.prev_;
  work.prev_->next_ = endings_.prev_ = &work;
}

void Loop::run_endings() noexcept {
  while (endings_.next_ != &endings_) {
    detail::Deferred& work = *endings_.next_;
    work.cancel();
    work.run_deferred();
  }
}

}  // namespace netio
