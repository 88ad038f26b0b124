// One message to one peer: the next that is ready, in turn, or the one of its tag, or the one that
// the user names, or one message to all; lent memory; and when the user is called to try again.
// Owner thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <netio/batch.hpp>
#include <netio/loop.hpp>
#include <netio/message.hpp>
#include <netio/options.hpp>
#include <netio/sending.hpp>
#include <netio/status.hpp>

#include "memory/block.hpp"
#include "socket/distribution.hpp"
#include "socket/lent_memory.hpp"
#include "socket/peer.hpp"
#include "socket/ready_peers.hpp"
#include "socket/tag_peers.hpp"
#include "socket/writable_calls.hpp"

namespace netio::detail {

class ContextCore;
class MessageToAll;
class SocketCore;

class SendCore final : public Distribution, private Deferred {
 public:
  SendCore(SocketCore& socket, ContextCore& context, Mode mode, bool by_tag);

  // Here, for the C++ and the C surface to be one call each and no more.
  Status send(std::span<const std::byte> message, std::uint64_t tag) noexcept {
    if (mode_ == Mode::buffered && !ready_.empty()) [[likely]] {
      if (ready_.next().outgoing.gather_at_once(message, tag)) [[likely]] {
        ready_.next_turn();
        bytes_sent_ += message.size();
        return Status::ok;
      }
    }
    return send_slow(message, tag);
  }
  Status send_to(std::uint64_t peer, std::span<const std::byte> message,
                 std::uint64_t tag) noexcept {
    return gather({peer, tag}, message);
  }
  Status send(const SegmentList& segments, std::uint64_t tag) noexcept {
    return put_segments({{}, tag}, segments);
  }
  Status send_to(std::uint64_t peer, const SegmentList& segments, std::uint64_t tag) noexcept {
    return put_segments({peer, tag}, segments);
  }
  ToAll send_to_all(std::span<const std::byte> message, std::uint64_t tag) noexcept;
  // Is told which peers take the messages of a page.
  class PageTakers {
   public:
    // The peer took some of them just now.
    virtual void took(const Peer& peer) noexcept = 0;

   protected:
    ~PageTakers() = default;
  };
  struct PageOptions {
    // What the page comes to, if that is known; else it is found out.
    const FrameSums* sums = nullptr;
    bool copies = false;  // the page is copied, because its memory is needed for others
    PageTakers* takers = nullptr;
  };
  // The messages of a page that was received, as far as they are taken: ok if all are; otherwise
  // the answer is about the first of those that are left.
  Status send(MessageCursor& messages, const PageOptions& options) noexcept;
  Status send(Message& message) noexcept { return pass({{}, message.tag()}, message); }
  Status send_to(std::uint64_t peer, Message& message) noexcept {
    return pass({peer, message.tag()}, message);
  }
  Status lend(std::span<const std::byte> message, std::uint64_t token, std::uint64_t tag) noexcept {
    return lend_by({{}, tag}, message, token);
  }
  Status lend_to(std::uint64_t peer, std::span<const std::byte> message, std::uint64_t token,
                 std::uint64_t tag) noexcept {
    return lend_by({peer, tag}, message, token);
  }
  // The last of them is lent.
  Status lend(std::span<const Segment> segments, std::uint64_t token, std::uint64_t tag) noexcept;
  Message allocate(std::size_t bytes, std::uint64_t tag, Status& status,
                   std::size_t head_bytes = 0) noexcept {
    return allocate_by({{}, tag}, bytes, status, head_bytes);
  }
  Message allocate_for(std::uint64_t peer, std::size_t bytes, std::uint64_t tag, Status& status,
                       std::size_t head_bytes) noexcept {
    return allocate_by({peer, tag}, bytes, status, head_bytes);
  }
  std::span<std::byte> reserve(std::size_t bytes, Status& status) noexcept;
  Status commit(std::size_t bytes, std::uint64_t tag) noexcept;

