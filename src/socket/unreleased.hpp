// The messages of one peer that its user has kept and not released, in order. With
// Acknowledge::released nothing from the first of them on is acknowledged. Messages are known by
// the blocks that they lie in: one is released when nobody uses its block any more. Owner thread
// only.
#pragma once

#include <cstdint>

#include "base/growing_ring.hpp"
#include "memory/kept_memory.hpp"

namespace netio::detail {

class Unreleased {
 public:
  Unreleased() = default;
  Unreleased(const Unreleased&) = delete;
  Unreleased& operator=(const Unreleased&) = delete;
  ~Unreleased() { clear(); }

  // For what may be kept of one page. False without memory.
  [[nodiscard]] bool make_room() noexcept { return items_.make_room(KeptMemory::noted_max); }
  // Of the messages from `position` on, some that lie in this block were kept. Positions never
  // fall. There is room.
  void add(std::uint64_t position, Lease block) noexcept;
  // Forgets what was released before the first that was not. Behind it empty() says whether
  // anything is left, and first() from where on.
  void look(const KeptMemory& kept) noexcept;
  // And what was released behind it: its memory goes home. Looks at all of them.
  void look_at_all(const KeptMemory& kept) noexcept;
  [[nodiscard]] bool empty() const noexcept { return items_.empty(); }
  [[nodiscard]] std::uint64_t first() const noexcept { return items_[0].position; }
  // Where the first lies. Not if empty.
  [[nodiscard]] const Block& first_block() const noexcept { return *items_[0].block.get(); }
  void clear() noexcept;

 private:
  struct Item {
    std::uint64_t position = 0;
    Lease block;
  };
  void pop() noexcept;

  GrowingRing<Item> items_;
};

}  // namespace netio::detail
