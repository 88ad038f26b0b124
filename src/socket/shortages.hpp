// Which stores of large memory are short, found out once for each check of all peers of a socket.
// Owner thread only.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "memory/large_pool.hpp"
#include "memory/range_pool.hpp"
#include "memory/store.hpp"

namespace netio::detail {

struct Shortage {
  const Store* store = nullptr;
  const Quota* strangers = nullptr;  // its quota for strangers
  std::size_t lack_memory = 0;       // the number of waiters by what they lack
  std::size_t lack_strangers_quota = 0;
};

class Shortages {
 public:
  explicit Shortages(const LargePool& large) noexcept { add(large); }
  // Adds the loans of a link, or nothing if the link has none.
  void look_at(const RangePool* loans) noexcept {
    if (loans != nullptr) add(*loans);
  }

  [[nodiscard]] std::span<const Shortage> all() const noexcept {
    return {shortages_.data(), count_};
  }
  [[nodiscard]] const Shortage& of_large_pool() const noexcept { return shortages_[0]; }

 private:
  // The large pool, and the loans of shm:// and of inproc://.
  static constexpr std::size_t stores_max = 3;

  template <typename SizedPool>
  void add(const SizedPool& pool) noexcept {
    for (const Shortage& known : all()) {
      if (known.store == &pool) return;
    }
    if (count_ == stores_max) return;
    using Lack = StoreWaiter::Lack;
    // A link that waits because the quota of its socket is spent is in the same line.
    const std::size_t lack_memory = pool.lacked() ? pool.count_waiters(Lack::memory) : 0;
    shortages_[count_++] = {&pool, &pool.strangers(), lack_memory,
                            pool.count_waiters(Lack::strangers_quota)};
  }

  std::array<Shortage, stores_max> shortages_;
  std::size_t count_ = 0;
};

}  // namespace netio::detail
