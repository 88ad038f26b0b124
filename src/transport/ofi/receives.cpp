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

void OfiReceives::give_back(std::size_t slot) noexcept {
  Lease page = std::move(slots_[slot]);
  if (page->sole()) {  // else kept by the user: it is theirs now
    Store::forget_kept(*page.get());
    spare_.push_back(std::move(page));
  }
  free_.push_back(static_cast<std::uint32_t>(slot));
}

void OfiReceives::on_completion(Operation& operation, std::size_t bytes) noexcept {
  owner_.on_arrival(index_of(operation), bytes);
}

}  // namespace netio::detail
