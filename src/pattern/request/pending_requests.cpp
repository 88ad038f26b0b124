// See pending_requests.hpp.
#include "pattern/request/pending_requests.hpp"

#include <utility>

#include "base/out_of_memory.hpp"

namespace netio::detail {

PendingRequest* PendingRequests::add_free() noexcept {
  if (count_ <= index_mask) guard_memory([this] { add_record(); }, []() noexcept {});
  return free_;
}

bool PendingRequests::has_free(std::size_t count) noexcept {
  std::size_t free = 0;
  for (const PendingRequest* each = free_; each != nullptr && free < count; each = each->next) {
    ++free;
  }
  for (; free < count; ++free) {
    PendingRequest* const others = std::exchange(free_, nullptr);
    if (add_free() == nullptr) {
      free_ = others;
      return false;
    }
    free_->next = others;
  }
  return true;
}

void PendingRequests::add_record() {
  if (count_ == chunks_.size() * chunk_records) {
    chunks_.push_back(std::make_unique<PendingRequest[]>(chunk_records));
  }
  const std::uint64_t index = count_++;
  free_ = at(index);
  free_->id = one_use | index;
}

PendingRequest* PendingRequests::find_of_user(std::uint64_t user_id) noexcept {
  PendingRequest* const request = at(user_id & index_mask);
  if (request == nullptr || request->state == PendingRequest::State::free) return nullptr;
  return request->user_id == user_id ? request : nullptr;
}

}  // namespace netio::detail
