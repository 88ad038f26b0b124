// Memory that is asked for before it is needed. A function of nothing but prefetches is one without
// effect to a compiler, which leaves out its calls: hence always_inline.
#pragma once

#include <cstddef>

namespace netio::detail {

inline constexpr std::size_t cache_line_bytes = 64;
// Of what is longer, the machine asks for the rest itself.
inline constexpr std::size_t prefetch_bytes_max = 4 * cache_line_bytes;

// The bytes are of memory that is mapped.
[[gnu::always_inline]] inline void prefetch_to_read(const std::byte* from,
                                                    std::size_t bytes) noexcept {
  for (std::size_t at = 0; at < bytes; at += cache_line_bytes) __builtin_prefetch(from + at, 0);
}
[[gnu::always_inline]] inline void prefetch_to_write(const std::byte* from,
                                                     std::size_t bytes) noexcept {
  for (std::size_t at = 0; at < bytes; at += cache_line_bytes) __builtin_prefetch(from + at, 1);
}

}  // namespace netio::detail
