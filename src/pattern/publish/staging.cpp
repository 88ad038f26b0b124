// Memory first, bytes later: nothing is copied for a message that is refused.
#include "pattern/publish/staging.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace netio::detail {

Status Staging::take(const Fit& fit, std::size_t bytes) {
  const Store* const store = &fit.large_store();
  const bool there = std::any_of(copies_.begin(), copies_.end(),
                                 [store](const Place& place) { return place.store == store; });
  if (there) return Status::ok;
  Fit::Taken taken = fit.take_shared(loan_headroom + wire_padded(bytes));
  if (!taken.lease) {
    waited_in_ = taken.short_of;
    return waited_in_ != nullptr ? Status::again : Status::too_big;
  }
  copies_.push_back({store, {std::move(taken.lease), nullptr}});
  return Status::ok;
}

const Staging::Copy& Staging::copy(const Fit& fit, std::span<const std::byte> message,
                                   Copies* copies) noexcept {
  const Store* const store = &fit.large_store();
  Copy& copy = std::find_if(copies_.begin(), copies_.end(), [store](const Place& place) {
                 return place.store == store;
               })->copy;
  if (copy.data == nullptr) {
    std::byte* const to = copy.lease->data() + loan_headroom;
    if (!message.empty()) std::memcpy(to, message.data(), message.size());
    if (copies != nullptr) copies->add(message.size());
    copy.data = to;
  }
  return copy;
}

}  // namespace netio::detail
