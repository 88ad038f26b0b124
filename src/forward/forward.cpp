// The public Forward, and the end of one.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <netio/forward.hpp>
#include <netio/status.hpp>

#include "base/out_of_memory.hpp"
#include "forward/forward_core.hpp"
#include "forward/publish_forward.hpp"
#include "forward/request_forward.hpp"
#include "forward/send_forward.hpp"
#include "pattern/publish/publish_core.hpp"
#include "pattern/reply/reply_core.hpp"
#include "pattern/request/request_core.hpp"
#include "socket/context_core.hpp"
#include "socket/receive_core.hpp"
#include "socket/send_core.hpp"
#include "socket/socket_core.hpp"

namespace netio {

namespace detail {

namespace {
// Nothing tells that the last message was acknowledged.
constexpr std::chrono::milliseconds look_for_end_after{1};

SocketCore& both_of_one_context(SocketCore& from, SocketCore& to) {
  if (&from == &to) {
    throw Error("cannot forward from a socket to itself", "each message would come back for ever",
                "give it two sockets");
  }
  if (&from.context() != &to.context()) {
    throw Error("cannot forward from one socket to another", "they belong to two contexts",
                "make both in one context, or use a queue (netio/blocking.hpp) between two");
  }
  return to;
}
}  // namespace

ForwardUse::ForwardUse(SocketCore& socket) : socket_(socket) {
  if (socket.forwarded) {
    throw Error("cannot forward from this socket", "another Forward has it",
                "destroy that one first, or assign Forward() to it");
  }
  socket.forwarded = true;
}
ForwardUse::~ForwardUse() { socket_.forwarded = false; }

void ForwardCore::finish(std::chrono::nanoseconds linger, std::function<void()> then) {
  const bool begun = finishing();
  then_ = std::move(then);
  if (!then_) then_ = [] {};
  const std::chrono::nanoseconds now = loop_.now();
  until_ =
      now + std::clamp(linger, std::chrono::nanoseconds(0), std::chrono::nanoseconds::max() - now);
  if (!begun) begin_to_end();
  finish_timer_.start_once(std::chrono::nanoseconds(0));
}

// The function is moved aside while it runs: it may set another one, or destroy this.
bool ForwardCore::drop(const MessageView& message) {
  if (!on_dropped_) return true;
  Dropping dropping;
  dropping_ = &dropping;
  std::function<void(const MessageView&)> call = std::exchange(on_dropped_, {});
  const Message memory = message.share();  // which may be held here only
  call_user(call, message);
  if (dropping.gone) return false;
  dropping_ = nullptr;
  if (!dropping.changed) on_dropped_ = std::move(call);
  return true;
}

ForwardCore::~ForwardCore() {
  if (dropping_ != nullptr) dropping_->gone = true;
}

void ForwardCore::on_dropped(std::function<void(const MessageView&)> call) {
  on_dropped_ = std::move(call);
  if (dropping_ != nullptr) dropping_->changed = true;
}

void ForwardCore::look_for_end() {
  if (!ended()) {
    const std::chrono::nanoseconds left = until_ - loop_.now();
    if (left.count() > 0) {
      return finish_timer_.start_once(std::min<std::chrono::nanoseconds>(look_for_end_after, left));
    }
    give_up();
  }
  // The call may destroy this.
  const std::function<void()> then = std::exchange(then_, [] {});
  call_user(then);
}

}  // namespace detail

Forward::Forward() noexcept = default;
Forward::~Forward() = default;
Forward::Forward(Forward&& other) noexcept = default;
Forward& Forward::operator=(Forward&& other) noexcept = default;
Forward::Forward(std::unique_ptr<detail::ForwardCore> core) noexcept : core_(std::move(core)) {}

void Forward::on_dropped(std::function<void(const MessageView&)> call) {
  if (core_) core_->on_dropped(std::move(call));
}
void Forward::finish(std::chrono::nanoseconds linger, std::function<void()> then) {
  if (core_) core_->finish(linger, std::move(then));
}
ForwardBooks Forward::books() const noexcept { return core_ ? core_->books() : ForwardBooks{}; }

Forward forward(Receiving& from, Sending& to) {
  detail::both_of_one_context(from.receive_core().socket(), to.send_core().socket());
  return Forward(std::make_unique<detail::SendForward>(from, to.send_core()));
}

Forward forward(Receiving& from, Publish& to) {
  detail::both_of_one_context(from.receive_core().socket(), to.publish_core().socket());
  return Forward(std::make_unique<detail::PublishForward>(from, to.publish_core(), nullptr));
}

Forward forward(Subscribe& from, Publish& to) {
  detail::both_of_one_context(from.receive_core().socket(), to.publish_core().socket());
  return Forward(std::make_unique<detail::PublishForward>(from, to.publish_core(), &from));
}

Forward forward(Reply& from, Request& to) {
  detail::SocketCore& output =
      detail::both_of_one_context(from.reply_core().socket(), to.request_core().socket());
  return Forward(std::make_unique<detail::RequestForward>(from, to, output.context().loop));
}

}  // namespace netio
