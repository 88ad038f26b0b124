// A grave is looked at when something in it was released.
#include "transport/ofi/ring_graves.hpp"

#include <utility>

#include "base/out_of_memory.hpp"

namespace netio::detail {

void OfiRingGraves::bury(std::unique_ptr<OfiRing> ring) noexcept {
  if (ring == nullptr || !ring->outlives_link()) return;
  guard_memory(
      [&] {
        Grave& grave = graves_.emplace_back(std::move(ring), [this] { loop_.defer(*this); });
        bytes_ += grave.ring->bytes();
        grave.ring->store().wait(grave.waiter);
      },
      []() noexcept {});
}

// Not from inside a store that serves who waits in it.
void OfiRingGraves::run_deferred() noexcept {
  for (auto at = graves_.begin(); at != graves_.end();) {
    at->ring->collect();
    if (!at->ring->waits_for_others()) {
      bytes_ -= at->ring->bytes();
      at = graves_.erase(at);
      continue;
    }
    if (!at->waiter.waiting()) at->ring->store().wait(at->waiter);
    ++at;
  }
}

std::string OfiRingGraves::why_full() const {
  if (bytes_ <= bytes_max_) return {};
  return "messages that are kept here hold " + std::to_string(bytes_ >> 20U) + " MiB of rings of " +
         std::to_string(graves_.size()) +
         " connections that have gone: release them, or raise receive_pool_bytes";
}

}  // namespace netio::detail
