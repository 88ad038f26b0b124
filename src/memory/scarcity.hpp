// When what is sent on is better copied than held in the memory that it was received into.
#pragma once

#include "memory/block.hpp"
#include "memory/quota.hpp"

namespace netio::detail {

// Less than half is left, of all of this memory or of what one socket may hold of it. A message
// that waits in it for a slow peer takes it from the peers that are read next. Owner thread.
[[nodiscard]] inline bool is_scarce(const Block& memory) noexcept {
  const Quota* const quota = memory.quota;
  return memory.owner()->runs_low() ||
         (quota != nullptr && quota->bytes_used() > quota->bytes_max() / 2);
}

}  // namespace netio::detail
