// Changes of subscriptions that have to wait, because their host has had more of them than its
// allowance: the rest of a page is put aside, and the peer is not read until that is done. A timer
// goes on with them. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <netio/loop.hpp>

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
  void stop() noexcept { timer_.stop(); }

 private:
  void put_aside(Subscriber& subscriber, std::span<const std::byte> payload);
  void go_on();
  // One payload; whether there are more.
  bool go_on_with(Subscriber& subscriber);

  SocketCore& socket_;
  Subscribers& subscribers_;
  Take take_;
  Timer timer_;
  std::vector<const Peer*> waiting_;  // the one that has waited for longest first
};

}  // namespace netio::detail
