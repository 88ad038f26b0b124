// A message of segments in memory that a peer may change, over shm, is copied before it is sent on,
// and the copy checked: nobody else is sent a table that is wrong.
#pragma once

#include <cstddef>

#include <netio/message.hpp>

#include "memory/block.hpp"

namespace netio::detail {

[[nodiscard]] bool may_change(const Message& message) noexcept;
// Without a table if that is wrong. Empty without memory for it.
[[nodiscard]] Message own_copy(const Message& message) noexcept;
// The same in this memory, behind so many bytes. It has room for the message and its table.
[[nodiscard]] Message own_copy_in(const Message& message, Lease memory,
                                  std::size_t headroom) noexcept;

}  // namespace netio::detail
