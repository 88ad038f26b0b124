// A peer's connections: dialing, going down, coming back. The greeting is in peer_greeting.cpp, its
// pages are in peer_datapath.cpp.
#include "socket/peer.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/out_of_memory.hpp"
#include "base/random.hpp"
#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

Peer::Peer(SocketCore& socket, std::unique_ptr<Link> link, const Url& url)
    : Peer(socket, std::move(link), std::optional(url), nullptr) {}

Peer::Peer(SocketCore& socket, std::unique_ptr<Link> link, std::unique_ptr<NetioConnection> how)
    : Peer(socket, std::move(link), std::nullopt, std::move(how)) {}

Peer::Peer(SocketCore& socket, std::unique_ptr<Link> link, std::optional<Url> url,
           std::unique_ptr<NetioConnection> how)
    : outgoing(*this, socket.context().large_pool(), socket.copies(),
               socket.options().message_bytes_max),
      socket_(socket),
      id_(url ? socket.next_peer_id() : 0),
      address_(link->peer_address()),
      link_(std::move(link)),
      how_(std::move(how)),
      incoming_(socket.receiving.delivery, socket.context().large_pool(),
                socket.link_options().large_quota, socket.options().message_bytes_max),
      home_waiter_([&socket] { socket.touch(); }),
      confirm_timer_(socket.context().loop, [this] { give_up_greeting(); }),
      resume_timer_(socket.context().loop, [this] { give_up_resend(); }),
      heartbeat_timer_(socket.context().loop, [this] { look_at_heartbeat(); }) {
  outgoing.keep_to_resend(socket.resend_bytes_max());
  incoming_.look_from(socket.context().loop.now().count());
  if (url) {
    WireChoice::Owner& owner = *this;
    if (is_netio(*url)) choice_ = std::make_unique<WireChoice>(socket, owner, *url);
    dialer_.emplace(socket.context().loop, socket.options(), without_options_of_netio(*url),
                    [this] { dial(); });
    draw_stream();
    ++stream_.epoch;
  }
  link_->start(*this);
}

Peer::~Peer() = default;

void Peer::draw_stream() { stream_ = {random_bytes<std::tuple_size_v<StreamId>>(), {}, 0}; }

void Peer::dial() noexcept {
  guard_memory(
      [this] {
        ++stream_.epoch;
        phase_ = Phase::greeting;
        link_ =
            socket_.context().transport(address_).connect(dialer_->url(), socket_.link_options());
        link_->start(*this);
      },
      [this]() noexcept { on_down(out_of_memory()); });
}

void Peer::on_down(const Down& down) noexcept {
  if (down_) return;
  guard_memory([&] { down_ = objection_ ? *objection_ : down; },
               [&]() noexcept { down_ = out_of_memory((objection_ ? *objection_ : down).reason); });
  // A link knows the address alone.
  guard_memory(
      [this] {
        if (!up()) return;
        const std::string said = link_->peer_address();
        if (down_->detail.starts_with(said + " ") && !down_->detail.starts_with(who())) {
          down_->detail.replace(0, said.size(), who());
        }
      },
      []() noexcept {});
  if (bye_heard_) {
    down_->reason = closing_ ? DownReason::closed_here : DownReason::closed_by_peer;
    guard_memory([this] { down_->detail = who() + " ended in order"; },
                 [this]() noexcept { down_->detail = "ended in order"; });
  }
  if (end_) down_ = std::exchange(end_, std::nullopt);
  socket_.distribution().not_ready(*this);
  socket_.context().loop.defer(*this);
}

// The link may be on the stack.
void Peer::fail(Down down) noexcept {
  if (down_) return;
  if (link_) link_->cut();
  guard_memory([&] { down.detail = who() + ": " + down.detail; }, []() noexcept {});
  on_down(down);
}

void Peer::fail(DownReason reason, const char* what) noexcept {
  guard_memory([&] { fail({reason, what}); }, [&]() noexcept { fail(out_of_memory(reason)); });
}

