// The receiving half of a socket: Pull and Pair have one.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>

#include <netio/export.hpp>
#include <netio/message.hpp>
#include <netio/status.hpp>

namespace netio {

namespace detail {
class ReceiveCore;
class BatchWalk;
}  // namespace detail

// The messages of one page, in order; a forward-only range. Valid during its call-back, as the
// views in it are. What is not walked counts as delivered all the same.
class NETIO_API Batch {
 public:
  // For the library, and range-for.
  class NETIO_API Iterator {
   public:
    using value_type = MessageView;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(detail::BatchWalk* walk) noexcept : walk_(walk) {}
    MessageView operator*() const noexcept;
    Iterator& operator++() noexcept;
    void operator++(int) noexcept { ++*this; }
    bool operator==(std::default_sentinel_t) const noexcept;

   private:
    detail::BatchWalk* walk_;
  };
  explicit Batch(detail::BatchWalk& walk) noexcept : walk_(&walk) {}

  // The messages, once:
  [[nodiscard]] Iterator begin() const noexcept { return Iterator(walk_); }
  [[nodiscard]] static std::default_sentinel_t end() noexcept { return {}; }

  // How many there are.
  [[nodiscard]] std::size_t size() const noexcept;

 private:
  detail::BatchWalk* walk_;
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

  // Inside on_message or on_batch: the id of the peer it came from (PeerInfo::id).
  [[nodiscard]] std::uint64_t sender_id() const noexcept;

 protected:
  explicit Receiving(detail::ReceiveCore& core) noexcept : receive_core_(&core) {}
  ~Receiving() = default;

 private:
  detail::ReceiveCore* receive_core_;
};

}  // namespace netio
