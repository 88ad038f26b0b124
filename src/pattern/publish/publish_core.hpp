// The inside of a Publish socket: each message to all groups that want its tag, or to none if one
// of them cannot take it now. Owner thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include <netio/loop.hpp>
#include <netio/publish.hpp>

#include "memory/store.hpp"
#include "pattern/publish/behind_watch.hpp"
#include "pattern/publish/change_line.hpp"
#include "pattern/publish/hold_ups.hpp"
#include "pattern/publish/staging.hpp"
#include "pattern/publish/subscribers.hpp"
#include "socket/distribution.hpp"
#include "socket/writable_calls.hpp"
#include "wire/segments.hpp"

namespace netio::detail {

class SocketCore;

class PublishCore final : public Distribution {
 public:
  PublishCore(SocketCore& socket, const PublishOptions& options);

  // The user's side.
  Status send(std::span<const std::byte> message, std::uint64_t tag) noexcept {
    TagRow* const row = subscribers.groups.find_row(tag);
    if (row == nullptr) [[unlikely]]
      return send_first(message, tag);
    if (row->audience != nullptr) return send_wanted(*row, message);
    ++row->unwanted;
    return Status::ok;
  }
  Status send_wanted(TagRow& row, std::span<const std::byte> message) noexcept;
  Status send(Message& message) noexcept;
  // The messages of a page that was received, one by one: ok if all are taken; otherwise the answer
  // is about the first of those that are left. Adds the payload of what was taken to `bytes`.
  Status send(MessageCursor& messages, std::uint64_t& bytes) noexcept;
  // One that was received.
  Status send(const MessageView& view) noexcept;
  Status send(const SegmentList& segments, std::uint64_t tag) noexcept;
  // The last of them is lent.
  Status lend(std::span<const Segment> segments, std::uint64_t token, std::uint64_t tag) noexcept;
  Status lend(std::span<const std::byte> message, std::uint64_t token, std::uint64_t tag) noexcept;
  Message allocate(std::size_t bytes, Status& status, std::uint64_t tag,
                   std::size_t head_bytes) noexcept;
  PublishTag tag(std::uint64_t tag) { return {&subscribers.groups.row(tag, true), this}; }
  WritableCalls writable;
  [[nodiscard]] SocketCore& socket() const noexcept { return socket_; }

  Subscribers subscribers;
  BehindWatch behind_watch;
  HoldUps hold_ups;

  // The socket's side.
  void ready(Peer& peer) noexcept override;
  void not_ready(Peer& peer) noexcept override;
  void let_go(Peer& peer) noexcept override;
  void connection_ended(Peer& peer, DropReason reason) noexcept override;
  void given_up(Peer& peer, DropReason reason) noexcept override;
  [[nodiscard]] bool awaits(const Peer& peer) const noexcept override;
  void comes_as(Peer& gone, Peer& peer) noexcept override;
  [[nodiscard]] bool may_drop(const Peer& peer) const noexcept override;
  void wire_idle(Peer& peer) noexcept override;
  const char* take_control(Peer& peer, const Frame& frame) override;
  [[nodiscard]] std::uint64_t gathered_for(const Peer& peer) const noexcept override;
  [[nodiscard]] bool bears_with(const Peer& peer) const noexcept override;
  void describe(const Peer& peer, PeerSnapshot& snapshot) const override;
  void tell_writable() noexcept override;
  bool end_turn() noexcept override;
  void flush() noexcept override;
  void stop() noexcept override;
  [[nodiscard]] double fill() const noexcept override {
    return lacks_memory_ || subscribers.too_few() ? 1.0 : subscribers.fill();
  }
  void freeze() noexcept override;
  void add_to(Counters& counters) const noexcept override;

 private:
  // Of a tag that has no row yet, or not any more.
  [[gnu::noinline]] Status send_first(std::span<const std::byte> message,
                                      std::uint64_t tag) noexcept;
  // Finds or makes the row; null without memory for it.
  TagRow* row_of(std::uint64_t tag) noexcept;
  Status send_slow(TagRow& row, Outgoing message) noexcept;
  Status send_any(TagRow& row, const Outgoing& message) noexcept;
  Status refuse(Store* short_of) noexcept;
  const char* take_change(Subscriber& subscriber, std::span<const std::byte> payload);
  void activate(Group& group) noexcept;
  void go_away(Subscriber& subscriber) noexcept;
  void leave(Subscriber& subscriber) noexcept;
  void look_at_backlog(Subscriber& subscriber) noexcept;
  void look_after_slow() noexcept;
  void end_failed() noexcept;
  bool too_slow(Subscriber& subscriber, std::int64_t now_ns) noexcept;
  void dismiss(Subscriber& subscriber, std::int64_t now_ns) noexcept;
  // One for each store that was ever found empty: all that may end a wait is heard of.
  class MemoryWaiter final : public StoreWaiter {
   public:
    MemoryWaiter(PublishCore& core, Store& its_store) noexcept : store(its_store), core_(core) {}
    void on_memory() noexcept override;
    Store& store;

   private:
    PublishCore& core_;
  };
  void wait_for(Store& store) noexcept;

  SocketCore& socket_;
  Staging staging_;
  ChangeLine changes_;
  Audience closed_;  // of every tag once the socket is closed
  std::deque<MemoryWaiter> waiters_;
  std::vector<Group*> active_;  // have an open page, or something posted in this turn
  Timer slow_timer_;            // runs while somebody may be behind for too long
  const bool may_block_for_ever_;
  bool stopped_ = false;
  bool wanted_ = false;             // a send was refused: on_writable is owed
  bool failed_ = false;             // somebody's backlog
  bool worth_trying_ = false;       // and something has changed since
  bool lacks_memory_ = false;       // the last refusal was for that, and none has come home since
  Pool* pages_short_of_ = nullptr;  // if it was for pages: of these, so many are needed
  std::size_t pages_wanted_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t bytes_sent_ = 0;
  std::uint64_t agains_ = 0;
};

}  // namespace netio::detail
