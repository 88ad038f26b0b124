// What a socket does at the end of a turn and when its timers expire: flushing, acknowledging,
// watermarks, forgetting peers that went, the last step of closing.
#include <algorithm>
#include <chrono>
#include <utility>

#include "base/out_of_memory.hpp"
#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

namespace {
// The time between two looks while too many connections are not greeted: half the time that each
// has to say hello.
constexpr std::chrono::milliseconds half_open_look_after{5};
// Releasing a message tells nobody but the block it lies in.
constexpr std::chrono::milliseconds kept_look_after{5};
}  // namespace

void SocketCore::touch() noexcept {
  if (!abandoned_) context_.loop.defer(*this);
}

void SocketCore::run_deferred() noexcept {
  if (!closing_ && distribution_->end_turn() && !flush_timer_.running()) {
    flush_timer_.start_once(options_.flush_after);
  }
  if (!half_open_.empty()) {
    look_at_half_open();
    if (abandoned_) return;
  }
  forget_gone_peers();
  if (!exhausted_.empty() || turned_away_ != 0) tell_exhausted();
  check_watermarks();
  if (closing_ && !closed_ && peers_.empty()) {
    closed_ = true;
    linger_timer_.stop();
    kept_timer_.stop();
    kept_memory_.close();
    context_.socket_closed();
    if (on_closed && !abandoned_) on_closed(books());
  }
}

// Must be called before peers are removed, because the list points to them. The user may close the
// socket from inside this call.
void SocketCore::look_at_half_open() noexcept {
  half_open_.look(context_.loop.now().count());
  pause_listeners(half_open_.full());
  if (half_open_.crowded() == crowd_timer_.running()) return;
  if (half_open_.crowded()) {
    crowd_timer_.start_periodic(half_open_look_after);
  } else {
    crowd_timer_.stop();
  }
}

// Those that connect meanwhile wait in the kernel's queue.
void SocketCore::pause_listeners(bool paused) noexcept {
  if (std::exchange(listeners_paused_, paused) == paused) return;
  for (const Bound& each : listeners_) each.listener->pause(paused);
}

void SocketCore::tell_exhausted() {
  for (const auto& [info, down] : std::exchange(exhausted_, {})) {
    ++counters_.rejected;
    if (on_down && !abandoned_) on_down(info, down);
  }
  for (auto left = std::exchange(turned_away_, 0); left != 0; --left) {
    ++counters_.rejected;
    if (on_down && !abandoned_) on_down(PeerInfo(), out_of_memory());
  }
}

void SocketCore::pause_peers(bool paused) noexcept {
  for (const auto& peer : peers_) peer->pause(paused);
}

void ReceiveCore::on_message(std::function<void(const MessageView&)> call) {
  next_on_message_ = std::move(call);
  takers_changed();
}

void ReceiveCore::on_batch(std::function<void(const Batch&)> call) {
  next_on_batch_ = std::move(call);
  takers_changed();
}

void ReceiveCore::takers_changed() noexcept {
  changed_ = true;
  if (delivering_id_ == 0) take_changes();
  stop_or_go();
  if (taken() && !stopped_ && !paused_) socket_.pause_peers(false);
}

void ReceiveCore::take_changes() noexcept {
  changed_ = false;
  if (next_on_message_) delivery.on_message.swap(*next_on_message_);
  if (next_on_batch_) delivery.on_batch.swap(*next_on_batch_);
  next_on_message_.reset();
  next_on_batch_.reset();
  if (taken() && !look_) delivery.until_taken = false;
}

void ReceiveCore::stop_or_go() noexcept {
  const Peer* const at_hand = socket_.find_peer(delivering_id_);
  delivery.stopped = stopped_ || paused_ || changed_ || !taken() ||
                     (at_hand != nullptr && (at_hand->paused() || at_hand->deaf()));
}

void ReceiveCore::closes(const Peer& peer) noexcept {
  if (peer.id() == delivering_id_) stop_or_go();
}

void ReceiveCore::pause(bool paused) noexcept {
  if (stopped_ || paused_ == paused) return;
  paused_ = paused;
  stop_or_go();
  socket_.pause_peers(paused);
}

Status ReceiveCore::pause_peer(std::uint64_t id, bool paused) noexcept {
  Peer* const peer = socket_.find_peer(id);
  // One that comes back has its id again before it is up.
  if (peer == nullptr || (!peer->up() && !peer->dialed())) return Status::not_connected;
  if (stopped_ || peer->paused() == paused) return Status::ok;
  peer->pause_alone(paused);
  if (id == delivering_id_) stop_or_go();
  return Status::ok;
}

void ReceiveCore::tell_gap(const Peer& peer, const Gap& gap) noexcept {
  if (on_gap && !stopped_) on_gap(peer.info(true), gap);
}

BatchPlace ReceiveCore::place() const noexcept {
  const ReceiveBooks::Place here = delivery.books->place();
  return {delivering_id_, here.connection, here.position};
}

// A peer that went has no use for it.
void ReceiveCore::taken(const BatchPlace& place) noexcept {
  Peer* const peer = socket_.find_peer(place.peer);
  if (peer != nullptr) peer->acknowledge({place.connection, place.position});
}

