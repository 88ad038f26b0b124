// Changes of subscriptions that have to wait, because their host, or all hosts together, have spent
// their allowance. The rest of a page is put aside, and the peer is not read until that is done. A
// timer goes on with one change of each host in turn. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include <netio/loop.hpp>

#include "pattern/publish/host_turns.hpp"
#include "pattern/publish/subscribers.hpp"

namespace netio::detail {

class SocketCore;

class ChangeLine {
 public:
  // `take` takes the payload of a subscribe frame; it answers what is wrong with it, or null.
  using Take = std::function<const char*(Subscriber&, std::span<const std::byte>)>;
  ChangeLine(SocketCore& socket, Subscribers& subscribers, Take take);

  // Takes the payload now, or puts it aside. What is wrong with it, or null. Throws std::bad_alloc:
  // the subscriber is to be ended.
  const char* take(Subscriber& subscriber, std::span<const std::byte> payload);
  // The subscriber goes, or all that it put aside is done.
  void forget(Subscriber& subscriber) noexcept;
  void stop() noexcept { timer_.stop(); }

 private:
  // What is wrong with it, or null.
  const char* put_aside(Subscriber& subscriber, std::span<const std::byte> payload);
  void go_on();
  // One payload.
  void go_on_with(Subscriber& subscriber);

  SocketCore& socket_;
  Subscribers& subscribers_;
  Take take_;
  Timer timer_;
  HostTurns turns_;
  // All hosts together have spent their allowance, and since then not every host that may go on has
  // had its turn. New changes have to wait in line.
  bool crowded_ = false;
};

}  // namespace netio::detail
