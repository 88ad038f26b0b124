// See pending_requests.hpp.
#include "pattern/request/pending_requests.hpp"

#include <utility>

#include "base/out_of_memory.hpp"

namespace netio::detail {

PendingRequest* PendingRequests::next_free() noexcept {
  if (free_ == nullptr && count_ <= index_mask) {
    guard_memory([this] { add_record(); }, []() noexcept {});
  }
  return free_;
}

void PendingRequests::add_record() {
  if (count_ == chunks_.size() * chunk_records) {
    chunks_.push_back(std::make_unique<PendingRequest[]>(chunk_records));
  }
  const std::uint64_t index = count_++;
  free_ = at(index);
  free_->id = one_use | index;
}

void PendingRequests::take(PendingRequest& request) noexcept {
  free_ = request.next;
  request.user_id = request.id;
  request.outcome = Outcome::not_executed;
  request.attempts = 0;
  request.owes_cancel = false;
  request.next = request.previous = nullptr;
}

void PendingRequests::free(PendingRequest& request) noexcept {
  request.state = PendingRequest::State::free;
  if (request.idempotent) request.copy = Message();
  renew_id(request);
  if (request.id == 0) return;
  request.next = std::exchange(free_, &request);
}

void PendingRequests::renew_id(PendingRequest& request) noexcept {
  request.id = request.id > UINT64_MAX - one_use ? 0 : request.id + one_use;
}

PendingRequest* PendingRequests::find_of_user(std::uint64_t user_id) noexcept {
  PendingRequest* const request = at(user_id & index_mask);
  if (request == nullptr || request->state == PendingRequest::State::free) return nullptr;
  return request->user_id == user_id ? request : nullptr;
}

}  // namespace netio::detail
