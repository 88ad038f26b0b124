// How much of the receive pool of a context a builder unit uses, and for what.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include <netio/builder_unit.hpp>
#include <netio/context.hpp>
#include <netio/status.hpp>

#include "socket/context_core.hpp"

namespace netio::detail {

inline constexpr std::size_t window_bytes_default_max = std::size_t{4} << 20U;
inline constexpr std::size_t window_bytes_least = std::size_t{16} << 10U;

// The options with the sizes that were not given. Throws Error if the pool is too small.
[[nodiscard]] inline BuilderOptions with_windows(BuilderOptions options, Context& context) {
  const ContextOptions& memory = context.core().options();
  const std::size_t pool = memory.receive_pool_bytes;
  // The memory of a page that is partly handed over counts as a whole, at both ends of a window.
  const std::size_t sources = std::max<std::size_t>(options.plan.sources, 1);
  const std::size_t blocks = sources * 8 * memory.page_bytes;
  if (options.keep_bytes_max == 0) options.keep_bytes_max = pool / 4;
  if (options.window_bytes == 0) {
    const std::size_t half = pool / 2;
    options.window_bytes =
        std::min((half - std::min(half, blocks)) / sources, window_bytes_default_max);
  }
  if (options.window_bytes < window_bytes_least || pool / 4 * 3 < blocks ||
      options.window_bytes > (pool / 4 * 3 - blocks) / sources) {
    throw Error("cannot make a builder unit",
                "a window of " + std::to_string(options.window_bytes) + " bytes for each of " +
                    std::to_string(sources) + " units does not fit a receive pool of " +
                    std::to_string(pool) + " bytes",
                "give the context more (ContextOptions::receive_pool_bytes) or the units less "
                "(BuilderOptions::window_bytes)");
  }
  options.socket.receive_bytes_max = pool;
  return options;
}

}  // namespace netio::detail
