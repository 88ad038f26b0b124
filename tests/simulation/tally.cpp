// The text of a tally.
#include "simulation/tally.hpp"

namespace netio::test {

std::string Tally::text() const {
  constexpr std::size_t line_max = 100;
  std::string text;
  std::string line = " ";
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    std::string entry = " " + std::to_string(counts_[i]) + " ";
    entry.append(happened_names[i]).append(i + 1 < counts_.size() ? "," : "");
    if (line.size() + entry.size() > line_max) {
      text += line + "\n";
      line = " ";
    }
    line += entry;
  }
  return text + line + "\n";
}

}  // namespace netio::test
