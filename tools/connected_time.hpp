// How long there was a peer: what rates are of. Time is an argument.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

namespace netio::cli {

class ConnectedTime {
 public:
  void up(std::chrono::nanoseconds now) noexcept {
    if (!since_) since_ = now;
  }
  // The last peer went.
  void down(std::chrono::nanoseconds now) noexcept {
    if (const auto since = std::exchange(since_, std::nullopt)) total_ += now - *since;
  }
  [[nodiscard]] std::chrono::nanoseconds total() const noexcept { return total_; }

 private:
  std::optional<std::chrono::nanoseconds> since_;
  std::chrono::nanoseconds total_{0};
};

}  // namespace netio::cli
