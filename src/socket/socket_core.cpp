// A socket's set-up and its peers' coming and going. What happens turn by turn is in
// socket_upkeep.cpp.
#include "socket/socket_core.hpp"

#include <algorithm>
#include <utility>

#include "base/out_of_memory.hpp"
#include "base/random.hpp"
#include "socket/context_core.hpp"
#include "socket/option_bounds.hpp"

namespace netio::detail {

namespace {

// Books of accepted peers that went are kept apart for this many, in case they return.
constexpr std::size_t records_max = 1024;

// So that the next one is taken without memory.
template <typename Entries>
void make_room(Entries& entries) {
  if (entries.size() == entries.capacity()) entries.reserve(2 * entries.size() + 4);
}

// What large messages one socket may hold at once: half of the context's, or all if one message may
// need that.
std::size_t large_share(const ContextOptions& context, const SocketOptions& options) {
  const std::size_t half = context.large_bytes_max / 2;
  return options.message_bytes_max <= half / 2 ? half : context.large_bytes_max;
}

}  // namespace

SocketCore::SocketCore(ContextCore& context, const SocketOptions& options, const Pattern& pattern)
    : sending(*this, context, options.mode),
      receiving(*this),
      context_(context),
      options_((context.loop.require_owner("make a socket"),
                checked(options, context.receive_pool().block_bytes()))),
      pattern_(pattern),
      session_(random_bytes<std::tuple_size_v<SessionId>>()),
      receive_quota_(
          Quota::create(options.receive_bytes_max, [&context] { context.serve_waiters(); })),
      large_quota_(Quota::create_shared(large_share(context.options(), options),
                                        [&context] { context.serve_waiters(); })),
      link_options_{.queue_bytes_max = options.send_bytes_max,
                    .message_bytes_max = options.message_bytes_max,
                    .handshake_within = options.handshake_within,
                    .keep_alive_after = options.keep_alive_after,
                    .receive_quota = receive_quota_.get(),
                    .large_quota = large_quota_.get(),
                    .starved_count = &starved_},
      flush_timer_(context.loop, [this] { distribution_->flush(); }),
      acknowledge_timer_(context.loop, [this] { send_acknowledgements(); }),
      stall_timer_(context.loop, [this] { check_stalls(); }),
      linger_timer_(context.loop, [this] { give_up_lingering(); }),
      crowd_timer_(context.loop, [this] { touch(); }),
      half_open_(options_.half_open_max) {
  context_.enter(*this);
}

SocketCore::~SocketCore() {
  abandon();
  peers_.clear();
  context_.leave(*this);
}

std::string SocketCore::bind(std::string_view address) {
  context_.loop.require_owner("bind", address);
  if (closing_) throw Error("bind " + std::string(address), "the socket was closed");
  Transport& transport = context_.transport(address);
  listeners_.push_back(transport.listen(parse_address(address), link_options_, *this));
  return listeners_.back()->address();
}

void SocketCore::connect(std::string_view address) {
  context_.loop.require_owner("connect", address);
  if (closing_) throw Error("connect " + std::string(address), "the socket was closed");
  // First of all, as a wrong scheme is a clearer complaint than what follows it.
  Transport& transport = context_.transport(address);
  const Url url = parse_address(address);
  std::unique_ptr<Link> link = transport.connect(url, link_options_);
  make_room(peers_);
  peers_.push_back(std::make_unique<Peer>(*this, next_peer_id_++, std::move(link), url));
}

void SocketCore::on_accept(std::unique_ptr<Link> link) noexcept {
  Peer* peer = nullptr;
  guard_memory(
      [&] {
        make_room(peers_);
        peers_.push_back(std::make_unique<Peer>(*this, next_peer_id_++, std::move(link)));
        peer = peers_.back().get();
        half_open_.add(*peer, context_.loop.now().count());
      },
      [&]() noexcept {
        if (peer != nullptr) return peer->fail(out_of_memory());
        ++turned_away_;
      });
  if (half_open_.full()) pause_listeners(true);
  touch();
}

// Told when the turn ends: the listener is on the stack.
void SocketCore::on_exhausted(const std::string& address, Down down) noexcept {
  guard_memory(
      [&] {
        PeerInfo info;
        info.address = address;
        make_room(exhausted_);
        exhausted_.emplace_back(std::move(info), std::move(down));
      },
      [this]() noexcept { ++turned_away_; });
  touch();
}

Refusal SocketCore::objection(const Hello& theirs, bool accepted, std::string& text) {
  if (theirs.version_min > theirs.version_here || theirs.version_max < theirs.version_here) {
    text = "wire version " + std::to_string(theirs.version_here) + " is spoken here, " +
           std::to_string(theirs.version_min) + " to " + std::to_string(theirs.version_max) +
           " there; use the same release of netio at both ends";
    return Refusal::version;
  }
  if (theirs.pattern != pattern_.other) {
    const std::string self(to_string(pattern_.self));
    text = "a " + self + " socket is at one end and a " + std::string(to_string(theirs.pattern)) +
           " socket at the other; " + self + " pairs with " +
           std::string(to_string(pattern_.other));
    return Refusal::pattern;
  }
  std::size_t others = 0;
  for (const auto& peer : peers_) {
    if (!peer->up()) continue;
    if (!peer->dialed() && peer->session() == theirs.session) {
      peer->fail({DownReason::lost, "came back on a new connection; this one is given up"});
    } else {
      ++others;
    }
  }
  if (others >= pattern_.peers_max) {
    text = "busy: the " + std::string(to_string(pattern_.self)) + " socket has a peer already";
    return Refusal::busy;
  }
  if (accepted && others >= options_.peers_max) {
    text = "busy: the " + std::string(to_string(pattern_.self)) + " socket has " +
           std::to_string(others) + " peers, and SocketOptions::peers_max allows no more";
    return Refusal::busy;
  }
  return Refusal::none;
}

std::optional<PeerRecord> SocketCore::recall(const SessionId& session) {
  for (const auto& peer : peers_) {
    if (!peer->dialed() && peer->ending() && peer->session() == session) return peer->surrender();
  }
  const auto found = std::ranges::find(records_, session, &PeerRecord::session);
  if (found == records_.end()) return std::nullopt;
  const PeerRecord record = *found;
  records_.erase(found);
  return record;
}

// The books of a peer that is not coming back as this object.
void SocketCore::remember(Peer& peer) {
  counters_.pages_sent += peer.sender.pages_posted();
  counters_.bytes_arrived += peer.bytes_arrived();
  Books books;
  peer.add_to(books);
  const bool nothing_happened = books.sent + books.delivered + books.missed == 0;
  auto outdated = std::ranges::find(records_, peer.session(), &PeerRecord::session);
  const bool full = records_.size() == records_max && outdated == records_.end();
  // A receiver remembers where the stream stands even if nothing has come. Otherwise nobody would
  // miss what was sent and lost before the first message came. Such a record replaces no other.
  const bool needless = nothing_happened && (full || !pattern_.receives);
  if (peer.dialed() || peer.session() == SessionId{} || needless) {
    peer.add_to(forgotten_);
    return;
  }
  if (full) outdated = records_.begin();
  if (outdated != records_.end()) {
    outdated->add_to(forgotten_);
    records_.erase(outdated);
  }
  const PeerRecord record = peer.surrender();
  // Records with empty books are the first to be replaced.
  const auto place = nothing_happened ? records_.begin() : records_.end();
  guard_memory([&] { records_.insert(place, record); },
               [&]() noexcept { record.add_to(forgotten_); });
}

void SocketCore::peer_up(Peer& peer) {
  ++peers_up_;
  ++counters_.connects;
  distribution_->ready(peer);
  if (!stall_timer_.running()) stall_timer_.start_periodic(stall_period());
  if (on_up && !abandoned_) call_user(on_up, peer.info(true));
}

void SocketCore::peer_down(Peer& peer, const Down& down, bool was_up, bool told_before) {
  if (was_up) {
    --peers_up_;
    ++counters_.disconnects;
  } else {
    ++counters_.rejected;
  }
  if (peers_up_ == 0) stall_timer_.stop();
  for (const auto& listener : listeners_) listener->retry();
  touch();
  if (on_down && !abandoned_ && !told_before) on_down(peer.info(was_up), down);
  distribution_
      ->tell_writable();  // a message that only this one was large enough for has no taker now
}

void SocketCore::close(std::chrono::nanoseconds linger) {
  context_.loop.require_owner("close a socket");
  if (closed_ || abandoned_) return;
  linger_timer_.start_once(std::max(linger, std::chrono::nanoseconds(0)));
  if (std::exchange(closing_, true)) return;
  listeners_.clear();
  half_open_.clear();
  crowd_timer_.stop();
  if (pattern_.sends) distribution_->flush();
  distribution_->stop();
  receiving.stop();
  for (const auto& peer : peers_) peer->close();
  touch();
}

void SocketCore::give_up_lingering() {
  for (const auto& peer : peers_) cut(*peer);
  touch();
}

void SocketCore::cut(Peer& peer) {
  if (peer.up()) {
    --peers_up_;
    ++counters_.disconnects;
  }
  peer.cut();
}

void SocketCore::abandon() noexcept {
  if (abandoned_) return;
  abandoned_ = closing_ = true;
  if (context_.loop.copied_by_fork()) cut_copies();
  distribution_->stop();
  sending.lent().mute();
  receiving.stop();
  listeners_.clear();
  half_open_.clear();
  for (const auto& peer : peers_) cut(*peer);
  for (Timer* timer :
       {&flush_timer_, &acknowledge_timer_, &stall_timer_, &linger_timer_, &crowd_timer_}) {
    timer->stop();
  }
  cancel();
  context_.socket_closed();
}

// No descriptor and no memory that the parent's peers see is touched.
void SocketCore::freeze() noexcept {
  sending.stop();
  distribution_->freeze();
  receiving.stop();
}

// Before anything else is let go: what a pattern does when a peer goes must not reach the others,
// to whom the parent is connected, nor wait for them in pages that the parent writes to.
void SocketCore::cut_copies() noexcept {
  for (const auto& peer : peers_) {
    if (peer->link() != nullptr) peer->link()->cut();
    peer->sender.detach();
  }
}

}  // namespace netio::detail
