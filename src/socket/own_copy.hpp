// A message of segments in memory that a peer may change, over shm, is copied before it is sent on,
// and the copy checked: nobody else is sent a table that is wrong.
#pragma once

#include <netio/message.hpp>

namespace netio::detail {

[[nodiscard]] bool may_change(const Message& message) noexcept;
// Without a table if that is wrong. Empty without memory for it.
[[nodiscard]] Message own_copy(const Message& message) noexcept;

}  // namespace netio::detail
