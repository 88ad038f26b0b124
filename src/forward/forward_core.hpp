// What every Forward does. Owner thread only.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

#include <netio/forward.hpp>
#include <netio/loop.hpp>

namespace netio::detail {

class SocketCore;

// How long to wait where nothing tells when there is memory again.
inline constexpr std::chrono::milliseconds retry_after{10};

// Marks a socket as used by a Forward. Throws Error if another Forward uses it.
class ForwardUse {
 public:
  explicit ForwardUse(SocketCore& socket);
  ~ForwardUse();
  ForwardUse(const ForwardUse&) = delete;
  ForwardUse& operator=(const ForwardUse&) = delete;

 private:
  SocketCore& socket_;
};

class ForwardCore {
 public:
  ForwardCore(const ForwardCore&) = delete;
  ForwardCore& operator=(const ForwardCore&) = delete;
  virtual ~ForwardCore();

  void on_dropped(std::function<void(const MessageView&)> call);
  void finish(std::chrono::nanoseconds linger, std::function<void()> then);
  [[nodiscard]] virtual ForwardBooks books() const noexcept = 0;

 protected:
  explicit ForwardCore(Loop& loop) : loop_(loop), finish_timer_(loop, [this] { look_for_end(); }) {}

  // Stops the input. Does not wait until the messages that are held have been passed on.
  virtual void begin_to_end() = 0;
  [[nodiscard]] virtual bool ended() = 0;
  // The time to end is over.
  virtual void give_up() noexcept = 0;
  [[nodiscard]] bool finishing() const noexcept { return static_cast<bool>(then_); }
  // Tells of it. False if this was destroyed meanwhile: return without another look at it.
  [[nodiscard]] bool drop(const MessageView& message);

 private:
  struct Dropping {  // on the stack of drop()
    bool gone = false;
    bool changed = false;
  };
  void look_for_end();

  Loop& loop_;
  std::function<void(const MessageView&)> on_dropped_;
  Dropping* dropping_ = nullptr;
  std::function<void()> then_;
  std::chrono::nanoseconds until_{0};
  Timer finish_timer_;
};

}  // namespace netio::detail
