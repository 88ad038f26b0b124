// How many messages came with each tag. Bounded: of very many tags the first to come are counted
// one by one, the rest together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace netio::cli {

class TagCounts {
 public:
  void count(std::uint64_t tag) {
    if (const auto found = counts_.find(tag); found != counts_.end()) {
      ++found->second;
    } else if (counts_.size() < tags_max) {
      counts_.emplace(tag, 1);
    } else {
      ++others_;
    }
  }

  [[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint64_t>> sorted() const;
  // Messages whose tags are not counted one by one.
  [[nodiscard]] std::uint64_t others() const noexcept { return others_; }
  // "7: 1,000, 8: 999"; of more tags than fit a line only how many there are.
  [[nodiscard]] std::string text() const;

 private:
  static constexpr std::size_t tags_max = 4096;

  std::unordered_map<std::uint64_t, std::uint64_t> counts_;
  std::uint64_t others_ = 0;
};

}  // namespace netio::cli
