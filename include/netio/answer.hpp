// What a request that is awaited, or that blocks, comes back with.
#pragma once

#include <netio/message.hpp>
#include <netio/request.hpp>
#include <netio/status.hpp>

namespace netio {

// How a request ended. True if it was answered.
struct [[nodiscard]] Answer {
  // ok: the request was sent, and `outcome` says how it ended. closed: the socket was closed. Any
  // other: nothing was sent; see Request::send(). again: the time limit was over before a peer had
  // room for the request.
  Status status = Status::closed;
  // timed_out if `status` is again, cancelled if it is closed, not_executed if nothing was sent.
  Outcome outcome = Outcome::cancelled;
  // The answer, kept: for as long as you like, on any thread. Empty without one.
  Message message{};

  // Whether it was answered.
  explicit operator bool() const noexcept { return outcome == Outcome::answered; }
};

}  // namespace netio
