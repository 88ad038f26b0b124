// What a socket is inside: its peers, listeners, call-backs and books. A pattern is a row of facts
// (who pairs with whom, who sends) and, for publish and subscribe, a distribution of its own.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <netio/socket.hpp>

#include "base/call_back.hpp"
#include "memory/kept_memory.hpp"
#include "memory/quota.hpp"
#include "socket/buriable.hpp"
#include "socket/half_open.hpp"
#include "socket/heartbeat.hpp"
#include "socket/netio_listener.hpp"
#include "socket/peer.hpp"
#include "socket/peers_by_id.hpp"
#include "socket/receive_core.hpp"
#include "socket/send_core.hpp"
#include "socket/stream_records.hpp"
#include "socket/watermarks.hpp"
#include "transport/transport.hpp"
#include "wire/hello.hpp"

namespace netio::detail {

class ContextCore;

// The facts of a pattern.
struct Pattern {
  WirePattern self;
  WirePattern other;  // the one it pairs with
  bool sends;
  bool receives;
  std::size_t peers_max;
  bool fills_blocks = false;  // see LinkOptions
  // Each peer has a place of its own above the socket, which may be taken.
  bool numbers_peers = false;
  bool is_owned = false;  // by a SocketOwner, which closes it
};

// What a socket makes of peers that say nothing, in milliseconds; 0: nothing.
struct Silence {
  std::uint32_t given_up_ms = 0;  // their connection ends
  std::uint32_t replaced_ms = 0;  // a newcomer may have their place
  // What they are asked for.
  [[nodiscard]] std::uint32_t asked_ms() const noexcept { return sooner(given_up_ms, replaced_ms); }
};

// What large messages one socket may hold at once: half of the context's, or all if one message may
// need that.
[[nodiscard]] inline std::size_t large_share(const ContextOptions& context,
                                             const SocketOptions& options) noexcept {
  const std::size_t half = context.large_bytes_max / 2;
  return options.message_bytes_max <= half / 2 ? half : context.large_bytes_max;
}

class SocketCore final : public Buriable,
                         private ListenerEvents,
                         private NetioListener::Owner,
                         private Deferred,
                         private StoreWaiter {
 public:
  SocketCore(ContextCore& context, const SocketOptions& options, const Pattern& pattern);
  ~SocketCore() override;

  // The user's side.
  std::string bind(std::string_view address);
  void connect(std::string_view address);
  bool unbind(std::string_view address);
  bool disconnect(std::uint64_t id, std::chrono::nanoseconds linger);
  std::size_t disconnect(std::string_view address, std::chrono::nanoseconds linger);
  void close(std::chrono::nanoseconds linger);
  [[nodiscard]] bool closed() const noexcept { return closed_; }
  [[nodiscard]] Books books() const noexcept;
  [[nodiscard]] std::vector<PeerSnapshot> snapshots() const;
  [[nodiscard]] Counters counters() const noexcept;
  [[nodiscard]] double fill() const noexcept;
  [[nodiscard]] std::uint64_t kept_bytes() const noexcept;
  [[nodiscard]] std::size_t peers_connected() const noexcept { return peers_up_; }
  // Those that this side connects to and that take no messages now, and those that messages are
  // kept for.
  [[nodiscard]] std::size_t peers_away(bool (*takes)(const Peer&) noexcept) const noexcept;
  void abandon() noexcept override;
  // This is the copy in a child of fork(): calls answer closed from now on.
  void freeze() noexcept;

  CallBack<void(const PeerInfo&)> on_up;
  CallBack<void(const PeerInfo&, const Down&)> on_down;
  CallBack<void(const Books&)> on_closed;
  Watermarks watermarks;

  // For a pattern that does not send to the next ready peer. Once, at set-up.
  void distribute_by(std::unique_ptr<Distribution> distribution) noexcept {
    own_distribution_ = std::move(distribution);
    distribution_ = own_distribution_.get();
  }

  // The peers' side.
  [[nodiscard]] Distribution& distribution() noexcept { return *distribution_; }
  [[nodiscard]] const std::vector<std::unique_ptr<Peer>>& peers() const noexcept { return peers_; }
  [[nodiscard]] ContextCore& context() noexcept { return context_; }
  [[nodiscard]] const SocketOptions& options() const noexcept { return options_; }
  // How much of what is sent to each peer is kept until it is acknowledged; 0: nothing.
  [[nodiscard]] std::size_t resend_bytes_max() const noexcept {
    return pattern_.sends ? options_.resume_bytes_max : 0;
  }
  [[nodiscard]] Silence silence() const noexcept;
  [[nodiscard]] const LinkOptions& link_options() const noexcept { return link_options_; }
  [[nodiscard]] const Pattern& pattern() const noexcept { return pattern_; }
  [[nodiscard]] const RunId& run() const noexcept { return run_; }
  [[nodiscard]] std::uint64_t next_peer_id() noexcept { return next_peer_id_++; }
  [[nodiscard]] bool closing() const noexcept { return closing_; }
  // Why a peer that says hello so cannot be taken.
  Refusal objection(const Hello& theirs, const Peer& from, std::string& text);
  // Whether there are as many peers as there may be, without counting `from`, older connections of
  // its stream, and peers that end or whose place it may have.
  bool busy(const StreamId& stream, const Peer& from, std::string& text) const;
  // `newer` was confirmed. If all places are taken, ends the peer that has been silent for longest,
  // if one has been for too long and none ends anyway. True until the user was told of the end.
  [[nodiscard]] bool replace_silent(Peer& newer) noexcept;
  // Not as many accepted peers are away and awaited as may be connected.
  [[nodiscard]] bool has_room_for_absent(const Peer& absent) const noexcept;
  // A connection of this stream was confirmed, and it is not forgotten.
  [[nodiscard]] bool knows(const StreamId& stream) const noexcept;
  // `newer` was confirmed. Ends the older connection of its stream, or `newer` itself if that is
  // the older one. True until the user was told that the older one ended: only then can `newer`
  // take over its books.
  [[nodiscard]] bool replace_older(Peer& newer) noexcept;
  // The connection on which a wire was offered to the side that says this hello there. Null if
  // there is none: then the hello is refused.
  [[nodiscard]] const Peer* find_offering(const Hello& theirs) const noexcept;
  // The stream of this connection, which is not up, has another one, over a wire that was offered
  // on this one, or on which this one's was offered.
  [[nodiscard]] bool has_other_half(const Peer& peer) const noexcept;
  // Such a connection has ended: neither told nor counted.
  void half_ended() noexcept;
  // The record of a stream whose peer went, taken out, if there is one.
  std::optional<StreamRecord> recall(Peer& newer);
  void peer_up(Peer& peer);
  // The connection ended, or (not `was_up`) never came up. The user is told, unless `quiet`.
  void peer_down(Peer& peer, const Down& down, bool was_up, bool quiet);
  void page_received() noexcept;
  // What this socket, or a link of it, copies is counted here.
  [[nodiscard]] Copies& copies() noexcept { return copies_; }
  [[nodiscard]] Quota& receive_quota() noexcept { return *receive_quota_; }
  void send_acknowledgements() noexcept;
  // A peer has messages that the user has kept, and that are acknowledged once they are released.
  void watch_released() noexcept;
  void look_at_released() noexcept;
  void count_page() noexcept { ++counters_.pages_received; }
  void pause_peers(bool paused) noexcept;
  // The peer has its id now, for good. Takes no memory.
  void enter_by_id(Peer& peer) noexcept { by_id_.add(peer); }
  // Null if there is none, or none any more.
  [[nodiscard]] Peer* find_peer(std::uint64_t id) noexcept { return by_id_.find(id); }
  // The books of the peer of this id, also of one that went and may come back. Nothing if it is not
  // known any more. Looks at all that went.
  [[nodiscard]] std::optional<Books> books_of(std::uint64_t id) noexcept;
  // A link waits because this socket's quota of large memory is spent.
  [[nodiscard]] bool large_quota_waited_for() const noexcept;
  // A link waits for receive memory that peers of this socket may hold.
  [[nodiscard]] bool receive_memory_waited_for() const noexcept;
  // A peer has something to be looked at when the turn ends.
  void touch() noexcept;
  // The turn is over, of all outgoing streams. True if a page stays open.
  [[nodiscard]] bool end_turn_of_streams() noexcept;
  void flush_streams() noexcept;
  // More or less waits for the wire than before: the watermarks are looked at when the turn ends.
  void fill_changed() noexcept {
    if (watermarks.watched()) touch();
  }

  bool forwarded = false;  // a Forward has the call-backs for what comes here
  SendCore sending;
  ReceiveCore receiving;

 private:
  void on_accept(std::unique_ptr<Link> link) noexcept override;
  void on_exhausted(const std::string& address, Down down) noexcept override;
  void on_netio_accept(std::unique_ptr<Link> link,
                       std::unique_ptr<NetioConnection> how) noexcept override;
  void on_netio_exhausted(const std::string& address, Down down) noexcept override {
    on_exhausted(address, std::move(down));
  }
  void run_deferred() noexcept override;
  void on_memory() noexcept override { touch(); }
  void check_stalls() noexcept;
  [[nodiscard]] std::chrono::nanoseconds stall_period() const noexcept;
  void look_at_half_open() noexcept;
  void pause_listeners(bool paused) noexcept;
  void forget_gone_peers();
  // Of accepted peers, or of all.
  [[nodiscard]] std::size_t places(bool accepted) const noexcept {
    return accepted ? std::min(pattern_.peers_max, options_.peers_max) : pattern_.peers_max;
  }
  void tell_exhausted();
  [[nodiscard]] const StreamIdentity* find_stream(const StreamId& stream) const noexcept;
  Refusal stream_objection(const Hello& theirs, std::string& text) const;
  void remember(Peer& peer);
  void forget_a_stream() noexcept;
  void forget(StreamRecord record) noexcept;
  // Of an accepted peer that went. False if there is none.
  bool forget_stream_of(std::uint64_t id) noexcept;
  [[nodiscard]] Url place_at(std::string_view address);
  void let_go(Peer& peer, std::chrono::nanoseconds linger);
  void give_up_resend() noexcept;
  void watch_memory() noexcept;
  void check_watermarks();
  void collect_received() const noexcept;
  [[nodiscard]] double receive_fill(std::size_t not_kept) const noexcept;
  void watch_kept_memory() noexcept;
  void look_at_kept_memory() noexcept;
  void close_block_that_is_waited_for() noexcept;
  void give_up_lingering();
  void cut(Peer& peer);
  void cut_copies() noexcept;

  ContextCore& context_;
  SocketOptions options_;
  Pattern pattern_;
  RunId run_;
  Quota::Ptr receive_quota_;
  Quota::Ptr large_quota_;
  KeptMemory kept_memory_;
  std::uint64_t starved_ = 0;
  Copies copies_;
  LinkOptions link_options_;

  std::unique_ptr<Distribution> own_distribution_;
  Distribution* distribution_ = &sending;
  struct Bound {
    Url asked;
    Url real;  // the same with the real port
    std::unique_ptr<Listener> listener;
  };
  std::vector<Bound> listeners_;
  std::uint64_t turned_away_ = 0;  // for lack of memory, to be told in the next turn
  std::vector<std::pair<PeerInfo, Down>> exhausted_;  // listeners, to be told of in the next turn
  std::vector<std::unique_ptr<Peer>> peers_;
  PeersById by_id_;  // has room for all of them
  std::uint64_t next_peer_id_ = 1;
  std::size_t peers_up_ = 0;
  StreamRecords records_;  // of accepted peers that went
  Books forgotten_;        // the sum of those no longer remembered
  Counters counters_;

  Timer flush_timer_;
  Timer acknowledge_timer_;
  Timer stall_timer_;
  Timer linger_timer_;
  Timer
      kept_timer_;  // runs while somebody lacks memory, and the open block of kept_memory_ is used
  Timer released_timer_;  // runs while kept messages hold acknowledgements back
  std::chrono::nanoseconds none_released_since_{0};
  // Since then a peer waits for messages in the open block of kept_memory_.
  std::optional<std::chrono::nanoseconds> open_block_since_;
  bool looks_seldom_ = false;  // the timer takes longer than acknowledge_after
  Timer records_timer_;        // runs while messages are kept for peers that went
  Timer crowd_timer_;          // runs while too many have not finished their greeting
  HalfOpen half_open_;
  bool listeners_paused_ = false;
  bool closing_ = false;
  bool closed_ = false;
};

}  // namespace netio::detail
