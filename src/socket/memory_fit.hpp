// Fits the memory of a context to the control groups of the process, which in a container have less
// than the machine.
#pragma once

#include <cstddef>

#include <netio/context.hpp>

#include "memory/control_group.hpp"

namespace netio::detail {

// Receive blocks hold several pages, so that one read can take many.
inline constexpr std::size_t pages_per_block = 4;
// Fewer would leave a socket unable to fill one page while another is on the wire.
inline constexpr std::size_t blocks_min = 4;

// Options that are as ContextOptions has them become smaller if the lowest limit asks for it: the
// pools get half of the limit, messages over a page half of the rest. The other options stay, and
// an Error is thrown if they do not fit: pools into what is left now, large_bytes_max below the
// limit. No limit: the options as they are.
[[nodiscard]] ContextOptions fit_memory(ContextOptions options, const ControlGroup& groups);

}  // namespace netio::detail
