// The receiving half of a socket: Pull and Pair have one.
#pragma once

#include <cstdint>
#include <functional>

#include <netio/batch.hpp>
#include <netio/books.hpp>
#include <netio/export.hpp>
#include <netio/message.hpp>
#include <netio/peer.hpp>
#include <netio/status.hpp>

namespace netio {

namespace detail {
class ReceiveCore;
}

// For the library: a position in what one peer has sent.
struct BatchPlace {
  std::uint64_t peer = 0;
  std::uint64_t connection = 0;
  std::uint64_t position = 0;
};

// What Pull, Pair and Subscribe do with what comes. Owner thread only; no call blocks.
class NETIO_API Receiving {
 public:
  // Set one of the two. Until then, and again while it is set to none, messages wait, and senders
  // are held back. Messages of one peer come in order; peers are served in turn:
  void on_message(std::function<void(const MessageView&)> call);
  void on_batch(std::function<void(const Batch&)> call);

  // Stops and resumes delivery; also inside the call-back, where it takes effect after the
  // message (or batch) at hand. While paused nothing is read, so senders are held back; nothing
  // is lost and no peer is taken for dead:
  void pause() noexcept;
  void resume() noexcept;
  [[nodiscard]] bool paused() const noexcept;

  // The same for one peer alone (PeerInfo::id, sender_id()): it is held back, the others go on.
  // Nothing of it is delivered until resume_peer(), nor while the socket is paused. A peer that
  // this side dials stays paused when it reconnects, an accepted one is forgotten with its
  // connection. ok also if it is so already; not_connected: there is no such peer (any more):
  Status pause_peer(std::uint64_t id) noexcept;
  Status resume_peer(std::uint64_t id) noexcept;

  // Sets the call for messages that will not come, because they were lost with the connection
  // (connection_lost), or because a publisher dropped them. It comes between the last message
  // before the gap and the first one after it. Once all senders are connected again,
  // books().missed is the sum of all counts.
  void on_gap(std::function<void(const PeerInfo&, const Gap&)> call);

  // Inside on_message or on_batch: the id of the peer it came from (PeerInfo::id).
  [[nodiscard]] std::uint64_t sender_id() const noexcept;

  // For the library, for a reader in another thread:
  // Messages are acknowledged once taken() says so, and not when they were delivered. `look` is
  // called when acknowledgements may be due, calls taken(), and returns whether to look again after
  // acknowledge_after. Before the first connection.
  void acknowledge_when_taken(std::function<bool()> look);
  // Inside on_batch: the place behind the batch.
  [[nodiscard]] BatchPlace place() const noexcept;
  // All that came from that peer before the place was taken.
  void taken(const BatchPlace& place) noexcept;
  // Looks, and acknowledges now.
  void acknowledge() noexcept;
  [[nodiscard]] detail::ReceiveCore& receive_core() noexcept { return *receive_core_; }

 protected:
  explicit Receiving(detail::ReceiveCore& core) noexcept : receive_core_(&core) {}
  ~Receiving() = default;

 private:
  detail::ReceiveCore* receive_core_;
};

}  // namespace netio
