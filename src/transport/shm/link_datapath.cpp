// The data path of a shm link: posts to slots, slots to pages, sleeping and waking, and the order
// of an ending.
#include <cstdint>
#include <utility>

#include "base/point.hpp"
#include "transport/shm/link.hpp"

namespace netio::detail {

Status ShmLink::post(Post& post) noexcept {
  if (state_ != State::up || ended_) return Status::not_connected;
  if (!has_room() && !reap_quietly()) {
    want_writable_ = true;
    ring();
    return Status::again;
  }
  const PageHeader header = page_header_of(post, to_acknowledge());
  ShmSends& sends = wire_->sends;
  if (!sends.put(header, post) && !(reap_quietly() && sends.put(header, post))) {
    want_writable_ = lacks_memory_ = true;
    sends.wanted().wait(room_waiter_);
    if (options_.starved_count != nullptr) ++*options_.starved_count;
    ring();
    return Status::again;
  }
  acknowledged_with(header.acknowledged);
  was_busy_ = true;
  wire_->doorbell.pages_written();
  if (!polling_) loop_.defer(*this);
  return Status::ok;
}

// May be called from inside a call of the user, so it raises no events. Returns true if there is
// room now.
bool ShmLink::reap_quietly() noexcept {
  bool news = false;
  if (!wire_->sends.reap(news)) return false;  // poll() finds the same, and tells
  room_found_ |= news;
  return has_room();
}

bool ShmLink::has_room() const noexcept {
  const std::size_t most = options_.queue_bytes_max;
  return wire_->sends.room() && wire_->sends.taken_of(most) < most;
}

void ShmLink::ring() noexcept {
  if (wire_) wire_->doorbell.ring();
  NETIO_POINT(rung);
}

bool ShmLink::may_sleep() noexcept {
  if (!moves_pages()) return true;
  if (ended_ && reading()) return false;  // the end is still to be found
  if (wire_->memory->blocks_out() != 0 && !home_waiter_.waiting()) {
    wire_->memory->wait(home_waiter_);
  }
  if (std::exchange(took_lately_, false) && !look_on()) return false;
  wire_->doorbell.fall_asleep(!wire_->sends.idle() || want_writable_);
  if (wire_->doorbell.owes_ring()) return false;
  const bool news = wire_->sends.news();
  reaps_idle_ = news;  // of a peer that was sent nothing it is a lie
  return !news && !(reading() && wire_->receives.waiting());
}

// Polls a little longer before sleeping, because messages often arrive in bursts. Returns false if
// one arrived.
bool ShmLink::look_on() noexcept {
  constexpr int looks = 300;  // together less than a sleep and a wake-up cost
  ring();
  for (int i = 0; i < looks; ++i) {
    if (wire_->sends.news() || (reading() && wire_->receives.waiting())) return false;
  }
  return true;
}

bool ShmLink::poll(int budget) noexcept {
  if (nothing_to_do()) return false;
  bool worked = true;
  polling_ = true;
  guarded([&] { worked = take_turn(budget); });
  polling_ = false;
  return worked;
}

// take_turn() would find nothing and change nothing. A loop that spins asks this all the time, and
// a page that comes meanwhile waits for the answer: so all that is rare is left to take_turn(). The
// rest of a turn takes longer than a look, so several looks find a page sooner; but where there are
// several links, the others would wait for them.
bool ShmLink::nothing_to_do() const noexcept {
  constexpr int looks_alone = 16;
  if (state_ != State::up || ended_ || room_found_ || reaps_idle_ || home_waiter_.waiting()) {
    return false;
  }
  const Wire& wire = *wire_;
  if (wire.doorbell.asleep() || wire.doorbell.owes_ring() || wire.memory->blocks_out() != 0) {
    return false;
  }
  if (!wire.sends.idle() && wire.sends.news()) return false;
  if (!reading()) return true;
  for (int looks = shared_.links == 1 ? looks_alone : 1; looks != 0; --looks) {
    if (wire.receives.waiting()) return false;
  }
  return true;
}

bool ShmLink::take_turn(int budget) {
  if (!moves_pages()) return false;
  wire_->doorbell.wake_up();
  // What is released outside of turns would ring for who waited before the last sleep.
  if (home_waiter_.waiting()) {
    wire_->memory->serve_waiters();
  } else {
    wire_->memory->collect();
  }
  const bool took = take_pages(budget);
  if (!moves_pages()) return true;
  const bool reaped = reap();  // what somebody waits for goes first
  if (moves_pages()) ring();
  return reaped || took;
}

// Takes back what the peer has read and returned. The owner is told after all links have looked;
// otherwise the first link would get the memory every time. A single link waits as well: an owner
// that is told at once posts smaller pages, and 64-byte messages are 5 % slower.
bool ShmLink::reap() noexcept {
  bool news = false;
  const bool look = !wire_->sends.idle() || std::exchange(reaps_idle_, false);
  if (look && !wire_->sends.reap(news)) {
    go_bad(DownReason::protocol_error, "gives back pages that it does not have");
    return true;
  }
  news |= std::exchange(room_found_, false);
  if (news) {
    room_to_tell_ = true;
    loop_.defer(*this);
  }
  return news;
}

// Must not be called from post() or flush(), because the owner posts from inside these events.
void ShmLink::tell_room() noexcept {
  if (state_ != State::up) return;
  const std::size_t most = options_.queue_bytes_max;
  if (lacks_memory_) lacks_memory_ = !wire_->sends.memory();
  if (lacks_memory_ && !room_waiter_.waiting()) wire_->sends.wanted().wait(room_waiter_);
  if (want_writable_ && !lacks_memory_ && wire_->sends.room() &&
      wire_->sends.taken_of(most) <= most / 2) {
    want_writable_ = false;
    events_->on_writable();
  } else {
    events_->on_sent();
  }
  if (state_ == State::up && was_busy_ && wire_->sends.consumed()) {
    was_busy_ = false;
    events_->on_idle();
  }
}

bool ShmLink::take_pages(int budget) {
  ShmReceives& receives = wire_->receives;
  if (state_ == State::finishing) {
    receives.discard();
    if (ended_ && wire_->theirs.finished.load(std::memory_order_acquire) != 0) {
      go_down({DownReason::closed_by_peer, peer_address_ + " ended in order"});
    } else if (ended_) {
      go_bad(DownReason::lost, "gave up before our good-bye reached it");
    }
    return ended_;
  }
  if (!reading()) return false;
  const std::uint64_t before = receives.bytes();
  const ShmReceives::Result result = receives.take(*events_, paused_, budget);
  const bool took = receives.bytes() != before;
  if (state_ == State::down) return true;
  took_lately_ |= took;
  if (took) wire_->doorbell.room_made();
  switch (result) {
    case ShmReceives::Result::empty:
      if (!ended_ || state_ != State::up || receives.waiting()) break;
      [[fallthrough]];
    case ShmReceives::Result::over:
      go_bad(DownReason::lost,
             "closed the connection without a good-bye: it was killed or cut, or gave this side "
             "up");
      return true;
    case ShmReceives::Result::starved:
      starved_ = true;
      if (options_.starved_count != nullptr) ++*options_.starved_count;
      // Told also when the quota has room again, wherever it was spent.
      shared_.resources.receive_pool.wait(pool_waiter_);
      break;
    case ShmReceives::Result::bad:
      go_bad(receives.reason(), std::string("sent ") + receives.defect());
      return true;
    case ShmReceives::Result::more:
    case ShmReceives::Result::paused:
      break;
  }
  return took;
}

// The socket has ended. Pages that the peer posted before that are still read.
void ShmLink::on_ended() {
  ended_ = true;
  watch_.reset();
  if (wire_ && wire_->theirs.finished.load(std::memory_order_acquire) == 0) {
    wire_->receives.peer_is_gone();
  }
  if (state_ == State::refusing) {
    go_down({DownReason::rejected, "refused " + peer_address_});
  } else {
    loop_.defer(*this);
  }
}

// Possibly inside a call of the user's.
void ShmLink::on_memory_home() noexcept {
  stop_starving();
  loop_.defer(*this);
}

void ShmLink::stop_starving() noexcept {
  starved_ = false;
  pool_waiter_.stop_waiting();
}

void ShmLink::on_page_returned() noexcept {
  wire_->doorbell.room_made();
  if (!polling_) loop_.defer(*this);
}

void ShmLink::run_deferred() noexcept {
  if (failure_) {
    go_down(std::move(*failure_));
    return;
  }
  if (!moves_pages()) return;
  if (std::exchange(room_to_tell_, false)) tell_room();
  if (!moves_pages()) return;
  ring();
  if (state_ == State::finishing && !std::exchange(shut_, true)) {
    (void)::shutdown(socket_.get(), SHUT_WR);
  }
  if (ended_ && (state_ == State::finishing || reading()))
    guarded([this] { (void)take_pages(64); });
}

void ShmLink::pause(bool paused) noexcept {
  if (state_ != State::up) return;
  paused_ = paused;
}

void ShmLink::finish() noexcept {
  if (state_ != State::up) return;
  state_ = State::finishing;
  paused_ = false;
  stop_starving();
  wire_->ours.finished.store(1, std::memory_order_release);
  loop_.defer(*this);
}

}  // namespace netio::detail