void ReceiveCore::acknowledge() noexcept {
  if (delivery.until_released) socket_.look_at_released();
  socket_.send_acknowledgements();
}

void SocketCore::page_received() noexcept {
  if (!acknowledge_timer_.running()) acknowledge_timer_.start_once(options_.acknowledge_after);
  // Kept messages fill a receiver: look when the turn ends.
  if (watermarks.on_high && !pattern_.sends) touch();
}

void SocketCore::send_acknowledgements() noexcept {
  bool left = receiving.look_for_reader();
  for (const auto& peer : peers_) left = !peer->send_acknowledgement() || left;
  if (left) acknowledge_timer_.start_once(options_.acknowledge_after);
}

void SocketCore::watch_released() noexcept {
  if (released_timer_.running() && !looks_seldom_) return;
  if (!released_timer_.running()) none_released_since_ = context_.loop.now();
  looks_seldom_ = false;
  released_timer_.start_once(options_.acknowledge_after);
}

// Otherwise who always keeps the latest message would not release any in the open block. But where
// many peers have one each, every block that is closed stays out: not if much is kept already.
void SocketCore::close_block_that_is_waited_for() noexcept {
  constexpr std::chrono::milliseconds close_after{100};
  const std::chrono::nanoseconds now = context_.loop.now();
  const auto waits = [](const auto& peer) { return peer->waits_for_open_block(); };
  if (std::none_of(peers_.begin(), peers_.end(), waits)) {
    open_block_since_.reset();
  } else if (!open_block_since_) {
    open_block_since_ = now;
  } else if (now - *open_block_since_ >= close_after) {
    open_block_since_.reset();
    if (receive_quota_->kept_bytes() <= receive_quota_->bytes_max() / 4) kept_memory_.close();
  }
}

// Nothing tells when a message is released, which may happen in any thread.
void SocketCore::look_at_released() noexcept {
  constexpr std::chrono::milliseconds look_after_max{50};
  close_block_that_is_waited_for();
  bool waits = false;
  bool some = false;
  for (const auto& peer : peers_) {
    if (!peer->waits_for_release()) continue;
    const std::uint64_t before = peer->receive_books().acknowledged;
    peer->look_at_released();
    waits = waits || peer->waits_for_release();
    some = some || peer->receive_books().acknowledged != before;
  }
  if (some) send_acknowledgements();
  if (!waits) return;
  const std::chrono::nanoseconds now = context_.loop.now();
  if (some) none_released_since_ = now;
  const std::chrono::nanoseconds seldom = (now - none_released_since_) / 8;
  looks_seldom_ = seldom > options_.acknowledge_after;
  released_timer_.start_once(std::clamp<std::chrono::nanoseconds>(
      seldom, options_.acknowledge_after,
      std::max<std::chrono::nanoseconds>(look_after_max, options_.acknowledge_after)));
}

// The period of the check of all peers. A peer is ended late by a quarter of its time at most.
std::chrono::nanoseconds SocketCore::stall_period() const noexcept {
  const auto soonest =
      std::min<std::chrono::nanoseconds>(options_.stall_after, options_.keep_alive_after);
  return std::max<std::chrono::nanoseconds>(soonest / 4, std::chrono::milliseconds(10));
}

// A link waits in either pool, by its transport.
bool SocketCore::large_quota_waited_for() const noexcept {
  const bool waits = context_.large_pool().waited_for() || context_.receive_pool().waited_for();
  return waits && large_quota_->waited_for();
}

// A socket also waits in the pool to see what its user releases, without lacking memory. So the
// memory must be used up as well.
bool SocketCore::receive_memory_waited_for() const noexcept {
  const Pool& pool = context_.receive_pool();
  const bool spent = pool.blocks_free() == 0 ||
                     receive_quota_->bytes_used() >= receive_quota_->bytes_max() / 4 * 3;
  return pool.waited_for() && spent;
}

// If the wires keep up, no page stays open, and no timer is needed.
bool SocketCore::end_turn_of_streams() noexcept {
  if (options_.mode != Mode::buffered) return false;
  bool pending = false;
  for (const auto& peer : peers_) {
    peer->outgoing.end_turn(options_.flush_when_idle);
    pending = pending || peer->outgoing.pending();
  }
  return pending;
}

void SocketCore::flush_streams() noexcept {
  for (const auto& peer : peers_) peer->outgoing.flush();
}

void SocketCore::check_stalls() noexcept {
  const std::int64_t now_ns = context_.loop.now().count();
  LargePool& large = context_.large_pool();
  if (large.take_refusal() && large.waited_for()) context_.serve_waiters();
  Shortages shortages(large);
  for (const auto& peer : peers_) {
    if (peer->up()) shortages.look_at(peer->link()->fit().loans);
  }
  for (const auto& peer : peers_) {
    peer->look_after(now_ns, shortages);
  }
}

void SocketCore::forget_gone_peers() {
  std::erase_if(peers_, [this](const std::unique_ptr<Peer>& peer) {
    if (!peer->gone()) return false;
    distribution_->not_ready(*peer);
    remember(*peer);
    by_id_.remove(*peer);
    return true;
  });
}

