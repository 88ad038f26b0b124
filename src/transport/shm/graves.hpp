// Memory of this context that peers still read after their connection has ended. Owner thread only.
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include <netio/loop.hpp>

#include "base/file_descriptor.hpp"
#include "memory/range_pool.hpp"
#include "transport/shm/sends.hpp"

namespace netio::detail {

// What one peer holds. It is free when the peer has closed its end of the lifeline, or has died.
struct ShmGrave {
  FileDescriptor lifeline;
  std::vector<ShmHold> holds;
  std::size_t arena_bytes = 0;  // of these, and
  std::size_t loan_bytes = 0;
  std::optional<Watch> watch;
};

class ShmGraves {
 public:
  // Each costs a descriptor.
  static constexpr std::size_t count_max = 256;

  explicit ShmGraves(Loop& loop) : loop_(loop) {}
  ShmGraves(const ShmGraves&) = delete;
  ShmGraves& operator=(const ShmGraves&) = delete;

  // A list of one, made when there was memory.
  void bury(std::list<ShmGrave> grave) noexcept;
  // Peers that have gone hold as much as they may: nobody is let in until some of it is free again.
  // One sentence that says why, or an empty string. The graves lie in `arena` and `loans`.
  [[nodiscard]] std::string why_full(Pool& arena, RangePool& loans);
  [[nodiscard]] std::size_t count() const noexcept { return graves_.size(); }

 private:
  void watch_all() noexcept;
  void open(std::list<ShmGrave>::iterator grave) noexcept;

  Loop& loop_;
  std::list<ShmGrave> graves_;
  // In all graves.
  std::size_t arena_bytes_ = 0;
  std::size_t loan_bytes_ = 0;
};

}  // namespace netio::detail
