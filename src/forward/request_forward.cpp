// See request_forward.hpp.
#include "forward/request_forward.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/out_of_memory.hpp"
#include "memory/copy_thresholds.hpp"
#include "memory/scarcity.hpp"
#include "pattern/reply/reply_core.hpp"
#include "pattern/request/request_core.hpp"
#include "socket/own_copy.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

namespace {

// What may wait here for requesters that take no answers, of all together. Their answers beyond
// that are dropped: the memory is that which answers for others are read into.
constexpr std::size_t answer_bytes_max = std::size_t{8} << 20U;

// A message that waits for a slow peer holds the whole block that it was received into, and others
// have to be read into such blocks. So a short message is copied, and any message where the blocks
// are scarce. `send` takes bytes or a message.
template <typename Send>
Status send_on(const MessageView& view, Send&& send) {
  const Block* const memory = view.block();
  const bool copies = memory != nullptr &&
                      (view.size() < memory->capacity() / shared_block_part || is_scarce(*memory));
  if (copies && !view.segmented()) return send(view.bytes());
  Message message = view.share();
  if (copies) message = own_copy(message);
  return message ? send(std::move(message)) : Status::again;
}

// The time that is left travels with a request. What is over by now is asked for the least time.
Ask ask_for(const ReplyTo& to) noexcept {
  Ask ask;
  if (const auto left = to.time_left()) {
    ask.within = std::max(*left, std::chrono::nanoseconds(std::chrono::milliseconds(1)));
  }
  return ask;
}

}  // namespace

RequestForward::RequestForward(Reply& from, Request& to, Loop& loop)
    : ForwardCore(loop),
      from_(from),
      to_(to),
      use_from_(from.reply_core().socket()),
      use_to_(to.request_core().socket()),
      retry_(loop, [this] { go_on_asking(); }) {
  to_.on_reply([this](std::uint64_t id, const MessageView& view) { answer(id, view); });
  // Its ReplyTo tells the requester.
  to_.on_failed([this](std::uint64_t id, Outcome) { (void)take_out(id); });
  to_.on_writable([this] { go_on_asking(); });
  from_.on_writable([this] { go_on_answering(); });
  from_.on_request(
      [this](const MessageView& request, ReplyTo reply) { take(request, std::move(reply)); });
}

RequestForward::~RequestForward() {
  from_.on_request({});
  from_.on_writable({});
  to_.on_reply({});
  to_.on_failed({});
  to_.on_writable({});
  if (held_ || finishing()) from_.resume();
}

// For one more request that is asked, so that its answer finds who asked it.
bool RequestForward::make_room() noexcept {
  bool made = true;
  if (!places_.empty()) return made;
  guard_memory(
      [this] {
        asked_.reserve(places_made_ + 1);
        places_.reserve(places_made_ + 1);
        places_.push_back(asked_.extract(asked_.emplace(0, ReplyTo()).first));
        ++places_made_;
      },
      [&made]() noexcept { made = false; });
  return made;
}

// Who waits for this one, if anybody does.
ReplyTo RequestForward::take_out(std::uint64_t id) noexcept {
  const auto found = asked_.find(id);
  if (found == asked_.end()) return {};
  places_.push_back(asked_.extract(found));  // there is room for all of them
  return std::exchange(places_.back().mapped(), {});
}

// `to` waits for the answer if it is ok.
template <typename What>
Status RequestForward::ask(What&& request, ReplyTo& to) {
  std::uint64_t id = 0;
  const std::size_t bytes = request.size();
  const Status status =
      make_room() ? to_.send(std::forward<What>(request), id, ask_for(to)) : Status::again;
  // It may be memory for the record of a request that is missing, here or in the output.
  if (status == Status::again) retry_.start_once(retry_after);
  if (status != Status::ok) return status;
  places_.back().key() = id;
  places_.back().mapped() = std::move(to);
  asked_.insert(std::move(places_.back()));
  places_.pop_back();
  ++books_.passed;
  books_.bytes += bytes;
  return status;
}

void RequestForward::take(const MessageView& request, ReplyTo to) {
  const Status status = send_on(
      request, [&](auto&& message) { return ask(std::forward<decltype(message)>(message), to); });
  if (status == Status::ok) return;
  if (status == Status::too_big) {
    ++books_.dropped;
    (void)drop(request);
    return;
  }
  held_ = Waiting{request.keep(), std::move(to)};
  from_.pause();
}

void RequestForward::answer(std::uint64_t id, const MessageView& answer) {
  ReplyTo to = take_out(id);
  if (!to) return;
  const Status status = send_on(
      answer, [&to](auto&& message) { return to.send(std::forward<decltype(message)>(message)); });
  if (status == Status::again && answer_bytes_ + answer.size() <= answer_bytes_max &&
      answers_.make_room()) {
    answers_.push_back({answer.keep(), std::move(to)});
    answer_bytes_ += answer.size();
  } else if (status == Status::again || status == Status::too_big) {
    ++books_.dropped;  // and the requester is told that it has no answer
    (void)drop(answer);
  }
}

void RequestForward::go_on_asking() {
  if (!held_) return;
  const Status status =
      held_->to.wanted() ? ask(std::move(held_->message), held_->to) : Status::not_connected;
  if (status == Status::again || (status == Status::not_connected && held_->to.wanted())) return;
  if (status == Status::too_big) {
    ++books_.dropped;
    const Message& message = held_->message;
    if (!drop(MessageView::of_kept(message.block(), message.bytes(), 0))) return;
  }
  held_.reset();
  if (!finishing()) from_.resume();
}

// One requester that takes none does not stop the others.
void RequestForward::go_on_answering() {
  for (std::size_t left = answers_.size(); left != 0; --left) {
    Waiting next = std::move(answers_[0]);
    answers_.pop_front();
    const std::size_t bytes = next.message.size();
    const Status status = next.to.send(std::move(next.message));
    if (status == Status::again) {
      answers_.push_back(std::move(next));  // in its place
      continue;
    }
    answer_bytes_ -= bytes;
    if (status != Status::too_big) continue;
    ++books_.dropped;
    const Message& message = next.message;
    if (!drop(MessageView::of_kept(message.block(), message.bytes(), 0))) return;
  }
}

bool RequestForward::ended() {
  to_.flush();
  return asked_.empty() && !held_ && answers_.empty();
}

void RequestForward::give_up() noexcept {
  books_.dropped += (held_ ? 1U : 0U) + answers_.size();
  given_up_ += asked_.size();
  held_.reset();
  while (!answers_.empty()) answers_.pop_front();
  answer_bytes_ = 0;
  asked_.clear();
  places_made_ = places_.size();
}

ForwardBooks RequestForward::books() const noexcept {
  ForwardBooks books = books_;
  books.held = (held_ ? 1U : 0U) + answers_.size();
  books.unsettled = asked_.size() + given_up_;
  return books;
}

}  // namespace netio::detail
