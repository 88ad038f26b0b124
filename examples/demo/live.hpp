// The live view: a line every half second or so, and a line for each thing that happens. Standard
// output only.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "snapshot.hpp"

namespace demo {

class Live {
 public:
  // Of a run of so many seconds.
  explicit Live(double run_seconds);
  // How often show() is wanted.
  [[nodiscard]] std::chrono::milliseconds period() const noexcept { return period_; }
  // The first lines; what show() shows is counted from here on.
  void head(const Snapshot& now);
  void show(const Snapshot& now);
  // Something has happened.
  void note(double seconds, std::string_view what) const;

 private:
  [[nodiscard]] std::string built_by(const Snapshot& now, std::size_t process) const;
  [[nodiscard]] std::string cpu_of(const Snapshot& now, std::size_t child);
  [[nodiscard]] std::string cpu_of_all(const Snapshot& now);

  bool terminal_;
  std::chrono::milliseconds period_;
  Snapshot before_;
  // Of each process: the report that its share of the processor was last taken from, and the text.
  std::array<Report, child_count> cpu_reports_{};
  std::array<std::string, child_count> cpu_texts_;
};

}  // namespace demo
