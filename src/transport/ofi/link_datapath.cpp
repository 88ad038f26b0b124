// The data path of an ofi link: posts to sends, arrivals to pages, grants, and the order of an
// ending.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "transport/ofi/link.hpp"

namespace netio::detail {

namespace {
constexpr std::chrono::milliseconds retry_after{1};
}  // namespace

PageHeader OfiLink::header_of(const Post& post) const noexcept {
  constexpr std::uint32_t field_max = UINT16_MAX;
  PageHeader header = page_header_of(post, to_acknowledge());
  header.credits = static_cast<std::uint16_t>(std::min(credits_.untold(), field_max));
  header.fetched = static_cast<std::uint16_t>(std::min(wire_->fetches.untold(), field_max));
  return header;
}

void OfiLink::posted(const PageHeader& header) noexcept {
  credits_.spend();
  credits_.told(header.credits);
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
  if (sends.injects(header) && credits_.may_post()) {
    const long answer = sends.inject(wire_->endpoint, header, post);
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
  OfiSends& sends = wire_->sends;
  while (sends.unsent() && !ended_) {
    if (!(sends.next_is_bye() ? credits_.may_say_bye() : credits_.may_post())) return;
    const PageHeader tells = header_of({.sequence = next_sequence_});
    if (!taken(sends.send_next(wire_->endpoint, tells))) return;
    posted(tells);
  }
}

std::size_t OfiLink::queued_bytes() const noexcept {
  return wire_ ? wire_->sends.taken_of(options_.queue_bytes_max) : 0;
}

std::uint64_t OfiLink::bytes_received() const noexcept {
  return bytes_received_ + (wire_ ? wire_->fetches.bytes_fetched() : 0);
}

void OfiLink::on_arrival(std::size_t slot, std::size_t bytes) noexcept {
  bytes_received_ += bytes;
  loop_.defer(*this);
  guarded([&] { arrive(slot, bytes); });
}

void OfiLink::arrive(std::size_t slot, std::size_t bytes) {
  if (state_ == State::greeting) {
    take_hello({wire_->receives.data(slot), bytes});
    if (wire_) wire_->receives.give_back(slot);
  } else if (state_ == State::up) {
    if (credits_.arrived()) {
      take_message(slot, bytes);
    } else {
      go_bad(DownReason::protocol_error, "sent more pages than it was granted");
    }
  } else {
    wire_->receives.give_back(slot);
  }
}

// One message holds one page, or several small ones back to back. Grants and acknowledgements take
// effect at once, messages in their turn.
void OfiLink::take_message(std::size_t slot, std::size_t bytes) {
  FabricMessage message({wire_->receives.data(slot), bytes});
  PageHeader header;
  while (message.next(header)) {
    if (!take_header(header)) return;
  }
  if (message.defect() != nullptr) {
    go_bad(DownReason::protocol_error, message.defect());
    return;
  }
  if ((header.flags & page_flag::lent) != 0) {
    if (take_lent(slot, header)) deliver();
    return;
  }
  if (message.empty()) {
    header.acknowledged = highest_acknowledged_;
    events_->on_page(header, wire_->receives.block(slot), {});
    if (wire_) wire_->receives.give_back(slot);
    return;
  }
  arrived_[(arrived_first_ + arrived_count_++) % arrived_.size()] = {
      static_cast<std::uint32_t>(slot), 0, static_cast<std::uint32_t>(bytes), false};
  deliver();
}

// Takes what the header says about this side: grants, fetches, and the acknowledgement. Returns
// false if that cannot be true.
bool OfiLink::take_header(const PageHeader& header) {
  if (!credits_.granted(header.credits) || !wire_->sends.fetched(header.fetched)) {
    go_bad(DownReason::protocol_error, "grants more receives, or fetched more, than there can be");
    return false;
  }
  highest_acknowledged_ = std::max(highest_acknowledged_, header.acknowledged);
  return true;
}

bool OfiLink::take_lent(std::size_t slot, const PageHeader& header) {
  const std::byte* const body = wire_->receives.data(slot) + page_header_bytes;
  const bool goes_on = !ended_ && !paused_;
  if (const auto down = wire_->fetches.add(header, {body, header.bytes}, goes_on)) {
    go_bad(down->reason, down->detail);
    return false;
  }
  wire_->receives.give_back(slot);
  arrived_[(arrived_first_ + arrived_count_++) % arrived_.size()] = {0, 0, 0, true};
  fetch();
  return true;
}

void OfiLink::deliver() {
  if (delivering_) return;
  delivering_ = true;
  while (arrived_count_ != 0 && !paused_ && state_ == State::up) {
    Arrived& next = arrived_[arrived_first_];
    if (!next.lent) {
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

// The next page of a message that came, and the slot's end with the last one.
void OfiLink::hand_up(Arrived& arrived) {
  const std::size_t slot = arrived.slot;
  const std::byte* const page = wire_->receives.data(slot) + arrived.begin;
  PageHeader header = load_page_header(page);
  arrived.begin += static_cast<std::uint32_t>(page_header_bytes) + header.bytes;
  const bool last = arrived.begin == arrived.end;
  if (last) {
    arrived_first_ = (arrived_first_ + 1) % arrived_.size();
    --arrived_count_;
  }
  header.acknowledged = highest_acknowledged_;
  header.credits = header.fetched = 0;
  bye_heard_ |= says_bye(header);
  events_->on_page(header, wire_->receives.block(slot), {page + page_header_bytes, header.bytes});
  if (last && wire_) wire_->receives.give_back(slot);
}

void OfiLink::hand_up_fetched() {
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

// How many receives to have posted: the number that was asked for, or what the rate of the peer
// needs, up to a fair share of a part of the memory. Most of it is left for what users keep.
std::size_t OfiLink::window() const noexcept {
  if (window_is_given_) return window_;
  constexpr std::size_t part_of_pool = 4;
  constexpr std::size_t part_of_quota = 8;
  const Pool& pool = wire_->receives.pool();
  const std::size_t quota_pages = options_.receive_quota->bytes_max() / pool.block_bytes();
  const std::size_t share = std::min(pool.blocks() / part_of_pool / wire_->of_pool.sum(),
                                     quota_pages / part_of_quota / wire_->of_quota.sum());
  return std::clamp<std::size_t>(std::min(share, busy_window_), Credits::window_min, window_);
}

// Posts receives in the place of those that were used.
void OfiLink::replenish() {
  OfiReceives& receives = wire_->receives;
  if (ended_ || state_ != State::up) return;
  const long posted = receives.post(wire_->endpoint, window());
  if (taken(posted)) credits_.posted(static_cast<std::uint32_t>(posted));
  if (!receives.starved() || receive_waiter_.waiting()) return;
  if (options_.starved_count != nullptr) ++*options_.starved_count;
  receives.pool().wait(receive_waiter_);
}

// Sends a page without a body, if half of the receives are to be granted, or a message was fetched,
// and no page has said so yet; or if the peer must have a credit. Where memory is short there are
// fewer receives than the window.
void OfiLink::tell_peer() {
  if (state_ != State::up || bye_sent() || ended_ || !credits_.may_grant()) return;
  const std::size_t receives =
      std::max<std::size_t>(1, std::min(window(), wire_->receives.in_use()));
  const bool used_half = credits_.untold() * 2 >= receives;
  if (used_half && busy_window_ < window_) busy_window_ *= 2;
  if (used_half || wire_->fetches.untold() != 0 || credits_.peer_needs_one()) tell_now();
}

void OfiLink::tell_now() {
  const Post nothing{.sequence = next_sequence_};
  const PageHeader tells = header_of(nothing);
  if (taken(wire_->sends.inject(wire_->endpoint, tells, nothing))) posted(tells);
}

// A side that only receives never learns that the host of its peer is dead. So it sends something:
// the device gives up at last, and all posted operations fail.
void OfiLink::keep_alive() {
  const bool silent = std::exchange(kept_alive_at_, bytes_received()) == bytes_received();
  if (silent && state_ == State::up && !bye_sent() && !ended_ && credits_.may_grant()) tell_now();
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
