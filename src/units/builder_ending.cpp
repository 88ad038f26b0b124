// See builder_core.hpp. Here: how a builder ends.
#include <algorithm>
#include <utility>

#include "socket/context_core.hpp"
#include "units/builder_core.hpp"

namespace netio::detail {

void BuilderCore::close(std::chrono::nanoseconds linger, std::function<void()> then) {
  const std::chrono::nanoseconds now = loop_.now();
  linger_ = std::min(context().bound(linger), std::chrono::nanoseconds::max() - now);
  until_ = now + linger_;
  then_ = std::move(then);
  closing_ = true;
  // The protocol is on the stack while an event is handed over.
  ends_ = hands_over_;
  if (!ends_) end();
  loop_.defer(*this);
}

void BuilderCore::take_releases() noexcept {
  releases_->take([this](EventId event) { static_cast<void>(protocol_.release(event)); });
  note_fill();
}

// Also once more, with a new linger. It takes no memory.
void BuilderCore::end() {
  take_releases();  // of another thread, which the loop has not been told of
  protocol_.tell_settled();
  timer_.stop();
  if (membership_) membership_->close(linger_);
  socket_.close(linger_);
}

void BuilderCore::end_within(std::chrono::nanoseconds linger) noexcept {
  close(closing_ ? std::min(linger, until_ - loop_.now()) : linger, std::exchange(then_, {}));
}

bool BuilderCore::has_ended() const noexcept {
  if (abandoned()) return true;
  return closing_ && socket_.closed() && (!membership_ || membership_->closed());
}

void BuilderCore::ended() {
  if (!has_ended()) return;
  const std::function<void()> then = std::exchange(then_, {});
  tell(then);
  if (!std::exchange(closed_told_, true)) tell(on_closed);
}

}  // namespace netio::detail
