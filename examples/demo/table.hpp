// The live view: a table that is drawn over itself on a terminal, a line a second in a pipe.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "snapshot.hpp"

namespace demo {

class Table {
 public:
  Table();
  // How often show() is wanted.
  [[nodiscard]] std::chrono::milliseconds period() const noexcept {
    return std::chrono::milliseconds(terminal_ ? 400 : 1000);
  }
  void show(const Snapshot& now);
  // Something happened: a line in a pipe. On a terminal the table shows it.
  void note(double seconds, std::string_view what) const;

 private:
  // Between two looks at a count; stays as it was while the time does.
  struct Rate {
    double seconds = 0;
    std::uint64_t fragments = 0;
    std::uint64_t bytes = 0;
    double per_second = 0;
    double megabytes_per_second = 0;
    void look(double now_seconds, std::uint64_t now_fragments, std::uint64_t now_bytes);
  };
  void draw(const Snapshot& now);
  void print_line(const Snapshot& now) const;

  bool terminal_;
  bool drawn_ = false;
  Rate sent_;
  std::array<Rate, first_subscriber_count> taken_;
};

}  // namespace demo
