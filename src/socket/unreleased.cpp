// See unreleased.hpp.
#include "socket/unreleased.hpp"

#include <cstddef>
#include <utility>

namespace netio::detail {

// Messages of one block, one behind the other, are released together: so one count on it is enough.
void Unreleased::add(std::uint64_t position, Lease block) noexcept {
  if (!empty() && items_[items_.size() - 1].block.get() == block.get()) return;
  ++block->waiting_counts;
  items_.push_back({position, std::move(block)});
}

void Unreleased::look(const KeptMemory& kept) noexcept {
  while (!empty() && kept.released(first_block())) pop();
}

void Unreleased::look_at_all(const KeptMemory& kept) noexcept {
  look(kept);
  std::size_t left = 0;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (kept.released(*items_[i].block.get())) {
      --items_[i].block->waiting_counts;
      items_[i] = {};
    } else if (left++ != i) {
      items_[left - 1] = std::exchange(items_[i], {});
    }
  }
  while (items_.size() > left) items_.pop_back();
}

void Unreleased::clear() noexcept {
  while (!empty()) pop();
}

void Unreleased::pop() noexcept {
  --items_[0].block->waiting_counts;
  items_.pop_front();
}

}  // namespace netio::detail
