// The receiving half of a socket: the user's call-back, and what holds peers back: a pause, or that
// there is no call-back yet.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include <netio/books.hpp>
#include <netio/peer.hpp>
#include <netio/status.hpp>

#include "base/call_back.hpp"
#include "socket/incoming_stream.hpp"

namespace netio::detail {

class Peer;
class SocketCore;

class ReceiveCore {
 public:
  explicit ReceiveCore(SocketCore& socket) noexcept : socket_(socket) { delivery.stopped = true; }

  // Inside a call-back for a message, a new call-back takes effect after that message, because the
  // one that runs must not be destroyed. The rest of the page is held, and goes to the new
  // call-back.
  void on_message(std::function<void(const MessageView&)> call);
  void on_batch(std::function<void(const Batch&)> call);

  [[nodiscard]] SocketCore& socket() const noexcept { return socket_; }

  CallBack<void(const PeerInfo&, const Gap&)> on_gap;
  // Not any more once it is closing.
  void tell_gap(const Peer& peer, const Gap& gap) noexcept;

  // Takes effect after the message at hand; resumed, every peer goes on from the loop.
  void pause(bool paused) noexcept;
  [[nodiscard]] bool paused() const noexcept { return paused_; }
  // A call-back is set. Without one, the first page with messages is held and the link of its peer
  // paused. Until such a page comes the link is read, because it brings acknowledgements too.
  [[nodiscard]] bool taken() const noexcept {
    return delivery.on_message || delivery.on_batch || delivery.requests != nullptr;
  }
  // Requests or answers go there from now on; null: they wait.
  void take_requests(RequestTaker* taker) noexcept {
    delivery.requests = taker;
    takers_changed();
  }
  // The same for one peer; not_connected if there is none of this id.
  Status pause_peer(std::uint64_t id, bool paused) noexcept;
  // Closing or destroyed: nothing is delivered any more.
  void stop() noexcept { delivery.stopped = stopped_ = true; }

  // Nothing more is delivered of this peer, unless answers are expected from it: not the rest of
  // its page either.
  void closes(const Peer& peer) noexcept;

  // begin_page(): a page of this peer is about to be delivered. end_page(): it was. In between the
  // pause of this peer stops delivery as that of the socket does, so that one flag is checked for
  // each message.
  void begin_page(std::uint64_t id, bool paused) noexcept {
    sender_id = delivering_id_ = id;
    if (paused) [[unlikely]]
      delivery.stopped = true;
  }
  void end_page() noexcept {
    delivering_id_ = 0;
    if (changed_) [[unlikely]]
      take_changes();
    delivery.stopped = stopped_ || paused_ || !taken();
  }

  // Acknowledgements wait for a reader (Receiving::acknowledge_when_taken).
  void acknowledge_when_taken(std::function<bool()> look) {
    look_ = std::move(look);
    delivery.until_taken = static_cast<bool>(look_);
  }
  // Nothing more is acknowledged until something takes messages again. What it takes is
  // acknowledged together with what came before.
  void acknowledge_with_next_taker() noexcept {
    look_ = {};
    delivery.until_taken = true;
  }
  // Moves the acknowledgements to where the reader is. True if it is to be called again soon.
  bool look_for_reader() { return look_ && !stopped_ && look_(); }
  // Where acknowledgements of what these books count are read.
  [[nodiscard]] const std::uint64_t& position(const ReceiveBooks& books) const noexcept {
    return delivery.until_taken || delivery.until_released ? books.acknowledged : books.expected;
  }
  [[nodiscard]] BatchPlace place() const noexcept;
  void taken(const BatchPlace& place) noexcept;
  void acknowledge() noexcept;

  Delivery delivery;
  std::uint64_t sender_id = 0;  // of the message being delivered

 private:
  void takers_changed() noexcept;
  void take_changes() noexcept;
  void stop_or_go() noexcept;

  SocketCore& socket_;
  std::function<bool()> look_;
  std::uint64_t delivering_id_ = 0;  // of whom a page is being delivered; 0: of nobody
  // Set in the middle of the page that is being delivered, and taken behind it.
  std::optional<std::function<void(const MessageView&)>> next_on_message_;
  std::optional<std::function<void(const Batch&)>> next_on_batch_;
  bool changed_ = false;  // there is one of them
  bool paused_ = false;
  bool stopped_ = false;
};

}  // namespace netio::detail