void Peer::end_for(std::string detail, DownReason reason) noexcept {
  if (end_) return;
  guard_memory(
      [&] {
        end_ = Down{reason, who() + ": " + detail};
      },
      [&]() noexcept {
        end_ = Down{reason, std::move(detail)};
      });
}

void Peer::dismiss(std::string detail, DownReason reason) noexcept {
  if (!open()) return;
  end_for(std::move(detail), reason);
  dismissed_ = true;
  advance_ending();
}

void Peer::run_deferred() noexcept {
  if (down_) {
    end_connection();
    return;
  }
  if (closing_) advance_ending();
  if (choice_ && choice_->pending()) go_on_with_choice();
  if (phase_ == Phase::confirmed) {
    guard_memory([this] { take_up(); }, [this]() noexcept { fail(out_of_memory()); });
    if (!open()) return;
  }
  if (std::exchange(kept_unread_, false) && open()) look_whether_unread();
  if (std::exchange(room_found_, false)) on_writable();
  if (std::exchange(resume_, false) && open() && !not_to_be_read()) go_on();
}

void Peer::end_connection() noexcept {
  Down down = std::move(*down_);
  down_.reset();
  ends_ = true;
  const std::optional<Ended> ended = settle_end(down);
  ends_ = false;
  if (ended) socket_.peer_down(*this, down, ended->was_up, ended->quiet);
}

// What the user is told of it; nothing if nobody is.
std::optional<Peer::Ended> Peer::settle_end(Down& down) noexcept {
  if (const auto lost = std::exchange(lost_, {}); lost.count != 0) {
    socket_.distribution().lost(*this, lost.first, lost.count);
    if (gone()) return {};  // the user destroyed the socket in that call
  }
  const bool was_up = std::exchange(phase_, Phase::waiting) == Phase::up;
  const bool in_order = bye_heard_;
  if (!was_up && (was_asked_ || socket_.has_other_half(*this))) {
    release_link();
    phase_ = Phase::gone;
    socket_.half_ended();
    return {};
  }
  const bool over_tcp = comes_again_over_tcp(down, was_up);
  release_link();
  const bool expired = std::exchange(expired_, false);
  if (dialed() && (std::exchange(disputed_, false) || expired)) {
    socket_.distribution().given_up(*this, DropReason::not_sent);
    outgoing.begin_anew();
    incoming_.begin_anew();
    draw_stream();
  }
  if (dialed() && (expired || over_tcp)) {
    dialer_->dial_at_once(wanted());
    if (dialer_->retrying()) return {};
  }
  if (id_ == 0) id_ = socket_.next_peer_id();
  // Its good-bye carried its last word on what it got.
  const DropReason reason = in_order    ? DropReason::peer_closed
                            : lingered_ ? DropReason::linger_expired
                                        : DropReason::not_sent;
  if (in_order) {
    socket_.distribution().ended_in_order(*this);
    outgoing.drop_posted(reason);
  }
  socket_.distribution().connection_ended(*this, reason);
  const bool told_before = dialed() && dialer_->ended({.reason = down.reason,
                                                       .was_up = was_up,
                                                       .met = met_run_ != RunId{},
                                                       .wanted = wanted()});
  const bool awaited = socket_.distribution().awaits(*this);
  const bool may_come_back = adopted_ && !in_order && !closing_;
  if (may_come_back) outgoing.keep_pending_to_resend();
  const bool stays = retrying() || (awaited && may_come_back && socket_.has_room_for_absent(*this));
  if (!stays) {
    give_up_for_good(reason);
  } else if ((awaited || outgoing.has_to_resend()) && !resume_timer_.running()) {
    start_resume_timer();
  }
  const bool last = closing_ && !stays;
  if (last && !was_up) down.reason = DownReason::closed_here;
  return Ended{.was_up = was_up, .quiet = (expired || told_before) && !last};
}

