// Passes on what comes from one socket through another: the stage between two wires, and most of
// `netio relay`.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include <netio/export.hpp>
#include <netio/message.hpp>
#include <netio/publish.hpp>
#include <netio/receiving.hpp>
#include <netio/reply.hpp>
#include <netio/request.hpp>
#include <netio/sending.hpp>
#include <netio/subscribe.hpp>

namespace netio {

namespace detail {
class ForwardCore;
}

// What a Forward has done, and what it has at this moment.
struct ForwardBooks {
  std::uint64_t passed = 0;   // messages that the output took; of requests: that were asked
  std::uint64_t bytes = 0;    // the payload of these, in bytes
  std::uint64_t dropped = 0;  // messages that the output will not take: see Forward::on_dropped()
  std::uint64_t held = 0;     // messages that wait here because the output takes none now
  // Pages passed on whose peers have not acknowledged them, if the input acknowledges what was
  // released; requests that are not answered, also those that finish() has given up.
  std::uint64_t unsettled = 0;
};

// What comes from one socket goes on through another, until this is destroyed. Messages keep their
// order (of each input), their tags and their segments. Where the second wire reads the memory in
// which the first one has delivered them, they are not copied; pages of small messages go on as
// they are.
//
// A message that the output does not take waits here, and the input is paused until the output has
// room: so both wires hold their senders back, and no more than a page waits for each connection.
// With Distribute::by_tag only the peer is paused whose message has to wait, and the others go on.
//
// If the input has Acknowledge::released, it acknowledges a message when the next stage has done
// so. Then a stage that is killed takes no message with it that its neighbours think delivered.
// What is lost behind this stage (dropped or in doubt: see Books) is not acknowledged either, until
// something behind it is; what is too large for the output is. Set SocketOptions::resume_bytes_max
// on the output as well: then a connection that breaks and comes back loses nothing. Into a Publish
// socket, small messages are acknowledged once they are published.
//
// If a connection of the input breaks and comes back, everything that this side had received before
// counts as acknowledged (SocketOptions::acknowledge).
//
// While it lives, it has the call-back for messages of the input: one that the user has set, or
// sets now, is not called. It also pauses and resumes the input. An input has one Forward at a
// time: destroy it (or assign Forward()) before another one is made. An output may have several.
//
// What is held when it is destroyed is dropped. If the input waits for acknowledgements, that and
// what is not settled is not acknowledged by the end of the Forward, but together with the first
// message that the next Forward or call-back takes. finish() before the end loses nothing.
//
// Movable. Both sockets belong to one context, and have to be destroyed after it. Owner thread
// only.
class NETIO_API Forward {
 public:
  Forward() noexcept;  // passes nothing on
  ~Forward();
  // Leaves the other passing nothing on:
  Forward(Forward&& other) noexcept;
  Forward& operator=(Forward&& other) noexcept;

  // Sets the call for messages that the output will never take, because they are larger than it
  // allows. They count as dropped; so do those that finish() gives up, which are not told. Valid
  // during the call, in which the Forward may be destroyed.
  void on_dropped(std::function<void(const MessageView& message)> call);

  // Ends in order. The Forward takes no more from the input, and passes on what it holds. Then it
  // calls `then`, once, from the loop. If the input has Acknowledge::released, the Forward first
  // waits until the next stage has acknowledged everything. After `linger` it calls in any case,
  // and what it still holds counts as dropped. In `then`, close the input first and the output
  // second. A Forward that passes nothing on never calls. A second finish() replaces `linger` and
  // `then`.
  void finish(std::chrono::nanoseconds linger, std::function<void()> then);

  // A snapshot.
  [[nodiscard]] ForwardBooks books() const noexcept;

  // For the library.
  explicit Forward(std::unique_ptr<detail::ForwardCore> core) noexcept;

 private:
  std::unique_ptr<detail::ForwardCore> core_;
};

// From a Pull, Pair or Subscribe to a Push or Pair. Throws Error if both are one socket, if they
// belong to two contexts, or if the input has a Forward already.
[[nodiscard]] NETIO_API Forward forward(Receiving& from, Sending& to);
// To a Publish, by the tags of the messages. Throws as above.
[[nodiscard]] NETIO_API Forward forward(Receiving& from, Publish& to);
// The same, and `from` subscribes what the subscribers of `to` want, as it changes, in addition to
// what it has subscribed before. Tags that the last of them gives up are unsubscribed. Only one
// Subscribe can feed a Publish so. If a publisher refuses the whole set (Subscribe::on_subscribed),
// what was added last is missing.
[[nodiscard]] NETIO_API Forward forward(Subscribe& from, Publish& to);
// Asks through `to` what `from` is asked, with the time that is left, and passes the answers back.
// A request that ends otherwise is not answered (Outcome::not_answered); one that the requester
// cancels goes on. Up to 8 MiB of answers wait for requesters that do not take them; beyond that
// they are not answered. Has the call-backs of both for requests, answers, failures and on_writable
// while it lives. Throws as above.
[[nodiscard]] NETIO_API Forward forward(Reply& from, Request& to);

}  // namespace netio
