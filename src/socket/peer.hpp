// One remote end of a socket: its link, the messages to it and from it, from the greeting to the
// good-bye. A dialed peer outlives its links and reconnects. An accepted peer goes with its link,
// and leaves a record of its stream to the socket; unless its distribution keeps something for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <netio/loop.hpp>
#include <netio/socket.hpp>

#include "base/url.hpp"
#include "socket/dialer.hpp"
#include "socket/half_open.hpp"
#include "socket/heartbeat.hpp"
#include "socket/incoming_stream.hpp"
#include "socket/netio_listener.hpp"
#include "socket/outgoing_stream.hpp"
#include "socket/peer_watch.hpp"
#include "socket/stream.hpp"
#include "socket/wire_choice.hpp"
#include "transport/link.hpp"
#include "wire/control.hpp"

namespace netio::detail {

class SocketCore;

// What a SendCore notes of a peer, and of a message or a request to all.
struct SendState {
  bool connected = false;     // it is up, and its end is not known of
  bool ready = false;         // it takes messages now
  bool owed_by_name = false;  // a message to this peer was refused: on_writable is owed
  bool owed_to_any = false;   // the same of a message by its tag, or to all: also when it is lost
  Lease copy_to_all;          // of the message that is being given to all; empty between calls
};

class Peer final : public Newcomer,
                   private LinkEvents,
                   private WireChoice::Owner,
                   private StreamOwner,
                   private StoreWaiter,
                   private Deferred {
 public:
  // Starts the link, which will connect to `url`: the peer is dialed.
  Peer(SocketCore& socket, std::unique_ptr<Link> link, const Url& url);
  // Starts the link, which was accepted; `how`, if that was at a netio:// address.
  Peer(SocketCore& socket, std::unique_ptr<Link> link, std::unique_ptr<NetioConnection> how);
  ~Peer() override;

  OutgoingStream outgoing;  // where messages for it go
  // When it began to be behind, as its distribution says; 0 while it is not.
  std::int64_t behind_since_ns = 0;
  SendState send_state;

  // Where its connection stands.
  enum class Phase : std::uint8_t {
    waiting,    // There is none. The dialer makes the next attempt.
    greeting,   // It is being made, up to the peer's first page.
    confirmed,  // The peer has said where it stands; run_deferred() looks whether that can be.
    settled,    // The books agree. It is up once this side has said where it stands.
    up,
    gone,  // There will be none any more: the socket forgets the peer.
  };
  [[nodiscard]] bool up() const noexcept { return phase_ == Phase::up; }
  [[nodiscard]] bool half_open() const noexcept override {
    return link_ && !dialed() && phase_ == Phase::greeting && !down_;
  }
  bool hear_greeting() noexcept override { return link_->hear_greeting(); }
  void give_way(const std::string& why) noexcept override {
    fail(DownReason::handshake_timeout, why.c_str());
  }
  [[nodiscard]] bool dialed() const noexcept { return dialer_.has_value(); }
  // Its connection is down, and the socket is about to be told.
  [[nodiscard]] bool ending() const noexcept { return down_.has_value(); }
  // Its connection broke, and what it had not acknowledged is kept until it comes back.
  [[nodiscard]] bool may_return() const noexcept;
  // Its stream is the newer one's from now on.
  void retire_for(Peer& newer) noexcept;
  // Accepted over a wire that is only offered to others: only the right token lets it in.
  [[nodiscard]] bool on_other_wire() const noexcept { return how_ && how_->on_other_wire; }
  // It has greeted, and the wire was offered to it on which this hello came.
  [[nodiscard]] bool has_offered(const Hello& other) const noexcept;
  // Both are connections of one stream, one over tcp and one over a wire that was offered there.
  [[nodiscard]] bool is_other_half_of(const Peer& peer) const noexcept;
  // The other half is the one that the peer has chosen.
  void give_up_for_other_half() noexcept;
  // Nothing more is taken for it: good-bye is said, or about to be.
  [[nodiscard]] bool leaving() const noexcept { return closing_ || bye_heard_ || dismissed_; }
  // It is to be forgotten when its connection has ended in order: the user has let it go, or closes
  // the socket.
  [[nodiscard]] bool closing() const noexcept { return closing_; }
  // Nothing that it sends is delivered any more.
  [[nodiscard]] bool deaf() const noexcept { return deaf_; }
  [[nodiscard]] bool gone() const noexcept { return phase_ == Phase::gone; }
  // PeerInfo::id. The id of an accepted peer is known by its stream, once the connection is
  // confirmed.
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  // Without the address, if there is no memory for it.
  [[nodiscard]] PeerInfo info(bool was_up) const noexcept;
  [[nodiscard]] PeerSnapshot snapshot();
  // Takes the record of its stream out of the peer. The peer has no books afterwards.
  StreamRecord surrender() noexcept;
  // Ends its connection for a reason that the link does not see: this layer's, or the pattern's.
  void fail(Down down) noexcept;
  void fail(DownReason reason, const char* what) noexcept;
  // Ends its connection in order, for this reason: says good-bye behind all that was taken for it.
  // A peer that reads nothing does not end so: the caller bounds the time, by fail().
  void dismiss(std::string detail, DownReason reason) noexcept;
  // However the connection ends, this is the reason that the user is told.
  void end_for(std::string detail, DownReason reason) noexcept;
  // It has been silent for SocketOptions::replace_silent_after, and is still: a newcomer may have
  // its place. For how long; 0 if it has not.
  [[nodiscard]] std::int64_t silent_ns() const noexcept;
  // It is gone, and does not stay on record.
  void forget_stream() noexcept {
    closing_ = true;
    outgoing.give_up_resend();
  }
  // Ends its connection, because a newcomer is to have its place.
  void give_place() noexcept;
  // While messages are not expected, a message is a breach of the protocol. A connection begins
  // with messages expected.
  void expect_messages(bool expected) noexcept { messages_expected_ = expected; }
  [[nodiscard]] WireMode their_mode() const noexcept { return their_mode_; }
  [[nodiscard]] const StreamIdentity& stream() const noexcept { return stream_; }
  // An earlier connection of the stream was up.
  [[nodiscard]] bool stream_goes_on() const noexcept { return stream_goes_on_; }
  // Its connection was confirmed: the books of the stream are here.
  [[nodiscard]] bool adopted() const noexcept { return adopted_; }
  void add_to(Books& books) const noexcept;
  [[nodiscard]] std::uint64_t bytes_arrived() const noexcept {
    return arrived_before_ + (link_ ? link_->bytes_received() : 0);
  }
  [[nodiscard]] std::uint64_t ring_writes() const noexcept {
    return ring_writes_before_ + (link_ ? link_->ring_writes() : 0);
  }
  [[nodiscard]] Link* link() const noexcept { return link_.get(); }

  // The owner's housekeeping, from the loop.
  bool send_acknowledgement() noexcept;  // if one is due; false if the link has no room for it
  // The reader has taken everything before that, which is to be acknowledged.
  void acknowledge(const ReceiveBooks::Place& taken) noexcept;
  // Messages that the user has kept hold acknowledgements back.
  [[nodiscard]] bool waits_for_release() const noexcept { return incoming_.waits_for_release(); }
  [[nodiscard]] bool waits_for_open_block() const noexcept {
    return incoming_.waits_for_open_block();
  }
  // What was released meanwhile may be acknowledged.
  void look_at_released() noexcept;
  // Ends a connection whose peer holds memory for a message and does not go on with it, or whose
  // other host is gone.
  void look_after(std::int64_t now_ns, const Shortages& shortages) noexcept;

  [[nodiscard]] const ReceiveBooks& receive_books() const noexcept { return incoming_.books(); }
  // The peer says that so many messages of the stream were dropped so far. How many are new;
  // nothing if that is a lie.
  [[nodiscard]] std::optional<std::uint64_t> miss_up_to(std::uint64_t dropped,
                                                        std::int64_t now_ns) noexcept {
    return incoming_.miss_up_to(dropped, now_ns);
  }

  // Looks again whether what is kept for it may make others wait.
  void look_whether_unread() noexcept;
  // Waits for the memory that its link received into to come home, and touches the socket then,
  // once.
  void watch_memory() noexcept;
  // The whole socket is paused, or not any more.
  void pause(bool paused) noexcept;
  // This peer alone.
  void pause_alone(bool paused) noexcept;
  [[nodiscard]] bool paused() const noexcept { return paused_; }
  // Posts all that was taken, then says good-bye; then the peer goes. Nothing more that it sends is
  // delivered, except answers that its distribution expects: the good-bye waits for these.
  void close() noexcept;
  // Once so much time has passed, a peer that closes is given up. Throws std::bad_alloc, the first
  // time.
  void linger(std::chrono::nanoseconds within);
  // connect() was told to dial it there.
  [[nodiscard]] bool dials(const Url& place) const noexcept {
    return dialed() && same_place(dialer_->url(), place);
  }
  // A request that it was asked has ended without its answer.
  void expects_less() noexcept;
  // Ends at once, without events.
  void cut() noexcept;

 private:
  Peer(SocketCore& socket, std::unique_ptr<Link> link, std::optional<Url> url,
       std::unique_ptr<NetioConnection> how);

  // LinkEvents
  Hello greet(const Hello* theirs) noexcept override;
  std::optional<Down> judge(const Hello& theirs) noexcept override;
  void on_up(const Hello& theirs) noexcept override;
  void on_page(const PageHeader& header, Block& block,
               std::span<const std::byte> body) noexcept override;
  void on_writable() noexcept override;
  void on_sent() noexcept override;
  void on_idle() noexcept override;
  void on_down(const Down& down) noexcept override;
  // WireChoice::Owner
  void begin_other_connection() noexcept override { ++stream_.epoch; }
  Hello greet_on_other() noexcept override { return say_hello(nullptr); }
  std::optional<Down> judge_other(const Hello& theirs) noexcept override;
  void choice_changed() noexcept override;
  // StreamOwner, StoreWaiter, Deferred
  void on_page_opened() noexcept override;
  void on_large_begun() noexcept override;
  void on_starved() noexcept override;
  void on_stream_memory() noexcept override { on_writable(); }
  void on_kept_unread() noexcept override;
  void on_memory() noexcept override;
  void run_deferred() noexcept override;

  // Another attempt to connect is scheduled or under way.
  [[nodiscard]] bool retrying() const noexcept { return dialer_ && dialer_->retrying(); }
  // A dialed peer is to come back: it does not close, or for what was taken for it or is expected
  // from it.
  [[nodiscard]] bool wanted() const noexcept {
    if (!closing_) return true;
    return !lingered_ && (outgoing.pending() || outgoing.has_to_resend() || expects_answers());
  }
  [[nodiscard]] bool expects_answers() const noexcept;
  [[nodiscard]] const char* why_let_go() const noexcept;
  void depart() noexcept;
  void stop_delivery() noexcept;
  void give_up_for_good(DropReason reason) noexcept;
  // Up, and its end is not known of.
  [[nodiscard]] bool open() const noexcept { return up() && !down_; }
  void dial() noexcept;
  [[nodiscard]] std::string who() const;  // for a person
  Hello say_hello(const Hello* theirs) noexcept;
  void say_who(const Hello* theirs, Hello& hello);
  void answer(const Hello& theirs, Hello& hello);
  void answer_who_asks(Hello& hello);
  [[nodiscard]] std::optional<Down> objection_to(const Hello& theirs);
  void take_hello(const Hello& theirs) noexcept;
  void go_on_with_choice();
  [[nodiscard]] bool comes_again_over_tcp(const Down& down, bool was_up) noexcept;
  void give_up_greeting() noexcept;
  void start_resume_timer() noexcept;
  void give_up_resend() noexcept;
  void acknowledge_in_time(std::size_t bytes) noexcept;
  void look_at_heartbeat() noexcept;
  [[nodiscard]] std::uint64_t taken_and_heard() const noexcept;
  [[nodiscard]] bool judges_silence() const noexcept;
  void fail_silent(std::int64_t silent_ns, const char* why) noexcept;
  // Grows with whatever comes: pages, and what is fetched.
  [[nodiscard]] std::uint64_t heard() const noexcept {
    return link_->bytes_received() + link_->page_progress();
  }
  void start_heartbeat() noexcept;
  void look_at_heartbeat_again() noexcept;
  void say_where() noexcept;
  void take_first_page(const PageHeader& header, std::span<const std::byte> body);
  [[nodiscard]] bool adopt_stream();
  [[nodiscard]] const char* settle(const ConfirmFrame& theirs, bool stream_is_new);
  void take_up();
  void come_up();
  void draw_stream();
  struct Ended {
    bool was_up;
    bool quiet;
  };
  void end_connection() noexcept;
  std::optional<Ended> settle_end(Down& down) noexcept;
  void release_link() noexcept;
  void after_delivery(IncomingStream::Result result) noexcept;
  [[gnu::noinline]] void after_part(IncomingStream::Result result) noexcept;
  void go_on() noexcept;
  [[nodiscard]] bool not_to_be_read()
      const noexcept;  // not to be read: paused, by itself or with all
  void take_control(std::span<const std::byte> body);
  void advance_ending() noexcept;
  [[nodiscard]] bool reader_is_behind() const noexcept;
  [[nodiscard]] const char* stalled(PeerWatch::Look look, const Shortages& shortages) noexcept;

  SocketCore& socket_;
  std::uint64_t id_;
  std::string address_;
  std::string name_;            // as it was said last
  std::string wire_;            // of the last connection that came up
  std::string variant_reason_;  // why it is not the variant that was asked for
  std::unique_ptr<Link> link_;
  std::unique_ptr<NetioConnection> how_;  // accepted at a netio:// address
  std::unique_ptr<WireChoice> choice_;    // dialed: of a netio:// address
  IncomingStream incoming_;
  CallingWaiter home_waiter_;
  PeerWatch watch_;
  Heartbeat heartbeat_;
  Heartbeat place_;               // whether a newcomer may have its place
  std::optional<Dialer> dialer_;  // of a dialed peer
  Phase phase_ = Phase::greeting;
  StreamIdentity stream_;
  RunId met_run_{};             // the last that came up; zeros: none yet
  std::uint64_t restarts_ = 0;  // how often it was another one
  bool adopted_ = false;        // accepted only: the stream is its own
  bool stream_goes_on_ = false;

  // Of the connection that is being greeted.
  std::uint64_t nonce_ = 0;             // of the accepting side
  Timer confirm_timer_;                 // runs from the hellos until the peer has confirmed
  Timer resume_timer_;                  // runs while it is away, and messages are kept for it
  std::optional<Timer> linger_timer_;   // of a peer that is let go
  std::int64_t resume_until_ns_ = 0;    // then it ends, however often; 0: it is not away
  ConfirmFrame confirmed_{};            // by the peer
  std::uint32_t their_silence_ms_ = 0;  // what its hello asked for
  bool they_beat_ = false;              // its hello offered that
  bool confirm_owed_ = false;           // the link had no room for ours
  bool greeting_late_ = false;          // confirm_timer_ has run out once
  RunId greeted_run_{};                 // dialed: who has answered
  ReceiveBooks::Lost lost_{};           // with earlier connections; the user is to be told

  Timer heartbeat_timer_;

  WireMode their_mode_ = WireMode::buffered;
  bool place_is_free_ = false;  // by the last look at place_
  bool messages_expected_ = true;
  bool closing_ = false;
  bool ends_ = false;  // end_connection() is under way
  bool deaf_ = false;
  bool lingered_ = false;  // its time to close is over
  bool bye_said_ = false;
  bool bye_heard_ = false;
  bool dismissed_ = false;
  bool paused_ = false;            // by itself; over all its connections
  bool resume_ = false;            // run_deferred goes on with a held page
  bool room_found_ = false;        // run_deferred tells who was refused
  bool kept_unread_ = false;       // run_deferred looks at what is kept
  bool starved_for_long_ = false;  // the link has lacked memory to read into, two looks in a row
  std::optional<Down> objection_;  // why our hello refused the peer
  std::optional<Down> down_;       // run_deferred ends the connection
  std::optional<Down> end_;        // why the connection ends, whatever the link will say
  bool was_asked_ = false;         // accepted: the other end only asks who is here
  bool expired_ = false;   // one side has forgotten the stream: the peer comes again with another
  bool disputed_ = false;  // dialed: what the peer says of the stream cannot be

  std::int64_t held_since_ns_ = 0;  // the page that is held
  static constexpr std::uint64_t never_unread = UINT64_MAX;
  std::uint64_t was_unread_at_ = never_unread;  // heard(), if it was not read at the last look
  std::uint64_t arrived_before_ = 0;            // bytes on links that are gone
  std::uint64_t ring_writes_before_ = 0;        // on these
  std::size_t bytes_to_acknowledge_ = 0;        // that came since the last acknowledgement went
};

}  // namespace netio::detail
