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
std::size_t cost(std::size_t bytes) noexcept { return bytes + 64; }

// Shorter ones lie one behind the other. A longer one has memory of its own, from which it is
// posted without another copy.
constexpr std::size_t short_bytes_max = 4096;
}  // namespace

bool WaitingAnswers::add(Message& answer, Label label) noexcept {
  if (!answers_.make_room()) return false;
  bytes_ += cost(answer.size());
  answers_.push_back({std::move(answer), label});
  return true;
}

bool WaitingAnswers::add(std::span<const std::byte> answer, Label label) noexcept {
  if (answer.size() > short_bytes_max) {
    Message copy;
    guard_memory([&] { copy = Message::copy_of(answer); }, []() noexcept {});
    return copy && add(copy, label);
  }
  if (!answers_.make_room() || !short_ones_.push(answer)) return false;
  bytes_ += cost(answer.size());
  answers_.push_back({Message(), label, answer.size()});
  return true;
}

void WaitingAnswers::lose_first() noexcept {
  const Answer& first = answers_[0];
  bytes_ -= cost(first.message.size() + first.short_bytes);
  short_ones_.pop(first.short_bytes);
  answers_.pop_front();
}

void WaitingAnswers::go_to(OutgoingStream* stream) noexcept {
  if (stream_ != nullptr) stream_->put_below(nullptr);
  stream_ = stream;
  if (stream_ != nullptr) stream_->put_below(this);
}

// If there is no memory for an answer, it is lost, and the requester is told that some were.
void WaitingAnswers::take_back(OutgoingStream& stream) noexcept {
  GrowingRing<Answer> before;
  std::size_t bytes = 0;
  bool lost = false;
  stream.take_back_pending([&](Message message, Label label) {
    if (!message || !before.make_room()) {
      if (std::exchange(lost, true)) return false;
      stream.lose_one();  // this one
      return true;
    }
    bytes += cost(message.size());
    before.push_back({std::move(message), label});
    return true;
  });
  if (before.empty()) return;
  if (!before.make_room(answers_.size())) {
    if (!lost) stream.lose_one();
    return stream.drop_unposted(DropReason::not_sent, before.size() - (lost ? 0U : 1U));
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
    const std::size_t bytes = next.message.size() + next.short_bytes;
    posting_ = true;
    const Status status = post(next);
    posting_ = false;
    if (status != Status::ok && status != Status::too_big) return status;
    bytes_ -= cost(bytes);
    short_ones_.pop(std::exchange(next.short_bytes, 0));
    if (status == Status::too_big) {
      next.message = Message();
      next.label =
          request_label(next.label.number, static_cast<std::uint16_t>(AnswerStatus::not_answered));
      bytes_ += cost(0);
      continue;
    }
    answers_.pop_front();
    if (answers_.empty()) core_.waits_no_more(requester_);
  }
  // The stream has taken them. They are posted before anything else is, such as a good-bye.
  return stream_->pending_itself() ? stream_->post_pending() : Status::ok;
}

// One that says "not answered" is neither a message nor bytes.
Status WaitingAnswers::post(Answer& answer) noexcept {
  if (answer.message) return core_.post(*stream_, answer.message, answer.label);
  return core_.post(*stream_, short_ones_.front(answer.short_bytes), answer.label);
}

void WaitingAnswers::clear() noexcept {
  while (!answers_.empty()) answers_.pop_front();
  short_ones_.clear();
  bytes_ = 0;
}

}  // namespace netio::detail