void Peer::give_up_for_good(DropReason reason) noexcept {
  socket_.distribution().given_up(*this, reason);
  outgoing.drop_pending(reason);
  if (closing_) outgoing.give_up_resend();
  phase_ = Phase::gone;
  resume_timer_.stop();
}

// Connections between that did not come up do not begin the time anew.
void Peer::start_resume_timer() noexcept {
  const std::int64_t now_ns = socket_.context().loop.now().count();
  if (resume_until_ns_ == 0) resume_until_ns_ = now_ns + socket_.options().resume_within.count();
  resume_timer_.start_once(
      std::chrono::nanoseconds(std::max<std::int64_t>(resume_until_ns_ - now_ns, 0)));
}

// The peer was away for too long.
void Peer::give_up_resend() noexcept {
  // It may be coming back just now, and then what it says decides.
  if (confirm_timer_.running()) return resume_timer_.start_once(std::chrono::milliseconds(10));
  resume_until_ns_ = 0;
  outgoing.give_up_resend();
  socket_.distribution().given_up(*this, DropReason::not_sent);
  if (gone()) return;  // the user destroyed the socket in a call-back
  if (!dialed() || !wanted()) {
    closing_ ? depart() : cut();
  }
  socket_.touch();
  socket_.fill_changed();
  socket_.distribution().tell_writable();
}

bool Peer::may_return() const noexcept {
  if (!down_ || !up() || bye_heard_ || dismissed_ || !outgoing.resends()) return false;
  if (closing_ && !dialed()) return false;
  return down_->reason == DownReason::lost;
}

void Peer::retire_for(Peer& newer) noexcept {
  newer.resume_until_ns_ = resume_until_ns_;
  if (gone()) return;
  phase_ = Phase::gone;
  resume_timer_.stop();
  socket_.touch();
}

void Peer::release_link() noexcept {
  cancel();
  stop_waiting();
  home_waiter_.stop_waiting();
  if (!socket_.distribution().awaits(*this)) behind_since_ns = 0;
  outgoing.detach();
  incoming_.end();
  incoming_.forget_unreleased();
  arrived_before_ = bytes_arrived();
  ring_writes_before_ = ring_writes();
  link_.reset();
  if (choice_) choice_->end();
  bye_said_ = bye_heard_ = dismissed_ = resume_ = room_found_ = kept_unread_ = starved_for_long_ =
      false;
  was_unread_at_ = never_unread;
  held_since_ns_ = 0;
  confirm_timer_.stop();
  heartbeat_timer_.stop();
  confirm_owed_ = false;
  lost_ = {};
  objection_.reset();
  end_.reset();
}

void Peer::close() noexcept {
  closing_ = true;
  deaf_ = !expects_answers();
  if (deaf_) incoming_.acknowledge_the_rest();
  if (down_ || ends_) return;  // run_deferred ends the connection, and sees closing_
  if (up()) {
    if (deaf_) stop_delivery();
    advance_ending();
  } else if (!dialed() || !wanted()) {
    // The user is told of what is given up, and from the loop only.
    if (socket_.distribution().awaits(*this)) return resume_timer_.start_once({});
    depart();
  }
}

// What is held is not wanted any more; the peer's good-bye comes behind it.
void Peer::stop_delivery() noexcept {
  resume_ = false;
  incoming_.end();
  link_->assembling(false);
  link_->pause(false);
  look_whether_unread();
}

bool Peer::expects_answers() const noexcept {
  return !deaf_ && socket_.distribution().expects(*this);
}

void Peer::expects_less() noexcept {
  if (closing_) socket_.context().loop.defer(*this);
}

void Peer::linger(std::chrono::nanoseconds within) {
  if (!linger_timer_) {
    linger_timer_.emplace(socket_.context().loop, [this] {
      lingered_ = true;
      depart();
    });
  }
  linger_timer_->start_once(std::max(within, std::chrono::nanoseconds(0)));
}

