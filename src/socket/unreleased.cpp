// See unreleased.hpp.
#include "socket/unreleased.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/out_of_memory.hpp"

namespace netio::detail {

bool Unreleased::make_room() noexcept {
  if (ring_.size() - count_ >= KeptMemory::noted_max) return true;
  bool made = true;
  guard_memory(
      [this] {
        std::vector<Item> larger(std::max<std::size_t>(16, 2 * ring_.size()));
        for (std::size_t i = 0; i < count_; ++i) larger[i] = std::move(at(i));
        ring_ = std::move(larger);
        first_ = 0;
      },
      [&made]() noexcept { made = false; });
  return made;
}

// Messages of one block, one behind the other, are released together: so one count on it is enough.
void Unreleased::add(std::uint64_t position, Lease block) noexcept {
  if (count_ != 0 && at(count_ - 1).block.get() == block.get()) return;
  assert(count_ < ring_.size());
  ++block->waiting_counts;
  at(count_++) = {position, std::move(block)};
}

void Unreleased::look(const KeptMemory& kept) noexcept {
  while (count_ != 0 && kept.released(first_block())) pop();
}

void Unreleased::look_at_all(const KeptMemory& kept) noexcept {
  look(kept);
  std::size_t left = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (kept.released(*at(i).block.get())) {
      let_go(at(i));
    } else if (left++ != i) {
      at(left - 1) = std::exchange(at(i), {});
    }
  }
  count_ = left;
}

void Unreleased::clear() noexcept {
  while (count_ != 0) pop();
}

void Unreleased::let_go(Item& item) noexcept {
  --item.block->waiting_counts;
  item = {};
}

void Unreleased::pop() noexcept {
  let_go(at(0));
  first_ = (first_ + 1) & (ring_.size() - 1);
  --count_;
}

}  // namespace netio::detail
