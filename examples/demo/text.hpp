// Numbers as people read them, and texts on their way out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace demo {

// To standard output or error; if it cannot be written, main() says so at the end.
template <typename... Values>
void print(std::FILE* to, fmt::format_string<Values...> form, Values&&... values) {
  const std::string text = fmt::format(form, std::forward<Values>(values)...);
  (void)std::fwrite(text.data(), 1, text.size(), to);
}

// 1234567 as "1,234,567".
inline std::string grouped(std::uint64_t number) {
  const std::string digits = fmt::format("{}", number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}
inline std::string grouped(double number) {
  return grouped(static_cast<std::uint64_t>(number < 0 ? 0 : number + 0.5));
}

inline std::string in_ms(std::int64_t ns) {
  return fmt::format("{:.0f}", static_cast<double>(ns) / 1e6);
}

inline std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

}  // namespace demo
