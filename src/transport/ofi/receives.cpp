// Slots are posted, filled, lent to the link and posted again.
#include "transport/ofi/receives.hpp"

#include <utility>

namespace netio::detail {

OfiReceives::OfiReceives(OfiOperationsOwner& owner, CompletionQueue& queue, Device& device,
                         Pool& pool, Quota* quota, std::size_t window_max)
    : OfiOperations(owner, queue, window_max),
      device_(device),
      pool_(pool),
      quota_(quota),
      slots_(window_max) {
  free_.reserve(window_max);
  spare_.reserve(window_max);
  for (std::size_t i = window_max; i != 0; --i) free_.push_back(static_cast<std::uint32_t>(i - 1));
}

long OfiReceives::post(Endpoint& endpoint, std::size_t window) noexcept {
  starved_ = false;
  long posted = 0;
  while (in_use() < window) {
    const std::size_t slot = free_.back();
    Lease& page = slots_[slot];
    if (!page && !spare_.empty()) {
      page = std::move(spare_.back());
      spare_.pop_back();
    }
    if (!page) page = pool_.take(quota_);
    starved_ = !page;
    if (starved_) break;
    const std::span<std::byte> bytes(page->data(), page->capacity());
    void* const descriptor = device_.local(page.get(), bytes).descriptor;
    const long answer = endpoint.receive(bytes, descriptor, &operations_[slot]);
    if (answer != 0) return posted != 0 ? posted : answer;
    free_.pop_back();
    ++posted;
  }
  if (in_use() >= window) spare_.clear();
  return posted;
}

long OfiReceives::post_for_immediates(Endpoint& endpoint, std::size_t window) noexcept {
  spare_.clear();
  long posted = 0;
  while (in_use() < window) {
    const std::size_t slot = free_.back();
    const long answer = endpoint.receive_immediate(&operations_[slot]);
    if (answer != 0 && posted == 0 && words_without_receives_ == 0) return answer;
    if (answer != 0) break;
    free_.pop_back();
    ++posted;
  }
  return posted + std::exchange(words_without_receives_, 0);
}

void OfiReceives::give_back(std::size_t slot) noexcept {
  Lease page = std::move(slots_[slot]);
  if (page && page->sole()) {  // else kept by the user: it is theirs now
    Store::forget_kept(*page.get());
    spare_.push_back(std::move(page));
  }
  free_.push_back(static_cast<std::uint32_t>(slot));
}

void OfiReceives::on_completion(Operation& operation, std::size_t bytes) noexcept {
  owner_.on_arrival(index_of(operation), bytes);
}

void OfiReceives::on_immediate(Operation* receive, std::uint64_t word) noexcept {
  if (receive != nullptr) {
    give_back(index_of(*receive));
  } else {
    ++words_without_receives_;
  }
  owner_.on_immediate(static_cast<std::uint32_t>(word));
}

}  // namespace netio::detail