void SocketCore::collect_received() const noexcept {
  context_.collect();
  if (context_.loop.in_turn()) return;  // the links do so in each
  for (const auto& peer : peers_) {
    if (peer->link() != nullptr) peer->link()->collect_received();
  }
}

// What is kept, of that and what more may be kept. `not_kept`: of a block that is counted as kept.
double SocketCore::receive_fill(std::size_t not_kept) const noexcept {
  collect_received();
  const std::size_t block = context_.receive_pool().block_bytes();
  const std::size_t kept = receive_quota_->kept_bytes() - not_kept;
  const std::size_t max = receive_quota_->bytes_max() + not_kept;
  const std::size_t room = (max - std::min(max, receive_quota_->bytes_used())) / block * block;
  return kept == 0 ? 0.0 : static_cast<double>(kept) / static_cast<double>(kept + room);
}

std::uint64_t SocketCore::kept_bytes() const noexcept {
  collect_received();
  return receive_quota_->kept_bytes() + large_quota_->kept_bytes() - kept_memory_.idle_bytes();
}

void SocketCore::watch_kept_memory() noexcept {
  if (!abandoned_ && !closed_ && !kept_timer_.running())
    kept_timer_.start_periodic(kept_look_after);
}

void SocketCore::look_at_kept_memory() noexcept {
  const bool lacked =
      watermarks.above() || receive_quota_->waited_for() || context_.receive_pool().waited_for();
  if (!lacked || kept_memory_.close_if_idle()) kept_timer_.stop();
  if (watermarks.above()) touch();
}

double SocketCore::fill() const noexcept {
  if (!pattern_.sends) {
    return receive_fill(kept_memory_.idle_bytes());
  }
  return closing_ ? 0.0 : distribution_->fill();  // at the end nobody is held up any more
}

// Waits in every store to which memory that messages of this socket hold may come home.
void SocketCore::watch_memory() noexcept {
  receive_quota_->wait();
  if (!waiting()) context_.receive_pool().wait(*this);
  for (const auto& peer : peers_) peer->watch_memory();
  if (receive_fill(kept_memory_.open_bytes()) <= options_.low_watermark) watch_kept_memory();
}

void SocketCore::check_watermarks() {
  if (abandoned_ || closed_ || !watermarks.watched()) return;
  if (CallBack<void()>* const call = watermarks.crossed(fill(), options_)) tell(*call);
  // Kept messages may be released on any thread; memory coming home is the time to look again.
  if (watermarks.above() && !pattern_.sends) watch_memory();
}

std::vector<PeerSnapshot> SocketCore::snapshots() const {
  std::vector<PeerSnapshot> snapshots;
  for (const auto& peer : peers_) {
    const bool known = peer->up() || peer->dialed() || distribution_->awaits(*peer);
    if (known && !peer->gone()) snapshots.push_back(peer->snapshot());
  }
  // One that came back has the id that it had.
  std::ranges::sort(snapshots, {}, [](const PeerSnapshot& peer) { return peer.id; });
  return snapshots;
}

std::size_t SocketCore::peers_away(bool (*takes)(const Peer&) noexcept) const noexcept {
  std::size_t away = 0;
  for (const auto& peer : peers_) {
    if (takes(*peer) || peer->closing()) continue;
    // One that had connected may be gone, and not have left its record yet.
    const bool awaited = peer->dialed() ? !peer->gone() : peer->outgoing.has_to_resend();
    if (awaited) ++away;
  }
  records_.for_each([&away](const StreamRecord& record) {
    if (!record.resend.empty()) ++away;
  });
  return away;
}

Books SocketCore::books() const noexcept {
  Books books = forgotten_;
  records_.for_each([&books](const StreamRecord& record) { record.add_to(books); });
  for (const auto& peer : peers_) peer->add_to(books);
  return books;
}

Counters SocketCore::counters() const noexcept {
  Counters counters = counters_;
  distribution_->add_to(counters);
  records_.for_each([&counters](const StreamRecord& record) {
    counters.resume_given_up += record.resend.given_up();
  });
  counters.bytes_received = receiving.delivery.bytes;
  counters.starved = starved_;
  counters.copies = copies_.count + receiving.delivery.copies.count;
  counters.bytes_copied = copies_.bytes + receiving.delivery.copies.bytes;
  for (const auto& peer : peers_) {
    counters.pages_sent += peer->outgoing.pages_posted();
    counters.resent += peer->outgoing.resent();
    counters.resume_given_up += peer->outgoing.resume_given_up();
    counters.bytes_arrived += peer->bytes_arrived();
    counters.ring_writes += peer->ring_writes();
  }
  return counters;
}

std::optional<Books> SocketCore::books_of(std::uint64_t id) noexcept {
  std::optional<Books> books;
  if (const Peer* const peer = find_peer(id)) {
    peer->add_to(books.emplace());
    return books;
  }
  records_.for_each([&](const StreamRecord& record) {
    if (record.peer_id == id) record.add_to(books.emplace());
  });
  return books;
}

}  // namespace netio::detail
