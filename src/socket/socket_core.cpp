// A socket's set-up and its peers' coming and going. What happens turn by turn is in
// socket_upkeep.cpp.
#include "socket/socket_core.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/out_of_memory.hpp"
#include "base/random.hpp"
#include "socket/context_core.hpp"
#include "socket/option_bounds.hpp"

namespace netio::detail {

namespace {

// So that the next one is taken without memory.
template <typename Entries>
void make_room(Entries& entries) {
  if (entries.size() == entries.capacity()) entries.reserve(2 * entries.size() + 4);
}

// What was asked for, with the port that it became.
Url with_port_of(Url asked, const std::string& bound) {
  const std::size_t colon = bound.rfind(':');
  if (!asked.name.empty() || colon == std::string::npos) return asked;
  (void)std::from_chars(bound.data() + colon + 1, bound.data() + bound.size(), asked.port);
  return asked;
}

}  // namespace

SocketCore::SocketCore(ContextCore& context, const SocketOptions& options, const Pattern& pattern)
    : sending(*this, context, options.mode,
              pattern.self == WirePattern::push && options.distribute == Distribute::by_tag),
      receiving(*this),
      context_(context),
      options_((context.loop.require_owner("make a socket"),
                checked(options, context.receive_pool().block_bytes()))),
      pattern_(pattern),
      run_(random_bytes<std::tuple_size_v<RunId>>()),
      receive_quota_(
          Quota::create(options.receive_bytes_max, [&context] { context.serve_waiters(); })),
      large_quota_(Quota::create_shared(large_share(context.options(), options),
                                        [&context] { context.serve_waiters(); })),
      kept_memory_(context.receive_pool(), *receive_quota_, [this] { watch_kept_memory(); }),
      link_options_{.queue_bytes_max = options.send_bytes_max,
                    .message_bytes_max = options.message_bytes_max,
                    .handshake_within = options.handshake_within,
                    .keep_alive_after = options.keep_alive_after,
                    .receive_quota = receive_quota_.get(),
                    .large_quota = large_quota_.get(),
                    .starved_count = &starved_,
                    .copies = &copies_,
                    .fills_blocks = pattern.fills_blocks},
      flush_timer_(context.loop, [this] { distribution_->flush(); }),
      acknowledge_timer_(context.loop, [this] { send_acknowledgements(); }),
      stall_timer_(context.loop, [this] { check_stalls(); }),
      linger_timer_(context.loop, [this] { give_up_lingering(); }),
      kept_timer_(context.loop, [this] { look_at_kept_memory(); }),
      released_timer_(context.loop, [this] { look_at_released(); }),
      records_timer_(context.loop, [this] { give_up_resend(); }),
      crowd_timer_(context.loop, [this] { touch(); }),
      half_open_(options_.half_open_max) {
  receiving.delivery.kept_memory = &kept_memory_;
  receiving.delivery.offered = ability::segments;
  if (options_.acknowledge == Acknowledge::released) {
    receiving.delivery.until_released = true;
    kept_memory_.note_blocks();
  }
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
  const Url url = parse_address(address);
  std::unique_ptr<Listener> listener;
  if (is_netio(url)) {
    NetioListener::Owner& owner = *this;
    listener = std::make_unique<NetioListener>(context_, url, link_options_, owner);
  } else {
    listener = transport.listen(url, link_options_, *this);
  }
  std::string bound = listener->address();
  listeners_.push_back({url, with_port_of(url, bound), std::move(listener)});
  return bound;
}

void SocketCore::connect(std::string_view address) {
  context_.loop.require_owner("connect", address);
  if (closing_) throw Error("connect " + std::string(address), "the socket was closed");
  // First of all, as a wrong scheme is a clearer complaint than what follows it.
  Transport& transport = context_.transport(address);
  const Url url = parse_address(address);
  std::unique_ptr<Link> link = transport.connect(without_options_of_netio(url), link_options_);
  make_room(peers_);
  by_id_.make_room_for(peers_.capacity());
  peers_.push_back(std::make_unique<Peer>(*this, std::move(link), url));
  enter_by_id(*peers_.back());
}

void SocketCore::on_accept(std::unique_ptr<Link> link) noexcept {
  on_netio_accept(std::move(link), nullptr);
}

void SocketCore::on_netio_accept(std::unique_ptr<Link> link,
                                 std::unique_ptr<NetioConnection> how) noexcept {
  Peer* peer = nullptr;
  guard_memory(
      [&] {
        make_room(peers_);
        by_id_.make_room_for(peers_.capacity());
        peers_.push_back(std::make_unique<Peer>(*this, std::move(link), std::move(how)));
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

Refusal SocketCore::objection(const Hello& theirs, const Peer& from, std::string& text) {
  if (theirs.version_min > wire_version || theirs.version_max < wire_version) {
    const std::string least = std::to_string(theirs.version_min);
    const std::string most = std::to_string(theirs.version_max);
    text = "wire version " + std::to_string(wire_version) + " is spoken here, " +
           (least == most ? least : least + " to " + most) +
           " there; use the same release of netio at both ends";
    return Refusal::version;
  }
  if (!from.dialed() && theirs.refusal != Refusal::none) {
    text = "who connects says hello before it can refuse";
    return Refusal::other;
  }
  if (theirs.pattern != pattern_.other) {
    const std::string self(to_string(pattern_.self));
    text = "a " + self + " socket is at one end and a " + std::string(to_string(theirs.pattern)) +
           " socket at the other; " + self + " pairs with " +
           std::string(to_string(pattern_.other));
    return Refusal::pattern;
  }
  // Requests are of no use to one side alone.
  const std::uint64_t needed = receiving.delivery.offered & ability::requests;
  if ((theirs.can & needed) != needed) {
    text = "the peer does not take requests and answers";
    return Refusal::other;
  }
  if (!from.dialed()) {
    const Refusal refusal = stream_objection(theirs, text);
    if (refusal != Refusal::none) return refusal;
  }
  return busy(theirs.stream, from, text) ? Refusal::busy : Refusal::none;
}

Refusal SocketCore::stream_objection(const Hello& theirs, std::string& text) const {
  const StreamIdentity* const known = find_stream(theirs.stream);
  const bool met_here = theirs.peer_run == run_;
  if (theirs.peer_run != RunId{} && (known == nullptr || !met_here)) {
    text = met_here ? "the stream is not remembered here any more"
                    : "the stream is of a peer that was here before";
    return Refusal::expired;
  }
  if (known == nullptr) return Refusal::none;
  if (known->peer_run != theirs.run) {
    text = "the stream is another socket's";
    return Refusal::other;
  }
  if (theirs.epoch <= known->epoch) {
    // Somebody else may have used up the epochs: who was met on the stream begins another.
    text = "the stream has had this connection, or a later one";
    return theirs.peer_run != RunId{} ? Refusal::expired : Refusal::other;
  }
  return Refusal::none;
}

const StreamIdentity* SocketCore::find_stream(const StreamId& stream) const noexcept {
  for (const auto& peer : peers_) {
    const bool known = peer->adopted() && !peer->closing();
    if (known && peer->stream().id == stream) return &peer->stream();
  }
  const StreamRecord* const record = records_.find(stream);
  return record != nullptr ? &record->identity : nullptr;
}

bool SocketCore::knows(const StreamId& stream) const noexcept {
  return find_stream(stream) != nullptr;
}

bool SocketCore::replace_older(Peer& newer) noexcept {
  bool ending = false;
  const auto overtaken = [&newer] {
    newer.fail(DownReason::lost, "is older than another connection of its stream");
  };
  const StreamRecord* const gone = records_.find(newer.stream().id);
  if (gone != nullptr && gone->identity.epoch >= newer.stream().epoch) {
    overtaken();
    return false;
  }
  for (const auto& peer : peers_) {
    if (peer->is_other_half_of(newer)) peer->give_up_for_other_half();
  }
  for (const auto& peer : peers_) {
    if (peer.get() == &newer || !peer->adopted() || peer->stream().id != newer.stream().id)
      continue;
    if (peer->stream().epoch >= newer.stream().epoch) {
      overtaken();
    } else if (!peer->gone() && (peer->link() != nullptr || peer->ending())) {
      ending = true;
      if (peer->ending()) continue;
      peer->fail(DownReason::lost, "came back on a new connection; this one is given up");
    }
  }
  return ending;
}

const Peer* SocketCore::find_offering(const Hello& theirs) const noexcept {
  const auto offering =
      std::ranges::find_if(peers_, [&](const auto& peer) { return peer->has_offered(theirs); });
  return offering != peers_.end() ? offering->get() : nullptr;
}

bool SocketCore::has_other_half(const Peer& peer) const noexcept {
  return std::ranges::any_of(peers_,
                             [&](const auto& each) { return each->is_other_half_of(peer); });
}

void SocketCore::half_ended() noexcept {
  for (const Bound& each : listeners_) each.listener->retry();
  touch();
}

std::optional<StreamRecord> SocketCore::recall(Peer& newer) {
  const StreamId& stream = newer.stream().id;
  for (const auto& peer : peers_) {
    const bool goes_on = peer.get() != &newer && peer->adopted() && !peer->closing();
    if (!goes_on || peer->stream().id != stream) continue;
    distribution_->comes_as(*peer, newer);
    StreamRecord record = peer->surrender();
    peer->retire_for(newer);
    return record;
  }
  return records_.take(stream);
}

// Takes over the books of a peer whose object is about to be destroyed.
void SocketCore::remember(Peer& peer) {
  counters_.pages_sent += peer.outgoing.pages_posted();
  counters_.resent += peer.outgoing.resent();
  counters_.bytes_arrived += peer.bytes_arrived();
  counters_.ring_writes += peer.ring_writes();
  const bool let_go = peer.closing() && !closing_;
  if (peer.dialed() || !peer.adopted() || let_go) {
    counters_.resume_given_up += peer.outgoing.resume_given_up();
    peer.add_to(forgotten_);
    return;
  }
  if (records_.full()) forget_a_stream();
  StreamRecord record = peer.surrender();
  const std::chrono::nanoseconds until = context_.loop.now() + options_.resume_within;
  record.resume_until_ns = until.count();
  StreamRecord* kept = nullptr;
  guard_memory([&] { kept = &records_.add(record); },
               [&]() noexcept {
                 record.resend.give_up();
                 counters_.resume_given_up += record.resend.given_up();
                 record.add_to(forgotten_);
               });
  if (kept == nullptr || kept->resend.empty()) return;
  if (closing_) return kept->resend.give_up();  // nobody is let in any more
  if (!records_timer_.running()) records_timer_.start_once(options_.resume_within);
}

// Messages for peers that were away for too long.
void SocketCore::give_up_resend() noexcept {
  const std::int64_t now_ns = context_.loop.now().count();
  std::int64_t next_ns = 0;
  for (StreamRecord& record : records_.used()) {
    if (record.resend.empty()) continue;
    if (record.resume_until_ns <= now_ns) {
      record.resend.give_up();
    } else if (next_ns == 0) {
      next_ns = record.resume_until_ns;  // the oldest record stands first
    }
  }
  if (next_ns != 0) records_timer_.start_once(std::chrono::nanoseconds(next_ns - now_ns));
}

void SocketCore::forget_a_stream() noexcept { forget(records_.take_least()); }

void SocketCore::forget(StreamRecord record) noexcept {
  record.resend.give_up();
  counters_.resume_given_up += record.resend.given_up();
  record.add_to(forgotten_);
}

bool SocketCore::forget_stream_of(std::uint64_t id) noexcept {
  auto record = records_.take_of_peer(id);
  if (record) forget(std::move(*record));
  return record.has_value();
}

void SocketCore::peer_up(Peer& peer) {
  ++peers_up_;
  ++counters_.connects;
  distribution_->ready(peer);
  fill_changed();  // without a peer it is full
  if (!stall_timer_.running()) stall_timer_.start_periodic(stall_period());
  if (on_up && !abandoned_) on_up(peer.info(true));
}

void SocketCore::peer_down(Peer& peer, const Down& down, bool was_up, bool quiet) {
  if (was_up) {
    --peers_up_;
    ++counters_.disconnects;
  } else if (down.reason != DownReason::closed_here) {
    ++counters_.rejected;
  }
  if (peers_up_ == 0) stall_timer_.stop();
  for (const Bound& each : listeners_) each.listener->retry();
  touch();
  if (peer.gone()) distribution_->not_ready(peer);
  if (on_down && !abandoned_ && !quiet) on_down(peer.info(was_up), down);
  distribution_
      ->tell_writable();  // a message that only this peer could take is refused for good now
}

}  // namespace netio::detail
