#include "bench/line_queue.hpp"

#include <utility>

#include <fmt/format.h>

#include "bench/end.hpp"
#include "interrupt.hpp"

namespace netio::cli {

std::string LineQueue::next(Loop& loop, const std::string& name, std::chrono::nanoseconds within) {
  const auto until = loop.now() + within;
  while (lines_.empty()) {
    if (Interrupt::requested()) throw Interrupted();
    if (ending_) throw EndFailure(fmt::format("{} {}", name, *ending_));
    const auto left = until - loop.now();
    if (left <= std::chrono::nanoseconds(0)) {
      const double seconds = std::chrono::duration<double>(within).count();
      throw EndFailure(fmt::format("{} did not answer within {:.0f} s", name, seconds));
    }
    loop.run_once(left);
  }
  std::string line = std::move(lines_.front());
  lines_.pop_front();
  return line;
}

}  // namespace netio::cli
