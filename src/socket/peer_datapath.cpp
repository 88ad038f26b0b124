// A peer's pages, acknowledgements and good-byes.
#include <algorithm>
#include <utility>

#include "base/out_of_memory.hpp"
#include "socket/context_core.hpp"
#include "socket/peer.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

void Peer::on_page(const PageHeader& header, Block& block,
                   std::span<const std::byte> body) noexcept {
  if (down_ || bye_heard_) return;
  if (!up_) [[unlikely]] {
    if (header.bytes == 0) return;  // on a fabric a grant, which the link has taken
    guard_memory([&] { take_first_page(header, body); },
                 [this]() noexcept { fail(out_of_memory()); });
    return;
  }
  const bool was_stranger = sender.stranger();
  if (!sender.books.acknowledge(header.acknowledged)) {
    fail(DownReason::protocol_error, "acknowledges messages that were not sent to it");
    return;
  }
  if (was_stranger && sender.starved() && !sender.stranger()) {
    no_stranger_ = true;
    socket_.context().loop.defer(*this);
  }
  if (body.size() > socket_.context().options().page_bytes - page_header_bytes) [[unlikely]] {
    if (const char* const defect = large_page_defect(header); defect != nullptr) {
      fail(DownReason::protocol_error, defect);
      return;
    }
  }
  if ((header.flags & page_flag::control) != 0) {
    guard_memory([&] { take_control(body); }, [this]() noexcept { fail(out_of_memory()); });
    return;
  }
  if (header.bytes == 0) return;  // an acknowledgement, and nothing else
  if (!socket_.pattern().receives) {
    fail(DownReason::protocol_error, "sends messages to a socket that takes none");
    return;
  }
  if (closing_) return;  // neither delivered nor acknowledged
  if (!messages_expected_) {
    fail(DownReason::protocol_error, "sends messages before it has answered the subscription");
    return;
  }
  if ((header.flags & page_flag::begun) == 0) socket_.count_page();
  socket_.receiving.begin_page(id_, paused_);
  after_delivery(receiver_.take(header, block, body));
}

bool Peer::held_back() const noexcept { return paused_ || socket_.receiving.paused(); }

void Peer::after_delivery(Receiver::Result result) noexcept {
  socket_.receiving.end_page();
  // The user may have closed or destroyed the socket in a call-back.
  if (closing_) receiver_.end();
  if (gone_ || down_ || closing_) return;
  // A peer that waits for a large buffer keeps the memory that its parts are read into: if it gave
  // that up, it could get the buffer while all the other memory is with peers that wait for it.
  link_->assembling(receiver_.assembling() || result == Receiver::Result::starved);
  switch (result) {
    case Receiver::Result::done:
      socket_.page_received();
      break;
    case Receiver::Result::held:
      socket_.page_received();
      link_->pause(true);
      // Resumed already, by a later line of the same call-back.
      if (!held_back() && socket_.receiving.taken()) pause(false);
      break;
    case Receiver::Result::starved:
      ++*socket_.link_options().starved_count;
      link_->pause(true);
      socket_.context().large_pool().wait(*this);
      break;
    case Receiver::Result::bad:
      guard_memory(
          [this] {
            fail({receiver_.reason(), std::string("sent ") + receiver_.defect()});
          },
          [this]() noexcept { fail(out_of_memory(receiver_.reason())); });
      break;
  }
}

// The rest of a page that was held, then the link again.
void Peer::go_on() noexcept {
  if (closing_) return;
  if (receiver_.holding()) {
    socket_.receiving.begin_page(id_, paused_);
    after_delivery(receiver_.go_on());
  }
  if (up_ && !down_ && !receiver_.holding() && !held_back()) link_->pause(false);
}

void Peer::on_memory() noexcept {
  if (up_ && !down_ && !held_back()) go_on();
}

void Peer::pause(bool paused) noexcept {
  if (!up_ || down_) return;
  if (paused) {
    link_->pause(true);
  } else {
    resume_ = true;
    socket_.context().loop.defer(*this);
  }
}

