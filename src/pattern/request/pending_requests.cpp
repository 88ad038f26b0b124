// See pending_requests.hpp.
#include "pattern/request/pending_requests.hpp"

#include <utility>

#include "base/out_of_memory.hpp"

namespace netio::detail {

PendingRequest* PendingRequests::next_free() noexcept {
  if (free_ == nullptr && requests_.size() <= index_mask) {
    guard_memory(
        [this] {
          const std::uint64_t index = requests_.size();
          requests_.emplace_back();
          requests_.back().id = one_use | index;
          free_ = &requests_.back();
        },
        []() noexcept {});
  }
  return free_;
}

void PendingRequests::take(PendingRequest& request) noexcept {
  free_ = request.next;
  request.user_id = request.id;
  request.attempts = 0;
  request.owes_cancel = false;
  request.next = request.previous = nullptr;
}

void PendingRequests::free(PendingRequest& request) noexcept {
  request.state = PendingRequest::State::free;
  request.copy = Message();
  renew_id(request);
  if (request.id == 0) return;
  request.next = std::exchange(free_, &request);
}

void PendingRequests::renew_id(PendingRequest& request) noexcept {
  request.id = request.id > UINT64_MAX - one_use ? 0 : request.id + one_use;
}

PendingRequest* PendingRequests::find(std::uint64_t id) noexcept {
  const std::uint64_t index = id & index_mask;
  if (index >= requests_.size()) return nullptr;
  PendingRequest& request = requests_[static_cast<std::size_t>(index)];
  return request.id == id && request.state != PendingRequest::State::free ? &request : nullptr;
}

PendingRequest* PendingRequests::find_of_user(std::uint64_t user_id) noexcept {
  const std::uint64_t index = user_id & index_mask;
  if (index >= requests_.size()) return nullptr;
  PendingRequest& request = requests_[static_cast<std::size_t>(index)];
  const bool used = request.state != PendingRequest::State::free;
  return used && request.user_id == user_id ? &request : nullptr;
}

}  // namespace netio::detail