  WritableCalls writable;
  [[nodiscard]] SocketCore& socket() const noexcept { return socket_; }
  [[nodiscard]] bool by_tag() const noexcept { return tag_peers_ != nullptr; }
  [[nodiscard]] std::uint64_t bytes_sent() const noexcept { return bytes_sent_; }
  void on_released(std::function<void(std::uint64_t)> call) { lent_.on_released(std::move(call)); }

  // The socket's side.
  void ready(Peer& peer) noexcept override;
  void not_ready(Peer& peer) noexcept override;
  void connection_ended(Peer&, DropReason) noexcept override {}
  void wire_idle(Peer& peer) noexcept override { peer.outgoing.flush(); }
  const char* take_control(Peer&, const Frame&) noexcept override {
    return "sent a control frame that is not known here";
  }
  void lost(Peer& peer, std::uint64_t first, std::uint64_t count) noexcept override;
  void tell_writable() noexcept override;
  bool end_turn() noexcept override;
  void flush() noexcept override;
  void stop() noexcept override;
  void freeze() noexcept override { stop(); }
  void add_to(Counters& counters) const noexcept override;
  [[nodiscard]] double fill() const noexcept override;
  [[nodiscard]] LentMemory& lent() noexcept { return lent_; }

 private:
  // Where a message goes: to the peer with this id, or, without one, where its tag or the turn
  // says.
  struct Target {
    std::optional<std::uint64_t> peer;
    std::uint64_t tag = 0;
  };

  [[nodiscard]] bool in_turn(const Target& target) const noexcept {
    return !target.peer && !tag_peers_;
  }
  // Offers to the peers that may have it.
  template <typename Offer>
  Status offer_to(const Target& target, std::size_t bytes, Offer&& offer) noexcept;
  // Offers to the ready peers in turn until one takes it.
  template <typename Offer>
  Status offer_in_turn(std::size_t bytes, Offer&& offer) noexcept;
  Status refused(std::size_t bytes) noexcept;
  [[nodiscard]] Peer* find(const Target& target, std::size_t bytes, Status& status) noexcept;
  Status refused_by(Peer* peer, const Target& target, Status status) noexcept;
  Status send_slow(std::span<const std::byte> message, std::uint64_t tag) noexcept;
  Status gather(const Target& target, std::span<const std::byte> message) noexcept;
  // Of a message to all (send_to_all.cpp).
  template <typename Call>
  void each_connected(Call&& call) noexcept;
  template <typename Ask>
  Status ask_all(const MessageToAll& message, Ask&& ask) noexcept;
  Status prepare_for_all(MessageToAll& message) noexcept;
  // What became of a message is counted.
  Status sent(Status status, std::size_t bytes) noexcept;
  Status put_segments(const Target& target, const SegmentList& segments) noexcept;
  Status pass(const Target& target, Message& message) noexcept;
  Status pass_page(MessageCursor& messages, const PageOptions& options, bool& as_it_is) noexcept;
  Status pass_first(Peer& peer, const MessageView& view, bool copies) noexcept;
  Status lend_by(const Target& target, std::span<const std::byte> message,
                 std::uint64_t token) noexcept;
  Message allocate_by(const Target& target, std::size_t bytes, Status& status,
                      std::size_t head_bytes) noexcept;
  void join(Peer& peer);
  [[nodiscard]] bool a_tag_was_refused() const noexcept;
  void leave_turn(Peer& peer) noexcept;
  void tell() noexcept;
  void run_deferred() noexcept override { tell(); }

  SocketCore& socket_;
  Mode mode_;
  bool stopped_ = false;
  bool wanted_ = false;  // a send was refused: on_writable is owed
  bool absent_ = false;  // a peer was named that is not there: it is owed when one comes up
  ReadyPeers ready_;     // of a socket that sends by tag: none, ever
  std::unique_ptr<TagPeers> tag_peers_;  // the connected peers of a socket that sends by tag
  Peer* reserved_ = nullptr;
  std::uint64_t bytes_sent_ = 0;
  std::uint64_t agains_ = 0;
  LentMemory lent_;
};

}  // namespace netio::detail
