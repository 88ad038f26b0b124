// How the library calls the user back, but for the calls of each message. Owner thread only.
#pragma once

#include <functional>
#include <optional>
#include <utility>

namespace netio::detail {

template <typename Signature>
class CallBack;

// A call-back of the user's. It may be set anew while it runs, also by what it calls: the new one
// takes its place when it has returned, so that what it captured lasts until then. What it throws
// ends the process. Its owner lives until the turn ends, whatever the user destroys (Buriable).
template <typename... Arguments>
class CallBack<void(Arguments...)> {
 public:
  using Function = std::function<void(Arguments...)>;

  CallBack() = default;
  CallBack(const CallBack&) = delete;
  CallBack& operator=(const CallBack&) = delete;
  CallBack& operator=(Function call) {
    if (runs_) {
      next_ = std::move(call);
    } else {
      call_ = std::move(call);
    }
    return *this;
  }

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(call_); }
  template <typename... Given>
  void operator()(Given&&... given) noexcept {
    runs_ = true;
    call_(std::forward<Given>(given)...);
    runs_ = false;
    if (next_) [[unlikely]]
      call_ = *std::exchange(next_, std::nullopt);
  }

 private:
  Function call_;
  std::optional<Function> next_;
  bool runs_ = false;
};

}  // namespace netio::detail
