// The values of keys: numbers, sizes, times, tags, with units as the netio command has them. Each
// function throws BadValue. Any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <netio/subscription.hpp>

namespace netio::detail {

inline constexpr std::uint64_t bytes_most = std::uint64_t{1} << 40U;

// 1000, without a unit, from `least` to `most`; a minus sign only if `least` is negative.
[[nodiscard]] std::int64_t parse_number(std::string_view text, std::int64_t least,
                                        std::int64_t most);
// 1000, 10k or 1.5M.
[[nodiscard]] std::size_t parse_count(std::string_view text, std::uint64_t least,
                                      std::uint64_t most);
// 64, 64KiB or 1.5MB; up to 1 TiB.
[[nodiscard]] std::size_t parse_bytes(std::string_view text, std::uint64_t least = 1);
// 5 (seconds), 2.5s, 10ms, 100us, 2min or 1h; up to a year.
[[nodiscard]] std::chrono::nanoseconds parse_time(std::string_view text);
// The same, but more than 0.
[[nodiscard]] std::chrono::nanoseconds parse_some_time(std::string_view text);
// true, false, 1 or 0.
[[nodiscard]] bool parse_bool(std::string_view text);
// 0.75
[[nodiscard]] double parse_share(std::string_view text);
// "7", "0x1f", "3-9;12"; "all"; "none". Also with commas, which only JSON can hold.
[[nodiscard]] std::vector<TagRange> parse_tags(std::string_view text);

}  // namespace netio::detail
