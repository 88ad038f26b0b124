// A JSON text as a tree whose nodes know their lines, with the keys of an object in their order,
// twice if they are there twice. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace netio::detail {

struct JsonNode {
  enum class Kind : std::uint8_t { null, boolean, number, string, array, object };

  Kind kind = Kind::null;
  std::size_t line = 0;  // the one in which it ends, or begins if it is an array or an object
  std::string text;      // of a scalar: true, 1000, or what a string holds
  std::string key;       // within an object
  std::vector<JsonNode> members;

  // The first member with this key; null if there is none.
  [[nodiscard]] const JsonNode* find(std::string_view name) const noexcept;
  [[nodiscard]] bool is(Kind other) const noexcept { return kind == other; }
  // "an array", "a number", ...
  [[nodiscard]] std::string_view kind_name() const noexcept;
};

// Throws Error, with the line and the column.
[[nodiscard]] JsonNode parse_json(std::string_view text, std::string_view origin);

}  // namespace netio::detail
