// Keeps notes few, whatever others do that is noted: some are said one by one, and beyond that all
// are summed up in one line every two seconds. Notes are of one kind if they differ only in digits
// and in what is in brackets. Owner thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <netio/loop.hpp>

namespace netio::cli {

class NoteSums {
 public:
  // `say` writes a line.
  NoteSums(Loop& loop, std::function<void(std::string_view)> say);

  void note(std::string_view text);
  // Says the sums that are not said yet.
  void finish() noexcept;

 private:
  struct Kind {
    std::string key;
    int said = 0;            // since it was quiet for a period
    std::uint64_t more = 0;  // since a line of it was said
    std::string latest;      // of those
  };
  Kind& kind_of(std::string_view text);
  void say_sums();
  // One line about all that was not said.
  void say_the_rest();

  Loop& loop_;
  std::function<void(std::string_view)> say_;
  std::vector<Kind> kinds_;
  int lines_left_;  // that may be said before all is summed up
  Timer timer_;     // runs while there is a kind
};

}  // namespace netio::cli
