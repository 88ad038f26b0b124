// See waiting_answers.hpp.
#include "pattern/reply/waiting_answers.hpp"

#include <utility>

#include "base/out_of_memory.hpp"
#include "pattern/reply/reply_core.hpp"
#include "socket/outgoing_stream.hpp"
#include "wire/request.hpp"

namespace netio::detail {

namespace {
// With its record, so that empty ones count too.
std::size_t cost(const Message& answer) noexcept { return answer.size() + 64; }
}  // namespace

bool WaitingAnswers::add(Message& answer, Label label) noexcept {
  if (!answers_.make_room()) return false;
  bytes_ += cost(answer);
  answers_.push_back({std::move(answer), label});
  return true;
}

void WaitingAnswers::lose_first() noexcept {
  bytes_ -= cost(answers_[0].message);
  answers_.pop_front();
}

void WaitingAnswers::go_to(OutgoingStream* stream) noexcept {
  if (stream_ != nullptr) stream_->put_below(nullptr);
  stream_ = stream;
  if (stream_ != nullptr) stream_->put_below(this);
}

// Answers that there is no memory for are dropped: their requests end when their time is over.
void WaitingAnswers::take_back(OutgoingStream& stream) noexcept {
  GrowingRing<Answer> before;
  std::size_t bytes = 0;
  stream.take_back_pending([&](Message message, Label label) {
    if (!before.make_room()) return false;
    bytes += cost(message);
    before.push_back({std::move(message), label});
    return true;
  });
  if (before.empty()) return;
  if (!before.make_room(answers_.size())) {
    return stream.drop_unposted(DropReason::not_sent, before.size());
  }
  while (!answers_.empty()) {
    before.push_back(std::move(answers_[0]));
    answers_.pop_front();
  }
  answers_.swap(before);
  bytes_ += bytes;
}

std::size_t WaitingAnswers::bytes_in(const StorePart& memory) const noexcept {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    const Block* const block = answers_[i].message.block();
    if (block != nullptr && memory.has(*block)) bytes += answers_[i].message.size();
  }
  return bytes;
}

// What the requester does not take any more, because it came back with another limit, becomes a
// request that is not answered.
Status WaitingAnswers::post_waiting() noexcept {
  if (posting_) return Status::ok;
  while (!answers_.empty()) {
    Answer& next = answers_[0];
    const std::size_t bytes = cost(next.message);
    posting_ = true;
    Status status = core_.post(*stream_, next.message, next.label);
    posting_ = false;
    if (status == Status::too_big) {
      next.message = Message();
      next.label =
          request_label(next.label.number, static_cast<std::uint16_t>(AnswerStatus::not_answered));
      bytes_ -= bytes - cost(next.message);
      continue;
    }
    if (status != Status::ok) return status;
    bytes_ -= bytes;
    answers_.pop_front();
    if (answers_.empty()) core_.waits_no_more(requester_);
  }
  // The stream has taken them. They are posted before anything else is, such as a good-bye.
  return stream_->pending_itself() ? stream_->post_pending() : Status::ok;
}

void WaitingAnswers::clear() noexcept {
  while (!answers_.empty()) answers_.pop_front();
  bytes_ = 0;
}

}  // namespace netio::detail
