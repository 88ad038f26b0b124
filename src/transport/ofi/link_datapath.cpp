// The data path of an ofi link: posts to sends, arrivals to pages, grants, and the order of an
// ending.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/point.hpp"
#include "transport/ofi/link.hpp"

namespace netio::detail {

namespace {
constexpr std::chrono::milliseconds retry_after{1};
}  // namespace

PageHeader OfiLink::header_of(const Post& post) const noexcept {
  constexpr std::uint32_t field_max = UINT16_MAX;
  PageHeader header = page_header_of(post, to_acknowledge());
  header.credits = static_cast<std::uint16_t>(std::min(wire_->credits.untold(), field_max));
  header.fetched = static_cast<std::uint16_t>(std::min(wire_->fetches.untold(), field_max));
  return header;
}

void OfiLink::posted(const PageHeader& header) noexcept {
  wire_->credits.spend();
  wire_->credits.told(header.credits);
  wire_->fetches.told(header.fetched);
  acknowledged_with(header.acknowledged);
  next_sequence_ = std::max(next_sequence_, header.sequence + header.messages);
  was_busy_ |= !wire_->sends.idle();  // what is owed stays owed
}

Status OfiLink::post(Post& post) noexcept {
  if (state_ != State::up || ended_ || bye_posted_) return Status::not_connected;
  OfiSends& sends = wire_->sends;
  // The peer is closing: it grants no more, and takes nothing but our good-bye.
  if (bye_heard_) sends.drop_unsent();
  // What is lent does not stand in the way of a good-bye: a peer that said its own tells of no
  // fetches any more.
  const PageHeader header = header_of(post);
  const bool bye = says_bye(header);
  const bool full = !sends.room() || sends.queued_bytes() >= options_.queue_bytes_max;
  if (bye ? !sends.room_for_bye() : full) return refuse();
  if (sends.injects(header) && wire_->engine->may_post(header)) {
    const long answer = wire_->engine->inject(header, post);
    if (answer == 0) {
      post.body.lease.reset();
      posted(header);
      return Status::ok;
    }
    if (answer != -EAGAIN) on_wire_failure(static_cast<int>(-answer));
  }
  if (sends.is_large(header, post)) {
    if (!sends.lend(header, post)) {
      // It cannot be registered; cut into pages, it is copied.
      fit_.whole_page_bytes_max = limits_.page_bytes_max;
      loop_.defer(*this);
      return refuse();
    }
  } else if (!sends.add(header, post)) {
    resources_.send_pool.wait(room_waiter_);
    return refuse();
  }
  bye_posted_ = bye;
  next_sequence_ = header.sequence + header.messages;
  was_busy_ = true;
  send_next();
  return Status::ok;
}

// Answers again; on_writable comes when half of the entries are free.
Status OfiLink::refuse() noexcept {
  want_writable_ = true;
  return Status::again;
}

// Whether the provider took an operation. If not, it is tried again soon, or the link has failed.
bool OfiLink::taken(long answer) noexcept {
  if (answer == -EAGAIN) {
    retry_timer_.start_once(retry_after);
  } else if (answer < 0) {
    on_wire_failure(static_cast<int>(-answer));
  }
  return answer >= 0;
}

// Sends posts as long as the peer has receives for them. May be called from inside a call of the
// user.
void OfiLink::send_next() noexcept {
  while (wire_->sends.unsent() && !ended_ && wire_->engine->may_send_next()) {
    const PageHeader tells = header_of({.sequence = next_sequence_});
    if (!taken(wire_->engine->send_next(tells))) return;
    posted(tells);
  }
}

std::size_t OfiLink::queued_bytes() const noexcept {
  return wire_ ? wire_->sends.taken_of(options_.queue_bytes_max) : 0;
}

std::uint64_t OfiLink::bytes_received() const noexcept {
  return bytes_received_ + (wire_ ? wire_->fetches.bytes_fetched() : 0);
}

std::uint64_t OfiLink::ring_writes() const noexcept {
  return wire_ && wire_->ring_engine != nullptr ? wire_->ring_engine->writes() : ring_writes_;
}

void OfiLink::deliver() {
  if (delivering_) return;
  delivering_ = true;
  while (arrived_count_ != 0 && !paused_ && state_ == State::up) {
    Arrived& next = arrived_[arrived_first_];
    if (!next.lent) {
      if (!next.noticed && !wire_->engine->lend_out(next.slot)) {
        wait_to_hand_up();
        break;
      }
      hand_up(next);
    } else if (assembling_) {
      go_bad(DownReason::protocol_error, "lent a message inside one in parts");
    } else if (wire_->fetches.first_is_here()) {
      hand_up_fetched();
    } else {
      break;
    }
  }
  delivering_ = false;
}

void OfiLink::wait_to_hand_up() noexcept {
  if (hand_up_waiter_.waiting()) return;
  if (options_.starved_count != nullptr) ++*options_.starved_count;
  wire_->receives.pool().wait(hand_up_waiter_);
}

// The next page of a message that came, and the slot's end with the last one.
void OfiLink::hand_up(Arrived& arrived) {
  NETIO_POINT(was_read);
  const std::size_t slot = arrived.slot;
  const bool noticed = arrived.noticed;
  OfiEngine& engine = *wire_->engine;
  const std::byte* const page = noticed ? good_bye_.data() : engine.data(slot) + arrived.begin;
  // A peer that still writes to a slot that it has told of may have changed it.
  const std::size_t left = arrived.end - arrived.begin;
  PageHeader header = left < page_header_bytes ? PageHeader() : load_page_header(page);
  header.credits = header.fetched = 0;
  if (page_header_bytes + header.bytes > left || defect(header) != nullptr) {
    go_bad(DownReason::protocol_error, "changed a page that it had written");
    return;
  }
  arrived.begin += static_cast<std::uint32_t>(page_header_bytes) + header.bytes;
  const bool last = arrived.begin == arrived.end;
  if (last) {
    arrived_first_ = (arrived_first_ + 1) % arrived_.size();
    --arrived_count_;
  }
  header.acknowledged = highest_acknowledged_;
  bye_heard_ |= says_bye(header);
  Block& block = noticed ? wire_->ring->notice_block() : engine.block(slot);
  events_->on_page(header, block, {page + page_header_bytes, header.bytes});
  if (last && wire_ && !noticed) engine.give_back(slot);
}

void OfiLink::hand_up_fetched() {
  NETIO_POINT(was_read);
  OfiFetches::Page page = wire_->fetches.take_first();
  arrived_first_ = (arrived_first_ + 1) % arrived_.size();
  --arrived_count_;
  page.header.acknowledged = highest_acknowledged_;
  page.header.credits = page.header.fetched = 0;
  events_->on_page(page.header, *page.block.get(), page.body);
}

void OfiLink::on_progress() noexcept {
  progress_ = true;
  loop_.defer(*this);
}

void OfiLink::on_wire_failure(int error) noexcept {
  if (state_ == State::connecting) return;  // receives of a way that failed: the events tell why
  if (failure_ == 0 && error != ECANCELED) failure_ = error;
  ended_ = true;
  loop_.defer(*this);
}

// The end of a turn in which anything happened.
void OfiLink::run_deferred() noexcept {
  if (state_ == State::down) return;
  if (refusal_) {
    go_down(std::move(*refusal_));
    return;
  }
  guarded([this] { end_turn(); });
}

void OfiLink::end_turn() {
  if (moves_pages()) {
    fetch();
    deliver();
    if (!wire_) return;
    replenish();
    send_next();
    tell_peer();
    if (state_ == State::finishing && wire_->sends.sent()) {
      go_down({DownReason::closed_by_peer, peer_address_ + " ended in order"});
      return;
    }
    tell_room();
  }
  end_if_over();
}

void OfiLink::fetch() {
  if (!wire_->fetches.under_way() || ended_ || paused_) return;
  (void)taken(wire_->fetches.go_on(wire_->endpoint));
  if (!wire_->fetches.starved()) return;
  if (options_.starved_count != nullptr && !large_waiter_.waiting()) ++*options_.starved_count;
  resources_.large_pool.wait(large_waiter_);
}

// How many receives to have posted, of the usual engine: the number that was asked for, or what the
// rate of the peer needs, up to a fair share of a part of the memory. Most of it is left for what
// users keep.
std::size_t OfiLink::window() const noexcept {
  if (wire_->ring_engine != nullptr) return address_.ring.window();
  if (window_is_given_) return window_;
  constexpr std::size_t part_of_pool = 4;
  constexpr std::size_t part_of_quota = 8;
  const Pool& pool = wire_->receives.pool();
  const std::size_t quota_pages = options_.receive_quota->bytes_max() / pool.block_bytes();
  const std::size_t share = std::min(pool.blocks() / part_of_pool / wire_->of_pool.sum(),
                                     quota_pages / part_of_quota / wire_->of_quota.sum());
  return std::clamp<std::size_t>(std::min(share, busy_window_), Credits::window_min, window_);
}

// Posts receives in the place of those that were used. Once the connection has ended, memory that
// comes home may still be what the next page waits for.
void OfiLink::replenish() {
  if (state_ != State::up) return;
  OfiEngine& engine = *wire_->engine;
  if (ended_) {
    if (wire_->ring_engine == nullptr) return;
    wire_->ring->collect();
  } else if (const long posted = engine.replenish(window()); taken(posted)) {
    wire_->credits.posted(static_cast<std::uint32_t>(posted));
  }
  const bool stopped = engine.lacks_memory() && engine.is_stopped();
  if (stopped && !stopped_ && options_.starved_count != nullptr) ++*options_.starved_count;
  stopped_ = stopped;
  if (engine.lacks_memory() && !receive_waiter_.waiting()) engine.memory().wait(receive_waiter_);
}

// Sends a page without a body, if half of the places for messages are to be granted, or messages
// were fetched, and no page has said so yet; or if the peer must have a place.
void OfiLink::tell_peer() {
  if (state_ != State::up || bye_sent() || ended_ || !wire_->credits.may_grant()) return;
  bool much = wire_->engine->has_much_to_tell(window());
  if (much && busy_window_ < window_) busy_window_ *= 2;
  if (!much && !wire_->fetches.has_to_tell() && !wire_->engine->has_to_tell()) return;
  do {
    if (!tell_now()) return;
    much = wire_->engine->has_much_to_tell(window());
  } while (much && wire_->credits.may_grant());
}

bool OfiLink::tell_now() {
  const PageHeader tells = header_of({.sequence = next_sequence_});
  if (!taken(wire_->engine->tell(tells))) return false;
  posted(tells);
  return true;
}

// A side that only receives never learns that the host of its peer is dead. So it sends something:
// the device gives up at last, and all posted operations fail.
void OfiLink::keep_alive() {
  const bool silent = std::exchange(kept_alive_at_, bytes_received()) == bytes_received();
  const bool may_tell = state_ == State::up && !bye_sent() && !ended_;
  if (silent && may_tell && wire_->credits.may_grant()) (void)tell_now();
}

// Outside of post() only: the owner posts from inside these.
void OfiLink::tell_room() {
  if (state_ != State::up || ended_) return;
  const OfiSends& sends = wire_->sends;
  const bool roomy = sends.roomy() && sends.queued_bytes() <= options_.queue_bytes_max / 2;
  if (want_writable_ && (bye_heard_ ? sends.room_for_bye() : roomy)) {
    want_writable_ = false;
    events_->on_writable();
  } else if (was_busy_ && sends.idle()) {
    was_busy_ = false;
    events_->on_idle();
  } else if (progress_) {
    events_->on_sent();
  }
  progress_ = false;
}

void OfiLink::pause(bool paused) noexcept {
  if (paused_ == paused || state_ != State::up) return;
  paused_ = paused;
  if (!paused) loop_.defer(*this);
}

void OfiLink::finish() noexcept {
  if (state_ != State::up) return;
  state_ = State::finishing;
  arrived_count_ = 0;
  // The peer grants no more: what waits would keep our own good-bye for ever.
  wire_->sends.drop_before_bye();
  loop_.defer(*this);
}

// What came before the end is handed up first; a reader that is paused sees the end afterwards.
void OfiLink::end_if_over() {
  if (!ended_ || state_ == State::down) return;
  const bool readable = arrived_count_ != 0 && state_ == State::up &&
                        (!arrived_[arrived_first_].lent || wire_->fetches.first_is_here());
  if (readable) return;
  if (state_ == State::finishing) {
    go_down({DownReason::closed_by_peer, peer_address_ + " ended in order"});
  } else if (failure_ != 0) {
    go_down(down_from(failure_));
  } else {
    go_down(gone_silently(peer_address_, state_ == State::up));
  }
}

}  // namespace netio::detail
