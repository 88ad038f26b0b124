// Memory first, bytes later: nothing is copied for a message that is refused.
#include "pattern/publish/staging.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/link.hpp"

namespace netio::detail {

Status Staging::take(RangePool* loans, std::size_t bytes) {
  const bool there = std::any_of(copies_.begin(), copies_.end(),
                                 [loans](const Place& place) { return place.loans == loans; });
  if (there) return Status::ok;
  const std::size_t all = loan_headroom + wire_padded(bytes);
  Place place;
  place.loans = loans;
  place.copy.lease = loans != nullptr ? loans->take(all) : large_pool_.take(all);
  if (!place.copy.lease) {
    waited_in_ = loans != nullptr ? static_cast<Store*>(loans) : &large_pool_;
    const bool later =
        loans != nullptr ? loans->could_ever_take(all) : large_pool_.could_ever_take(all);
    return later ? Status::again : Status::too_big;
  }
  copies_.push_back(std::move(place));
  return Status::ok;
}

const Staging::Copy& Staging::copy(const RangePool* loans, std::span<const std::byte> message,
                                   Copies* copies) noexcept {
  Copy& copy = std::find_if(copies_.begin(), copies_.end(), [loans](const Place& place) {
                 return place.loans == loans;
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
