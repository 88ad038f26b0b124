// The memory that one peer's messages are sent from, and how much of it is left for all the
// others. Owner thread only.
#pragma once

#include <cstddef>

#include "memory/block.hpp"
#include "memory/copies.hpp"
#include "memory/large_pool.hpp"
#include "memory/pool.hpp"
#include "memory/range_pool.hpp"

namespace netio::detail {

struct Supplies {
  Pool& pages;
  LargePool& large;
  RangePool* loans;  // null if the wire has none
  Copies& copies;    // counts what is copied from one to another

  // Of them, what the lease takes of memory that is short first: none of pages.
  [[nodiscard]] std::size_t large_bytes(const Lease& lease) const noexcept {
    if (!lease) return 0;
    const bool loan = loans != nullptr && loans->owns(*lease.get());
    return loan || large.owns(*lease.get()) ? lease->capacity() : 0;
  }
  // Whether the store that the lease is of has so much left that nobody has to save. Of other
  // memory, the user's for example, there is always plenty.
  [[nodiscard]] bool plenty(const Lease& lease) const noexcept {
    if (!lease) return true;
    if (loans != nullptr && loans->owns(*lease.get())) return loans->plenty();
    return !large.owns(*lease.get()) || large.plenty();
  }
  // Whether it has so little left that a peer which may lose messages must not hold on to this.
  [[nodiscard]] bool scarce(const Lease& lease) const noexcept {
    if (!lease) return false;
    if (loans != nullptr && loans->owns(*lease.get())) return loans->scarce(*lease.get());
    return large.owns(*lease.get()) && large.scarce(*lease.get());
  }
};

}  // namespace netio::detail