const char* Peer::why_let_go() const noexcept {
  if (!up()) return "was let go";
  const SendBooks& sent = outgoing.books();
  const bool unsettled = outgoing.pending() || sent.expected != sent.next_sequence;
  if (unsettled) return "was let go, and did not take in time what was sent to it";
  if (expects_answers()) return "was let go, and did not answer in time";
  return bye_said_ ? "was let go, and did not end in time" : "was let go";
}

// There is nothing to wait for any more, or no time. The user is told, from the loop, unless the
// whole socket closes.
void Peer::depart() noexcept {
  if (gone() || down_) return;
  if (socket_.closing() && !up()) {
    cut();
    return socket_.touch();
  }
  if (dialer_) dialer_->stop();
  fail(DownReason::closed_here, why_let_go());
}

void Peer::cut() noexcept {
  if (gone()) return;
  phase_ = Phase::gone;
  if (dialer_) dialer_->stop();
  confirm_timer_.stop();
  resume_timer_.stop();
  heartbeat_timer_.stop();
  down_.reset();
  if (link_) link_->cut();
  if (choice_) choice_->cut();
  cancel();
  stop_waiting();
  outgoing.detach();
  outgoing.give_up_resend();
  const DropReason reason = closing_ ? DropReason::linger_expired : DropReason::not_sent;
  socket_.distribution().not_ready(*this);
  socket_.distribution().connection_ended(*this, reason);
  socket_.distribution().given_up(*this, reason);
  outgoing.drop_pending(reason);
}

PeerInfo Peer::info(bool was_up) const noexcept {
  PeerInfo info;
  info.id = id_;
  guard_memory([&] { info.address = address_; }, []() noexcept {});
  guard_memory([&] { info.name = name_; }, []() noexcept {});
  guard_memory([&] { info.wire = wire_; }, []() noexcept {});
  guard_memory([&] { info.wire_reason = choice_ ? choice_->reason() : variant_reason_; },
               []() noexcept {});
  info.run = met_run_;
  info.dialed = dialed();
  info.retrying = retrying();
  info.was_up = was_up;
  info.restarts = restarts_;
  add_to(info.books);
  if (up()) info.message_bytes_max = link_->limits().message_bytes_max;
  return info;
}

PeerSnapshot Peer::snapshot() {
  PeerSnapshot snapshot{info(up())};
  snapshot.up = up();
  snapshot.paused = paused_;
  snapshot.waiting_messages = outgoing.unposted();
  snapshot.waiting_bytes = outgoing.unposted_bytes();
  snapshot.kept_bytes = outgoing.kept_bytes();
  socket_.distribution().describe(*this, snapshot);
  const std::int64_t now_ns = socket_.context().loop.now().count();
  const auto since = [now_ns](std::int64_t then_ns) {
    return std::chrono::nanoseconds(std::max<std::int64_t>(now_ns - then_ns, 0));
  };
  snapshot.behind = behind_since_ns != 0;
  if (snapshot.behind) snapshot.behind_for = since(behind_since_ns);
  if (!up()) return snapshot;
  snapshot.wire_bytes = link_->queued_bytes();
  watch_.listen(*link_, now_ns);
  snapshot.up_for = since(watch_.up_since_ns());
  snapshot.silent_for = since(watch_.heard_ns());
  return snapshot;
}

StreamRecord Peer::surrender() noexcept {
  // It goes with this connection, and is counted before what comes next is numbered.
  outgoing.drop_pending(bye_heard_ ? DropReason::peer_closed : DropReason::not_sent);
  adopted_ = false;
  return {std::exchange(stream_, {}), id_, outgoing.surrender_books(), incoming_.surrender_books(),
          outgoing.surrender_resend()};
}

void Peer::add_to(Books& books) const noexcept {
  outgoing.add_to(books);
  const std::uint64_t gathered = socket_.distribution().gathered_for(*this);
  books.sent += gathered;
  books.unacknowledged += gathered;
  incoming_.books().add_to(books);
}

}  // namespace netio::detail
