// See request_forward.hpp.
#include "forward/request_forward.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "pattern/reply/reply_core.hpp"
#include "pattern/request/request_core.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

namespace {

// What may wait here for requesters that take no answers, of all together. Their answers beyond
// that are dropped: the memory is that which answers for others are read into.
constexpr std::size_t answer_bytes_max = std::size_t{8} << 20U;

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
      use_to_(to.request_core().socket()) {
  to_.on_reply([this](std::uint64_t id, const MessageView& view) { answer(id, view); });
  // Its ReplyTo tells the requester.
  to_.on_failed([this](std::uint64_t id, Outcome) { waiting_.erase(id); });
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
}

void RequestForward::take(const MessageView& request, ReplyTo to) {
  Message message = request.share();
  const Status status = ask(message, to);
  if (status == Status::ok) return;
  if (status == Status::too_big) {
    ++books_.dropped;
    return drop(request);
  }
  held_ = Waiting{request.keep(), std::move(to)};
  from_.pause();
}

// `to` waits for the answer if it is ok.
Status RequestForward::ask(Message& request, ReplyTo& to) {
  std::uint64_t id = 0;
  const std::size_t bytes = request.size();
  const Status status = to_.send(std::move(request), id, ask_for(to));
  if (status != Status::ok) return status;
  waiting_.emplace(id, std::move(to));
  ++books_.passed;
  books_.bytes += bytes;
  return status;
}

void RequestForward::answer(std::uint64_t id, const MessageView& answer) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  ReplyTo to = std::move(found->second);
  waiting_.erase(found);
  const Status status = to.send(answer.share());
  if (status == Status::again && answer_bytes_ + answer.size() <= answer_bytes_max) {
    answers_.push_back({answer.keep(), std::move(to)});
    answer_bytes_ += answer.size();
  } else if (status == Status::again || status == Status::too_big) {
    ++books_.dropped;  // and the requester is told that it has no answer
    drop(answer);
  }
}

void RequestForward::go_on_asking() {
  if (!held_) return;
  const Status status = held_->to.wanted() ? ask(held_->message, held_->to) : Status::not_connected;
  if (status == Status::again || (status == Status::not_connected && held_->to.wanted())) return;
  if (status == Status::too_big) {
    ++books_.dropped;
    const Message& message = held_->message;
    drop(MessageView::of_kept(message.block(), message.bytes(), 0));
  }
  held_.reset();
  if (!finishing()) from_.resume();
}

// One requester that takes none does not stop the others.
void RequestForward::go_on_answering() {
  std::size_t left = 0;
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    const std::size_t bytes = answers_[i].message.size();
    const Status status = answers_[i].to.send(std::move(answers_[i].message));
    if (status == Status::again) {
      if (left != i) answers_[left] = std::move(answers_[i]);
      ++left;
      continue;
    }
    answer_bytes_ -= bytes;
    if (status == Status::too_big) ++books_.dropped;
  }
  answers_.erase(answers_.begin() + static_cast<std::ptrdiff_t>(left), answers_.end());
}

bool RequestForward::ended() {
  to_.flush();
  return waiting_.empty() && !held_ && answers_.empty();
}

void RequestForward::give_up() noexcept {
  books_.dropped += (held_ ? 1U : 0U) + answers_.size() + waiting_.size();
  held_.reset();
  answers_.clear();
  answer_bytes_ = 0;
  waiting_.clear();
}

ForwardBooks RequestForward::books() const noexcept {
  ForwardBooks books = books_;
  books.held = (held_ ? 1U : 0U) + answers_.size();
  books.unsettled = waiting_.size();
  return books;
}

}  // namespace netio::detail
