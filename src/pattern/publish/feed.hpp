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
#include "wire/control.hpp"

namespace netio::detail {

class Feed final : public Upstream {
 public:
  // Of this stream, from now on until it is destroyed or moved. The connection is up, and the peer
  // is told how many messages were dropped on the stream so far.
  explicit Feed(OutgoingStream& stream);  // throws std::bad_alloc
  ~Feed();
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  Backlog backlog;
  // The connection broke, and may come back: until then nothing is taken, and the policy applies.
  bool away = false;

  // The same stream goes on in another object.
  void move_to(OutgoingStream& stream) noexcept;
  // Whether the new connection of the stream carries the same bytes as the last. If not, what waits
  // is cut for it as what is posted again is. Throws std::bad_alloc; the connection must be ended
  // then.
  [[nodiscard]] bool fits(const Link& link) const noexcept;
  void refit(const Link& link);

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
  // The same, and the peer is told of it where what comes next is.
  void begin_backlog_anew() noexcept;
  // The answer to a change of the set, behind all that was shared so far.
  void answer(const SubscribedFrame& told) noexcept;
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
  void begin_connection() noexcept override { told_here_ = {}; }
  Status tell_again(std::uint64_t position, const Told& told) noexcept override;

 private:
  [[nodiscard]] bool linked() const noexcept { return stream_->link() != nullptr && !away; }
  // Nothing goes before what is shared now.
  [[nodiscard]] bool clear_ahead() const noexcept {
    return backlog.empty() && !stream_->pending_itself();
  }
  [[nodiscard]] bool has_to_wait(const Lease& next) noexcept;
  Status post_parcel(const Parcel& parcel) noexcept;
  Status post_item(const Backlog::Item& item) noexcept;
  Status post_gap(const GapFrame& gap) noexcept;
  Status post_control(ControlKind kind, std::span<const std::byte> payload) noexcept;
  void note_told(ControlKind kind, std::span<const std::byte> payload) noexcept;

  OutgoingStream* stream_;
  Supplies supplies_;
  // Of its latest link.
  std::size_t body_max_;
  std::uint64_t message_bytes_max_;
  std::size_t link_bytes_max_;

  SubscribedFrame answer_;  // the last, which has what is granted
  Told told_;               // to the peer, behind all messages that were posted
  Told told_here_;          // on this connection
  std::int64_t bytes_posted_ = 0;
};

}  // namespace netio::detail
