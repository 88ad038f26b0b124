// What one subscriber is fed with: what many share is posted to its stream at once, or waits in its
// backlog, by its policy, until the link has room. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "pattern/publish/backlog.hpp"
#include "pattern/publish/parcel.hpp"
#include "socket/outgoing_stream.hpp"
#include "socket/upstream.hpp"

namespace netio::detail {

class Feed final : public Upstream {
 public:
  // Of this stream, from now on until it is destroyed. The connection is up, and the peer is told
  // how many messages were dropped on the stream so far.
  explicit Feed(OutgoingStream& stream);  // throws std::bad_alloc
  ~Feed();
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  Backlog backlog;

  // Posts it, or else puts it into the backlog by the policy. With `block`, who calls looks at
  // blocked() first.
  void share(const Parcel& parcel) noexcept;
  [[nodiscard]] bool blocked() const noexcept;
  // How near the peer is to blocked(), from 0 to 1. It is 1 exactly if blocked() is true.
  [[nodiscard]] double fill() const noexcept;
  // Grows by the bytes of shared messages that the wire takes, whether they waited in the backlog
  // or not. Only differences have a meaning.
  [[nodiscard]] std::int64_t progress() const noexcept;
  // Drops the backlog. A message in parts that the link has begun to carry is not dropped.
  void drop_backlog(DropReason reason) noexcept;
  // A control frame behind all that was shared so far.
  void tell(ControlKind kind, std::span<const std::byte> payload) noexcept;
  // `messages` shared messages are not sent to this peer, because they are larger than it takes.
  void skip(std::uint64_t messages) noexcept;

  // Upstream
  [[nodiscard]] bool empty() const noexcept override { return backlog.empty(); }
  [[nodiscard]] std::uint64_t messages() const noexcept override { return backlog.messages(); }
  [[nodiscard]] std::size_t bytes() const noexcept override { return backlog.bytes(); }
  [[nodiscard]] std::size_t bytes_in(const StorePart& memory) const noexcept override {
    return backlog.bytes_in(memory);
  }
  Status post_waiting() noexcept override;
  [[nodiscard]] bool failed() const noexcept override { return backlog.failed(); }
  void clear() noexcept override { backlog.clear(); }

 private:
  // Nothing goes before what is shared now.
  [[nodiscard]] bool clear_ahead() const noexcept {
    return backlog.empty() && !stream_.pending_itself();
  }
  [[nodiscard]] bool has_to_wait(const Lease& next) noexcept;
  Status post_parcel(const Parcel& parcel) noexcept;
  Status post_item(const Backlog::Item& item) noexcept;

  OutgoingStream& stream_;
  std::uint64_t dropped_told_ = 0;  // to the peer
  std::int64_t bytes_posted_ = 0;
};

}  // namespace netio::detail
