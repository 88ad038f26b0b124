// The user's calls for a fill that reaches SocketOptions::high_watermark, and for one that falls to
// low_watermark after that. Owner thread only.
#pragma once

#include <netio/options.hpp>

#include "base/call_back.hpp"

namespace netio::detail {

class Watermarks {
 public:
  CallBack<void()> on_high;
  CallBack<void()> on_low;

  // There is somebody to be told.
  [[nodiscard]] bool watched() const noexcept { return on_high || on_low; }
  // It has reached the high mark, and has not fallen to the low one since.
  [[nodiscard]] bool above() const noexcept { return above_; }
  // The call that is due, which may be empty; else null.
  [[nodiscard]] CallBack<void()>* crossed(double fill, const SocketOptions& marks) noexcept {
    if (!above_ && fill >= marks.high_watermark) {
      above_ = true;
      return &on_high;
    }
    if (above_ && fill <= marks.low_watermark) {
      above_ = false;
      return &on_low;
    }
    return nullptr;
  }

 private:
  bool above_ = false;
};

}  // namespace netio::detail
