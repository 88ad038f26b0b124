// Sockets that wait: receive and send block for at most a time limit. Two forms: the calling thread
// turns the loop itself (Push, Pull, ...), or a loop in a thread of its own and a queue between
// (QueuedPush, QueuedPull). docs/blocking.md says what they cost.
#pragma once

#include <netio/blocking/queued.hpp>
#include <netio/blocking/received.hpp>
#include <netio/blocking/requests.hpp>
#include <netio/blocking/turned.hpp>
#include <netio/context.hpp>
#include <netio/pair.hpp>
#include <netio/publish.hpp>
#include <netio/pull.hpp>
#include <netio/push.hpp>
#include <netio/subscribe.hpp>

// Sockets whose calls block for at most a time limit.
namespace netio::blocking {

// A netio::Push whose send() waits.
class Push : public TurnedSocket<netio::Push> {
 public:
  // Throws Error for options that make no sense.
  explicit Push(Context& context, const SocketOptions& options = {})
      : TurnedSocket(context, options) {}

 private:
  using Sending::on_writable;
};

// A netio::Pull whose receive() waits.
class Pull : public TurnedSocket<netio::Pull> {
 public:
  // Throws Error for options that make no sense.
  explicit Pull(Context& context, const SocketOptions& options = {})
      : TurnedSocket(context, options) {}

 private:
  using Receiving::on_batch;
  using Receiving::on_message;
  using Receiving::pause;
  using Receiving::resume;
  using Socket::on_down;
};

// A netio::Pair whose send() and receive() wait.
class Pair : public TurnedSocket<netio::Pair> {
 public:
  // Throws Error for options that make no sense.
  explicit Pair(Context& context, const SocketOptions& options = {})
      : TurnedSocket(context, options) {}

 private:
  using Receiving::on_batch;
  using Receiving::on_message;
  using Receiving::pause;
  using Receiving::resume;
  using Sending::on_writable;
  using Socket::on_down;
};

// A netio::Publish whose send() waits. Each message needs a tag: send(message, timeout, tag).
class Publish : public TurnedSocket<netio::Publish> {
 public:
  // Throws Error for options that make no sense.
  explicit Publish(Context& context, const PublishOptions& publishing = {},
                   const SocketOptions& options = {})
      : TurnedSocket(context, publishing, options) {}

 private:
  using netio::Publish::on_writable;
};

// A netio::Subscribe whose receive() waits.
class Subscribe : public TurnedSocket<netio::Subscribe> {
 public:
  // Throws Error for options that make no sense.
  explicit Subscribe(Context& context, const SubscribeOptions& subscription = {},
                     const SocketOptions& options = {})
      : TurnedSocket(context, subscription, options) {}

 private:
  using Receiving::on_batch;
  using Receiving::on_message;
  using Receiving::pause;
  using Receiving::resume;
  using Socket::on_down;
};

}  // namespace netio::blocking
