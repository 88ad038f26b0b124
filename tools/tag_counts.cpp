#include "tag_counts.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "units.hpp"

namespace netio::cli {

std::vector<std::pair<std::uint64_t, std::uint64_t>> TagCounts::sorted() const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> list(counts_.begin(), counts_.end());
  std::sort(list.begin(), list.end());
  return list;
}

std::string TagCounts::text() const {
  static constexpr std::size_t listed_max = 8;
  if (counts_.empty()) return "none";
  const auto list = sorted();
  if (list.size() > listed_max) {
    const auto [least, most] = std::minmax_element(
        list.begin(), list.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return fmt::format("{} from {} to {}, with {} to {} each", counted(list.size(), "tag"),
                       list.front().first, list.back().first, grouped(least->second),
                       counted(most->second, "message")) +
           (others_ == 0 ? "" : fmt::format("; {} with others", counted(others_, "message")));
  }
  std::string text;
  for (const auto& [tag, count] : list) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", tag, grouped(count));
  }
  return text;
}

}  // namespace netio::cli
