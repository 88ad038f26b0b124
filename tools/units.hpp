// Quantities as people write and read them: 64KiB, 2.5M, 10Gb/s, 100ms.
// k, M, G, T are powers of 1000; Ki, Mi, Gi, Ti of 1024. Parsers throw std::invalid_argument with
// a message that names the text.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace netio::cli {

// "64KiB", "1MB", "1k", "100"; "1.5M" if it comes to whole bytes.
[[nodiscard]] std::uint64_t parse_bytes(std::string_view text);
// As above without a "B".
[[nodiscard]] std::uint64_t parse_count(std::string_view text);

struct Rate {
  double per_second = 0;
  bool in_bytes = false;  // else in messages
};
// "50k" and "50k/s" are messages a second; "1GB/s" bytes; "10Gb/s" bits.
[[nodiscard]] Rate parse_rate(std::string_view text);

// "5", "5s", "100ms", "2min", "1h"; at most a year.
[[nodiscard]] std::chrono::nanoseconds parse_duration(std::string_view text);

// 1234567 -> "1,234,567"
[[nodiscard]] std::string grouped(std::uint64_t count);
// 19234567 -> "19.2 MB", "19.2 M messages": three digits and a power of 1000.
[[nodiscard]] std::string scaled(double value, std::string_view unit);
// 65536 -> "64 KiB" where that is exact, else scaled(): for limits.
[[nodiscard]] std::string binary_bytes(std::uint64_t bytes);
// "0.524 s", "12.3 s", "2 min 05 s", "1 h 02 min"
[[nodiscard]] std::string duration_text(double seconds);
// 45210 -> "45.2 us": three digits of ns, us, ms or s.
[[nodiscard]] std::string time_text(std::uint64_t ns);
[[nodiscard]] inline double seconds_of(std::chrono::nanoseconds time) noexcept {
  return std::chrono::duration<double>(time).count();
}
// "1 message", "2 messages"
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view noun);

}  // namespace netio::cli
