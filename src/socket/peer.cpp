// A peer's connections: dialing, going down, coming back. The greeting is in peer_greeting.cpp, its
// pages are in peer_datapath.cpp.
#include "socket/peer.hpp"

#include <algorithm>
#include <utility>

#include "base/out_of_memory.hpp"
#include "base/random.hpp"
#include "socket/context_core.hpp"
#include "socket/retry_delay.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

namespace {

// The delay to a place that answered wrongly, if reconnect_after_max is shorter; less up to half of
// it, at random.
constexpr std::int64_t slow_retry_ns = 1'000'000'000;

// The address is wrong, or the program there: it is told once, and tried again slowly, if at all.
// Where a netio was met before, it always is: a proxy answers for a program that restarts, a name
// is about to be known again, or another release is being started.
bool wrong_place(DownReason reason) noexcept {
  return reason == DownReason::name_unknown || reason == DownReason::foreign_protocol ||
         reason == DownReason::version_mismatch || reason == DownReason::pattern_mismatch;
}

// What speaks no netio may stand in for a program that is about to: only what a host name or a
// netio there has said is an answer for good.
bool final_answer(DownReason reason) noexcept {
  return wrong_place(reason) && reason != DownReason::foreign_protocol;
}

}  // namespace

Peer::Peer(SocketCore& socket, std::unique_ptr<Link> link, std::optional<Url> url)
    : sender(*this, socket.context().large_pool(), socket.options().message_bytes_max),
      socket_(socket),
      id_(url ? socket.next_peer_id() : 0),
      url_(std::move(url)),
      address_(link->peer_address()),
      link_(std::move(link)),
      receiver_(socket.receiving.delivery, socket.context().large_pool(),
                socket.link_options().large_quota, socket.options().message_bytes_max),
      home_waiter_([&socket] { socket.touch(); }),
      retry_timer_(socket.context().loop, [this] { dial(); }),
      confirm_timer_(socket.context().loop, [this] { give_up_greeting(); }),
      up_since_ns_(dialed() ? 0 : socket.context().loop.now().count()) {
  receiver_.books.look_from(socket.context().loop.now().count());
  if (dialed()) {
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
        link_ = socket_.context().transport(address_).connect(*url_, socket_.link_options());
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
        if (up_ && down_->detail.starts_with(address_ + " ") && !down_->detail.starts_with(who())) {
          down_->detail.replace(0, address_.size(), who());
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
  link_->cut();
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
  if (!up_ || down_) return;
  end_for(std::move(detail), reason);
  dismissed_ = true;
  advance_ending();
}

void Peer::run_deferred() noexcept {
  if (down_) {
    end_connection();
    return;
  }
  if (confirmed_ && !settled_) {
    guard_memory([this] { take_up(); }, [this]() noexcept { fail(out_of_memory()); });
    if (!up_ || down_) return;
  }
  if (std::exchange(no_stranger_, false)) on_writable();
  if (std::exchange(resume_, false) && up_ && !down_ && !held_back()) go_on();
}

void Peer::end_connection() noexcept {
  const Down down = std::move(*down_);
  down_.reset();
  if (const auto lost = std::exchange(lost_, {}); lost.count != 0) {
    socket_.distribution().lost(*this, lost.first, lost.count);
    if (gone_) return;  // the user destroyed the socket in that call
  }
  const bool was_up = std::exchange(up_, false);
  const bool in_order = bye_heard_;
  release_link();
  const bool expired = std::exchange(expired_, false);
  if (dialed() && (std::exchange(disputed_, false) || expired)) {
    sender.books.begin_stream();
    receiver_.books.begin_stream();
    draw_stream();
  }
  if (dialed() && expired) {
    retrying_ = !closing_ || sender.pending();
    if (retrying_) return retry_timer_.start_once(std::chrono::nanoseconds(0));
  }
  if (id_ == 0) id_ = socket_.next_peer_id();
  // Its good-bye carried its last word on what it got.
  const DropReason reason = in_order ? DropReason::peer_closed : DropReason::not_sent;
  if (in_order) sender.books.drop_posted(reason);
  socket_.distribution().gone(*this, reason);
  const bool wrong = wrong_place(down.reason);
  const bool met = met_run_ != RunId{};
  const bool told_before = wrong && !was_up && told_wrong_ == down.reason;
  told_wrong_ = wrong ? std::optional(down.reason) : std::nullopt;
  retrying_ = dialed() && (met || !final_answer(down.reason)) && (!closing_ || sender.pending());
  if (retrying_) {
    schedule_retry(wrong);
  } else {
    sender.drop_pending(reason);
    gone_ = true;
  }
  socket_.peer_down(*this, down, was_up, expired || (told_before && retrying_));
}

void Peer::release_link() noexcept {
  cancel();
  stop_waiting();
  home_waiter_.stop_waiting();
  behind_since_ns = 0;
  sender.detach();
  receiver_.end();
  arrived_before_ = bytes_arrived();
  link_.reset();
  bye_said_ = bye_heard_ = dismissed_ = resume_ = no_stranger_ = false;
  confirm_timer_.stop();
  confirmed_.reset();
  confirm_owed_ = settled_ = false;
  lost_ = {};
  objection_.reset();
  end_.reset();
}

// Doubles from the first delay to the last, each less a random half of it, so that many peers of
// one that restarts do not come back in step. `slowly`: after the longest delay, or a second if
// that is longer, because what answers there may never have heard of netio.
void Peer::schedule_retry(bool slowly) noexcept {
  const SocketOptions& options = socket_.options();
  const std::int64_t now_ns = socket_.context().loop.now().count();
  if (up_since_ns_ != 0 && now_ns - up_since_ns_ > options.reconnect_after_max.count()) {
    attempts_ = 0;
  }
  up_since_ns_ = 0;
  const std::int64_t longest_ns = options.reconnect_after_max.count();
  const std::int64_t delay_ns =
      slowly ? std::max<std::int64_t>(longest_ns, slow_retry_ns)
             : retry_delay_ns(options.reconnect_after_min.count(), longest_ns, attempts_);
  attempts_ = std::min(attempts_ + 1, retry_doublings_max);
  const std::int64_t half_ns = std::max<std::int64_t>(delay_ns / 2, 1);
  retry_timer_.start_once(std::chrono::nanoseconds(
      half_ns + static_cast<std::int64_t>(random_below(static_cast<std::uint64_t>(half_ns) + 1))));
}

void Peer::close() noexcept {
  closing_ = true;
  if (down_) return;  // run_deferred is about to end the connection, and sees closing_
  if (up_) {
    // What is held is not wanted any more; the peer's good-bye comes behind it.
    resume_ = false;
    receiver_.end();
    link_->assembling(false);
    link_->pause(false);
    advance_ending();
  } else if (!dialed() || !sender.pending()) {
    cut();
  }
}

void Peer::cut() noexcept {
  if (gone_) return;
  up_ = false;
  gone_ = true;
  retry_timer_.stop();
  confirm_timer_.stop();
  down_.reset();
  if (link_) link_->cut();
  cancel();
  stop_waiting();
  sender.detach();
  const DropReason reason = closing_ ? DropReason::linger_expired : DropReason::not_sent;
  socket_.distribution().not_ready(*this);
  socket_.distribution().gone(*this, reason);
  sender.drop_pending(reason);
}

PeerInfo Peer::info(bool was_up) const noexcept {
  PeerInfo info;
  info.id = id_;
  guard_memory([&] { info.address = address_; }, []() noexcept {});
  guard_memory([&] { info.name = name_; }, []() noexcept {});
  info.run = met_run_;
  info.dialed = dialed();
  info.retrying = retrying_;
  info.was_up = was_up;
  info.restarts = restarts_;
  add_to(info.books);
  if (up_) info.message_bytes_max = link_->limits().message_bytes_max;
  return info;
}

PeerSnapshot Peer::snapshot() {
  PeerSnapshot snapshot{info(up_)};
  snapshot.up = up_;
  snapshot.paused = paused_;
  snapshot.waiting_messages = sender.unposted();
  snapshot.waiting_bytes = sender.unposted_bytes();
  socket_.distribution().describe(*this, snapshot);
  if (!up_) return snapshot;
  snapshot.wire_bytes = link_->queued_bytes();
  const std::int64_t now_ns = socket_.context().loop.now().count();
  listen_at(now_ns);
  const auto since = [now_ns](std::int64_t then_ns) {
    return std::chrono::nanoseconds(std::max<std::int64_t>(now_ns - then_ns, 0));
  };
  snapshot.up_for = since(up_since_ns_);
  snapshot.silent_for = since(heard_ns_);
  snapshot.behind = behind_since_ns != 0;
  if (snapshot.behind) snapshot.behind_for = since(behind_since_ns);
  return snapshot;
}

StreamRecord Peer::surrender() noexcept {
  // It goes with this connection, and is counted before what comes next is numbered.
  sender.drop_pending(bye_heard_ ? DropReason::peer_closed : DropReason::not_sent);
  adopted_ = false;
  return {std::exchange(stream_, {}), id_, std::exchange(sender.books, {}),
          std::exchange(receiver_.books, {})};
}

void Peer::add_to(Books& books) const noexcept {
  sender.add_to(books);
  const std::uint64_t gathered = socket_.distribution().gathered_for(*this);
  books.sent += gathered;
  books.unacknowledged += gathered;
  receiver_.books.add_to(books);
}

}  // namespace netio::detail