void Peer::pause_alone(bool paused) noexcept {
  paused_ = paused;
  if (paused || !socket_.receiving.paused()) pause(paused);
}

void Peer::on_writable() noexcept {
  if (confirm_owed_ && !down_) {
    say_where();
    if (!confirm_owed_ && settled_) come_up();
    return;
  }
  if (leaving()) {
    advance_ending();
    return;
  }
  if (!up_ || down_) return;
  if (sender.post_pending() != Status::ok) {
    if (sender.backlog.failed()) fail(out_of_memory());
    return;
  }
  link_->flush();
  socket_.distribution().ready(*this);
  socket_.distribution().tell_writable();
  socket_.touch();
}

void Peer::on_sent() noexcept {
  if (!up_) return;  // of the greeting
  if (!leaving() && sender.waiting()) on_writable();
  socket_.fill_changed();
}

void Peer::on_idle() noexcept {
  if (!up_) return;
  if (leaving()) {
    advance_ending();
  } else if (sender.waiting()) {
    on_writable();
  } else if (socket_.options().flush_when_idle) {
    socket_.distribution().wire_idle(*this);
  }
  socket_.fill_changed();
}

void Peer::watch_memory() noexcept {
  if (up_ && link_ && !home_waiter_.waiting()) link_->receive_store().wait(home_waiter_);
}

void Peer::on_page_opened() noexcept { socket_.touch(); }
void Peer::on_large_begun() noexcept { socket_.fill_changed(); }
void Peer::on_starved() noexcept {
  ++*socket_.link_options().starved_count;
  socket_.fill_changed();
}

void Peer::take_control(std::span<const std::byte> body) {
  if (receiver_.assembling()) {
    fail(DownReason::protocol_error, "sent a control page in the middle of a message");
    return;
  }
  FrameWalker walker(body.data(), body.size());
  Frame frame;
  bool bye = false;
  const char* defect = body.empty() ? "sent a control page without a control frame" : nullptr;
  while (defect == nullptr && walker.next(frame)) {
    if ((frame.flags & frame_flag::control) == 0) {
      defect = "sent a message in a control page";
    } else if (frame.control() == ControlKind::bye) {
      bye = true;
      if (body.size() != frame_word_bytes) defect = "sent a good-bye that is not alone in its page";
    } else if (frame.control() == ControlKind::confirm) {
      defect = "said where it stands though the connection is up";
    } else if (defect = not_offered(frame.control()); defect == nullptr) {
      defect = socket_.distribution().take_control(*this, frame);
      if (down_ || gone_) return;  // a call-back of the user's, or the pattern, has ended it
    }
  }
  if (defect == nullptr && walker.defect() != nullptr) defect = "sent a damaged control page";
  if (defect != nullptr) {
    fail(DownReason::protocol_error, defect);
    return;
  }
  if (!bye) return;
  bye_heard_ = true;
  socket_.distribution().not_ready(*this);
  advance_ending();
  socket_.fill_changed();  // who says good-bye holds nobody up
  socket_.distribution().tell_writable();
}

// The order of an end: everything taken is posted; good-bye is said; the other says it too, behind
// its last acknowledgement; then the link is finished. Whoever hears it first answers at once.
void Peer::advance_ending() noexcept {
  if (!up_ || down_) return;
  if (!bye_said_) {
    if (!bye_heard_ && sender.post_pending() != Status::ok) return;
    if (sender.post_control(ControlKind::bye, {}) != Status::ok) return;
    bye_said_ = true;
    link_->flush();
  }
  if (bye_heard_) link_->finish();
}

bool Peer::send_acknowledgement() noexcept {
  if (!up_ || down_ || bye_said_ || link_->acknowledged() == receiver_.books.expected) return true;
  if (sender.post_acknowledgement() != Status::ok) return false;
  link_->flush();
  return true;
}

