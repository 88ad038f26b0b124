// A simulated link's sending side: posts, what the wire takes of them, and whose memory comes home.
#include <algorithm>
#include <utility>

#include "simulation/during_event.hpp"
#include "simulation/sim_link.hpp"
#include "simulation/world.hpp"
#include "wire/frame.hpp"

namespace netio::test {

using detail::page_header_bytes;
using detail::Post;
using detail::wire_padded;

namespace {

// A page that was gathered counts its frames; a part of a message counts when it ends there.
bool frames_are_right(const Packet& packet) {
  std::vector<std::byte> body(packet.header.bytes);
  packet.write_body(body);
  detail::FrameWalker walker(body.data(), body.size(), detail::ability::every_frame);
  detail::Frame frame;
  std::uint32_t messages = 0;
  std::size_t frames = 0;
  bool part = false;
  while (walker.next(frame)) {
    ++frames;
    part |= frame.part();
    const bool control = (frame.flags & detail::frame_flag::control) != 0;
    if (control != ((packet.header.flags & detail::page_flag::control) != 0)) return false;
    if (!control && (frame.flags & detail::frame_flag::more) == 0) ++messages;
  }
  return walker.defect() == nullptr && messages == packet.header.messages && (!part || frames == 1);
}

// The side says where it stands, and nothing else.
bool says_where(const Packet& packet) {
  std::vector<std::byte> body(packet.header.bytes);
  packet.write_body(body);
  detail::FrameWalker walker(body.data(), body.size(), detail::ability::every_frame);
  detail::Frame frame;
  return (packet.header.flags & detail::page_flag::control) != 0 && walker.next(frame) &&
         frame.control() == detail::ControlKind::confirm && walker.at_end();
}

}  // namespace

// Posts that wait for the wire; or, where memory comes home later, those that are not done.
bool SimLink::full() const noexcept {
  const bool done_late = traits().completes >= Completes::late;
  const std::size_t posts =
      done_late ? std::max(outstanding_.size(), out().waiting()) : out().waiting();
  return posts >= traits().queue_posts_max || outstanding_bytes_ >= limits_.queue_bytes_max;
}

bool SimLink::roomy() const noexcept {
  const bool done_late = traits().completes >= Completes::late;
  const std::size_t posts =
      done_late ? std::max(outstanding_.size(), out().waiting()) : out().waiting();
  return posts <= traits().queue_posts_max / 2 && outstanding_bytes_ <= limits_.queue_bytes_max / 2;
}

bool SimLink::holds_bodies() const noexcept {
  return std::ranges::any_of(
      outstanding_, [](const Outstanding& page) { return page.bytes > page_header_bytes; });
}

bool SimLink::idle() const noexcept {
  if (wire_ == nullptr) return true;
  return out().waiting() == 0 && (traits().completes < Completes::late || outstanding_.empty());
}

bool SimLink::backed_up() const noexcept { return wire_ != nullptr && out().waiting() != 0; }

std::size_t SimLink::queued_bytes() const noexcept {
  if (wire_ == nullptr) return 0;
  const std::size_t each = limits_.queue_bytes_max / traits().queue_posts_max;
  return std::max(outstanding_bytes_,
                  std::min(each * outstanding_.size(), limits_.queue_bytes_max));
}

// Memory comes home in the order of the posts.
detail::Holding SimLink::holding(const detail::StorePart& of) const noexcept {
  detail::Holding held{0, done_bytes_};
  std::uint64_t bytes = 0;
  for (const Outstanding& entry : outstanding_) {
    bytes += entry.bytes;
    if (of.has(entry.lease) || of.has(entry.front)) held.left = bytes;
  }
  return held;
}

// While a storm lasts, posts are refused though there is room.
bool SimLink::storms() noexcept {
  const std::int64_t now_ns = World::now_ns();
  if (world_.calm()) return false;
  if (now_ns >= storm_until_ns_ && world_.fault(world_.faults.storm)) {
    storm_until_ns_ = now_ns + world_.between(1, 10 * ms);
    world_.tally.add(Happened::storm);
  }
  return now_ns < storm_until_ns_ && world_.chance(800);
}

// What a link may expect of its owner.
void SimLink::check_post(const Post& post) noexcept {
  const std::size_t all =
      page_header_bytes + post.prefix_bytes + post.front_bytes() + wire_padded(post.body.bytes);
  const bool control = (post.flags & detail::page_flag::control) != 0;
  // Behind the confirm, a stream may begin again with what was lost on an earlier connection.
  if (!confirm_posted_ || (!begun_ && post.sequence < next_sequence_)) {
    next_sequence_ = post.sequence;
  }
  if (bye_posted_) world_.fail("a page was posted behind a good-bye");
  if (post.sequence != next_sequence_) {
    world_.fail("a page was posted with sequence " + std::to_string(post.sequence) + ", " +
                std::to_string(next_sequence_) + " is the next");
  }
  if (all > limits_.page_bytes_max &&
      (post.messages != 1 || control || all > fit_.whole_page_bytes_max)) {
    world_.fail("a page of " + std::to_string(all) + " bytes was posted, which the limits forbid");
  }
  if (post.front_bytes() % detail::wire_align != 0 || (post.front != nullptr && !post.body.lease)) {
    world_.fail("a front was posted that no body can follow");
  }
  if (!post.body.lease && !control && post.body.bytes > fit_.borrowed_bytes_max) {
    world_.fail("more bytes were posted without a lease than the limits allow");
  }
}

Status SimLink::post(Post& post) noexcept {
  if (state_ != State::up || shut_) return Status::not_connected;
  check_post(post);
  if (full() || storms()) {
    want_writable_ = true;
    world_.tally.add(Happened::again);
    return Status::again;
  }
  Packet packet;
  packet.header = page_header_of(post, tell_acknowledged());
  if (packet.header.acknowledged < last_acknowledged_) world_.fail("an acknowledgement falls");
  last_acknowledged_ = packet.header.acknowledged;
  packet.prefix = post.prefix;
  packet.prefix_bytes = post.prefix_bytes;
  if (post.front != nullptr) packet.front = post.front->data;
  packet.front_bytes = post.front_bytes();
  packet.body = post.body.data;
  packet.body_bytes = post.body.bytes;
  packet.bytes = page_header_bytes + packet.header.bytes;
  if (!frames_are_right(packet)) world_.fail("a page was posted whose frames are not as it says");
  if (says_where(packet) == confirm_posted_) {
    world_.fail("where a side stands is said in its first page, and in no other");
  }
  if (side_ == 1 && !confirm_read_) {
    world_.fail("the accepting side said something before the dialing side had confirmed");
  }
  begun_ = std::exchange(confirm_posted_, true);
  bye_posted_ |= detail::says_bye(packet.header);
  next_sequence_ += post.messages;

  world_.say("  wire ", wire_->number, " is given a page at side ", side_, ": ",
             world_.settings.trace ? page_text(packet.header) : std::string());
  Direction& to = out();
  Outstanding entry{to.first_id + to.packets.size(), std::move(post.body.lease),
                    post.front != nullptr ? post.front->lease : detail::Lease(), packet.bytes};
  if (traits().completes == Completes::at_once || !entry.lease) packet.part_from_memory();
  if (traits().completes == Completes::at_once) {
    entry.lease.reset();
    entry.front.reset();
  }
  outstanding_bytes_ += entry.bytes;
  outstanding_.push_back(std::move(entry));
  wire_->put(side_, std::move(packet));
  if (traits().takes_in_post) pump();
  was_busy_ |= !idle();
  resources_.loop.defer(*this);
  return Status::ok;
}

void SimLink::flush() noexcept {
  if (state_ == State::up || state_ == State::finishing) pump();
  if (state_ == State::up && world_.call != nullptr && world_.lies(Lie::writable_inside)) {
    events_->on_writable();
  }
}

void SimLink::run_deferred() noexcept {
  if (state_ == State::up || state_ == State::finishing) pump();
  if (state_ == State::finishing) shut_when_written();
}

// The wire takes what it can. Tells nobody: it may be inside a call of the user's.
bool SimLink::pump() noexcept {
  Direction& to = out();
  const std::int64_t now_ns = World::now_ns();
  bool took = false;
  while (to.waiting() != 0 && now_ns >= to.next_take_ns) {
    if (to.unread_bytes >= traits().window_bytes && !to.dead) break;
    const std::uint64_t id = to.first_id + to.taken;
    wire_->take_next(side_);
    took = true;
    const auto entry = std::find_if(outstanding_.begin(), outstanding_.end(),
                                    [id](const Outstanding& one) { return one.id == id; });
    if (entry == outstanding_.end()) continue;
    entry->done_ns = now_ns;
    if (traits().completes == Completes::late) entry->done_ns += traits().completion_ns;
    if (traits().completes == Completes::when_read && !to.dead) entry->done_ns = never;
    if (traits().completes <= Completes::when_taken) {
      let_go(static_cast<std::size_t>(entry - outstanding_.begin()));
      outstanding_.erase(entry);
      some_done_ = true;
    }
  }
  return took;
}

// Memory comes home that the wire needs no more.
bool SimLink::complete() noexcept {
  const std::int64_t now_ns = World::now_ns();
  const Direction& to = out();
  bool any = false;
  for (std::size_t i = 0; i < outstanding_.size();) {
    const Outstanding& entry = outstanding_[i];
    const bool taken = entry.id < to.taken_ids;
    const bool read = entry.id < to.first_id || (to.dead && taken);
    const bool done = traits().completes == Completes::when_read ? read : entry.done_ns <= now_ns;
    if (!done) {
      ++i;
      continue;
    }
    world_.tally.add(Happened::late_completion);
    let_go(i);
    outstanding_.erase(outstanding_.begin() + static_cast<std::ptrdiff_t>(i));
    any = some_done_ = true;
  }
  return any;
}

// Drops the lease. What the receiver has not read is copied before.
void SimLink::let_go(std::size_t index) noexcept {
  Outstanding& entry = outstanding_[index];
  Direction& to = out();
  outstanding_bytes_ -= entry.bytes;
  done_bytes_ += entry.bytes;
  if (!entry.lease) return;
  const bool reads_on = world_.lies(Lie::bytes_released);
  if (entry.id >= to.first_id && !reads_on) {
    Packet& packet = to.packets[static_cast<std::size_t>(entry.id - to.first_id)];
    packet.part_from_memory();
  }
  // Not of lent memory, which goes with its socket.
  if (world_.lies(Lie::lease_kept) && entry.lease->owner() == fit_.pages) {
    world_.hoard.push_back(entry.lease);
  }
  entry.lease.reset();
  entry.front.reset();
}

// Outside of calls only. Which of the events comes first differs between wires.
bool SimLink::tell_room() {
  bool told = false;
  if (std::exchange(some_done_, false) && traits().tells_sent) {
    during_event([&] { events_->on_sent(); });
    told = true;
  }
  if (state_ == State::up && want_writable_ && roomy() && !storms()) {
    want_writable_ = false;
    if (world_.settings.lie == Lie::room_untold && world_.random.one_in(4)) return true;
    during_event([&] { events_->on_writable(); });
    told = true;
  }
  if (state_ == State::up && was_busy_ && idle()) {
    was_busy_ = false;
    during_event([&] { events_->on_idle(); });
    told = true;
  }
  return told;
}

bool SimLink::shut_when_written() {
  if (shut_ || out().waiting() != 0) return false;
  shut_ = true;
  Packet end;
  end.kind = Packet::Kind::end;
  end.bytes = 1;
  wire_->put(side_, std::move(end));
  pump();
  return true;
}

}  // namespace netio::test
