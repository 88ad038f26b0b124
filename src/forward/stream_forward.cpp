// See stream_forward.hpp.
#include "forward/stream_forward.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "socket/receive_core.hpp"

namespace netio::detail {

StreamForward::StreamForward(Receiving& from, Loop& loop)
    : ForwardCore(loop), from_(from), use_(from.receive_core().socket()) {
  held_.reserve(1);
}

StreamForward::~StreamForward() {
  from_.on_batch({});
  for (const Held& held : held_) (void)from_.resume_peer(held.from.peer);
  if (all_paused_ || finishing()) from_.resume();
}

void StreamForward::start() {
  from_.on_batch([this](const Batch& batch) { take(batch); });
}

void StreamForward::take(const Batch& batch) {
  const From from = from_.place();
  MessageCursor messages = batch.cursor();
  // Behind what is held of the same input: a connection that was made anew is not paused any more.
  if (!holds(from.peer, 0, held_.size())) {
    page_at_hand_ = &from_.receive_core().delivery.page;
    const Passed passed = pass_all(messages, from);
    if (passed == Passed::gone) return;
    page_at_hand_ = nullptr;
    if (passed == Passed::all) return;
  }
  hold(batch, static_cast<std::uint32_t>(batch.size()) - messages.left(), from);
}

StreamForward::Passed StreamForward::pass_all(MessageCursor& messages, const From& from) {
  while (messages.left() != 0) {
    const std::uint32_t before = messages.left();
    const Status status = pass(messages, from);
    books_.passed += before - messages.left();
    if (status == Status::ok) break;
    if (status != Status::too_big) return Passed::part;
    MessageCursor::Place place;
    if (!messages.next(place)) break;
    ++books_.dropped;
    if (!drop(messages.view(place))) return Passed::gone;
  }
  passed(from);
  return Passed::all;
}

// Whether one of these held pages is of this input.
bool StreamForward::holds(std::uint64_t input, std::size_t first, std::size_t last) const noexcept {
  return std::any_of(held_.begin() + static_cast<std::ptrdiff_t>(first),
                     held_.begin() + static_cast<std::ptrdiff_t>(last),
                     [input](const Held& held) { return held.from.peer == input; });
}

// There is room for one more held page. If no memory is left for another, all inputs are paused.
void StreamForward::hold(const Batch& batch, std::uint32_t done, const From& from) {
  const std::size_t rest = batch.size() - done;
  KeptBatch kept = batch.keep();
  MessageCursor left = kept.cursor();
  for (MessageCursor::Place place; done != 0 && left.next(place);) --done;
  if (done != 0 || left.left() == 0) {  // the peer has changed its page
    books_.dropped += rest;
    return;
  }
  held_.push_back({std::move(kept), left, from});
  if (inputs_are_apart()) {
    try {
      held_.reserve(held_.size() + 1);
      (void)from_.pause_peer(from.peer);
      return;
    } catch (const std::bad_alloc&) {
    }
  }
  all_paused_ = true;
  from_.pause();
}

void StreamForward::go_on() noexcept {
  if (held_.empty()) return;
  std::size_t left = 0;
  for (std::size_t i = 0; i < held_.size(); ++i) {
    Held& held = held_[i];
    const std::uint64_t input = held.from.peer;
    Passed passed = Passed::part;
    if (!holds(input, 0, left)) passed = pass_all(held.left, held.from);
    if (passed == Passed::gone) return;
    if (passed == Passed::all) {
      if (!holds(input, i + 1, held_.size())) (void)from_.resume_peer(input);
    } else {
      if (left != i) held_[left] = std::move(held);
      ++left;
    }
  }
  held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(left), held_.end());
  passed_later();
  if (left == 0 && std::exchange(all_paused_, false) && !finishing()) from_.resume();
}

void StreamForward::begin_to_end() { from_.pause(); }

void StreamForward::give_up() noexcept {
  for (const Held& held : held_) books_.dropped += held.left.left();
  held_.clear();
}

ForwardBooks StreamForward::books() const noexcept {
  ForwardBooks books = books_;
  for (const Held& held : held_) books.held += held.left.left();
  return books;
}

}  // namespace netio::detail
