// Keeps notes few: of a kind that comes again and again some are said, the others are summed up in
// a line a second. Notes are of a kind if they differ in digits and in what is in brackets. Owner
// thread only.
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
    int said = 0;            // since it was quiet for a second
    std::uint64_t more = 0;  // since a line of it was said
    std::string latest;      // of those
  };
  Kind& kind_of(std::string_view text);
  void say_sums();

  Loop& loop_;
  std::function<void(std::string_view)> say_;
  std::vector<Kind> kinds_;
  Timer timer_;  // runs while there is a kind
};

}  // namespace netio::cli
