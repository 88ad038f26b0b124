// Gives out what came, page by page or message by message.
#include "inbox.hpp"

#include <utility>

namespace netio::python {

void Inbox::taken_all() noexcept {
  streams_ = pages_.size() > 1;
  pages_.clear();
  next_ = bytes_ = 0;
  if (receiving_ != nullptr && receiving_->paused() && !paused_) receiving_->resume();
}

void Inbox::detach() noexcept {
  receiving_ = nullptr;
  if (cursor_.left() == 0) return;
  at_hand_.batch.reduce_to(cursor_);
  cursor_ = at_hand_.batch.cursor();
}

void Inbox::pause(bool paused) noexcept {
  paused_ = paused;
  if (receiving_ == nullptr) return;
  if (paused) {
    receiving_->pause();
  } else if (pages_.size() < pages_max && bytes_ < bytes_max) {
    receiving_->resume();
  }
}

bool Inbox::open_next() noexcept {
  if (next_ == pages_.size()) return false;
  at_hand_ = std::move(pages_[next_++]);
  // A small message is kept apart from its page, as that may be done while the socket lives.
  cursor_ = receiving_ != nullptr ? at_hand_.batch.own_cursor() : at_hand_.batch.cursor();
  return true;
}

ReceivedBatch Inbox::take_batch() {
  ReceivedBatch taken;
  if (cursor_.left() != 0) {
    taken = std::move(at_hand_);
    taken.batch.reduce_to(std::exchange(cursor_, {}));
  }
  while (!taken.batch && next_ < pages_.size()) taken = std::move(pages_[next_++]);
  if (next_ != 0 && next_ == pages_.size()) taken_all();
  return taken;
}

Message Inbox::take_message(std::uint64_t& sender) {
  detail::MessageCursor::Place place;
  while (!cursor_.next(place)) {
    at_hand_.batch = {};
    if (!open_next()) {
      if (next_ != 0) taken_all();
      return {};
    }
  }
  sender = at_hand_.sender;
  return cursor_.view(place).keep();
}

}  // namespace netio::python