// A page costs nothing for this: what is counted anyway is looked at now and then.
void Peer::listen_at(std::int64_t now_ns) noexcept {
  const std::uint64_t bytes = link_->bytes_received();
  if (bytes == heard_bytes_) return;
  heard_bytes_ = bytes;
  heard_ns_ = now_ns;
}

void Peer::check_stall(std::int64_t now_ns, std::int64_t stall_after_ns,
                       const Shortages& shortages) noexcept {
  if (!up_ || down_) return;
  listen_at(now_ns);
  check_receiving(now_ns, stall_after_ns, shortages);
  if (up_ && !down_) check_sending(now_ns, stall_after_ns, shortages);
}

// A counter of bytes of what the peer has begun. For a message in parts it counts payload only:
// acknowledgements, and parts without payload, do not make the message go on.
std::uint64_t Peer::receiving_progress() noexcept {
  if (bye_heard_) return link_->bytes_received();
  if (!receiver_.assembling() || link_->large_page_begun() != 0) return link_->page_progress();
  // Pages may be large, so bytes of a part that is not complete count too. They include what stands
  // around the payload, which is left out when the part is complete: the counter must not fall.
  part_progress_ = std::max(part_progress_, receiver_.part_bytes() + link_->body_begun());
  return part_progress_;
}

void Peer::check_receiving(std::int64_t now_ns, std::int64_t stall_after_ns,
                           const Shortages& shortages) noexcept {
  // After good-byes the peer has its end of the connection to close, and nothing else to do.
  const bool begun = link_->mid_page() || receiver_.assembling() || bye_heard_;
  const std::uint64_t received = receiving_progress();
  if (!begun || !link_->reading()) return receiving_watch_.restart(received, now_ns);
  const std::uint64_t large =
      std::max<std::uint64_t>(receiver_.assembling_bytes(), link_->large_page_begun());
  const bool waited_for =
      large != 0 ? shortages.of_large_pool().lack_memory != 0 || socket_.large_quota_waited_for()
                 : socket_.receive_memory_waited_for();
  const std::uint64_t held =
      large == 0 && waited_for ? socket_.context().options().page_bytes : large;
  const std::uint64_t least = bye_heard_ ? 1 : StallWatch::least(held, waited_for);
  if (!receiving_watch_.stalled(received, least, now_ns, stall_after_ns)) return;
  fail(DownReason::stalled, received == receiving_watch_.moved()
                                ? "began a message and did not go on with it"
                                : "goes on so slowly with a message that its memory is held for "
                                  "ever");
}

// A peer that is slow holds back its own messages only; but not the memory that others wait for.
void Peer::check_sending(std::int64_t now_ns, std::int64_t stall_after_ns,
                         const Shortages& shortages) noexcept {
  Holding all;
  for (const Shortage& shortage : shortages.all()) {
    const Holding held = sender.kept_from_others(shortage);
    all.left += held.left;
    all.moved += held.moved;
  }
  if (all.left == 0 || socket_.distribution().bears_with(*this)) return sending_watch_.stop();
  if (!sending_watch_.stalled(all.left, all.moved, now_ns, stall_after_ns)) return;
  fail(DownReason::stalled,
       "took, or gave back, so little of large messages that others waited for their memory in "
       "vain");
}

// What an idle connection is given by keep-alive: silence, and as long again for the probes. The
// kernel counts from the last answer, which after silence is old: so this side counts too, from
// when it first saw that nothing is answered.
void Peer::check_host(std::int64_t now_ns) noexcept {
  if (!up_ || down_) return;
  using std::chrono::nanoseconds;
  const std::int64_t unanswered_ns = nanoseconds(link_->unanswered_for()).count();
  if (unanswered_ns == 0 || now_ns - unanswered_ns > answered_ns_) answered_ns_ = now_ns;
  const std::int64_t most_ns = 2 * nanoseconds(socket_.options().keep_alive_after).count();
  if (unanswered_ns == 0 || now_ns - answered_ns_ < most_ns) return;
  fail(DownReason::lost, "the host does not answer any more");
}

}  // namespace netio::detail
