// A peer's pages, acknowledgements and good-byes.
#include <algorithm>
#include <chrono>
#include <utility>

#include "base/out_of_memory.hpp"
#include "socket/context_core.hpp"
#include "socket/peer.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

void Peer::on_page(const PageHeader& header, Block& block,
                   std::span<const std::byte> body) noexcept {
  if (down_ || bye_heard_) return;
  if (!up()) [[unlikely]] {
    if (header.bytes == 0) return;  // on a fabric a grant, which the link has taken
    guard_memory([&] { take_first_page(header, body); },
                 [this]() noexcept { fail(out_of_memory()); });
    return;
  }
  const bool was_stranger = outgoing.stranger();
  if (!outgoing.acknowledge(header.acknowledged)) {
    fail(DownReason::protocol_error, "acknowledges messages that were not sent to it");
    return;
  }
  if (RequestTaker* const requests = socket_.receiving.delivery.requests; requests != nullptr)
    requests->begin_page(*this, 0);
  const bool no_stranger = was_stranger && outgoing.starved() && !outgoing.stranger();
  if (outgoing.take_resend_room() || no_stranger) {
    room_found_ = true;
    socket_.context().loop.defer(*this);
  }
  if (body.size() > socket_.context().options().page_bytes - page_header_bytes) [[unlikely]] {
    if (const char* const defect = large_page_defect(header); defect != nullptr) {
      fail(DownReason::protocol_error, defect);
      return;
    }
  }
  if (starved_for_long_) [[unlikely]] {
    starved_for_long_ = false;
    look_whether_unread();
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
  if (deaf_) return;  // neither delivered nor acknowledged
  if (!messages_expected_) {
    fail(DownReason::protocol_error, "sends messages before it has answered the subscription");
    return;
  }
  if ((header.flags & page_flag::begun) == 0) socket_.count_page();
  socket_.receiving.begin_page(id_, paused_);
  after_delivery(incoming_.take(header, block, body));
  if (socket_.options().resume_bytes_max != 0) acknowledge_in_time(body.size());
}

// What the peer keeps for this side is bounded: it hears of much that has come before
// acknowledge_after is over.
void Peer::acknowledge_in_time(std::size_t bytes) noexcept {
  constexpr std::size_t acknowledged_at_bytes = 256U << 10U;
  bytes_to_acknowledge_ += bytes;
  if (bytes_to_acknowledge_ < acknowledged_at_bytes || !open()) return;
  bytes_to_acknowledge_ = 0;
  (void)send_acknowledgement();
}

bool Peer::not_to_be_read() const noexcept { return paused_ || socket_.receiving.paused(); }

void Peer::after_delivery(IncomingStream::Result result) noexcept {
  socket_.receiving.end_page();
  // The user may have closed or destroyed the socket in a call-back.
  if (deaf_) incoming_.end();
  if (gone() || down_ || deaf_) return;
  // A peer that waits for a large buffer keeps the memory that its parts are read into: if it gave
  // that up, it could get the buffer while all the other memory is with peers that wait for it.
  link_->assembling(incoming_.assembling() || result == IncomingStream::Result::starved);
  if (incoming_.waits_for_release()) socket_.watch_released();
  if (result != IncomingStream::Result::done) [[unlikely]]
    return after_part(result);
  socket_.page_received();
  if (closing_) [[unlikely]]
    advance_ending();
}

// The page was not delivered to its end.
void Peer::after_part(IncomingStream::Result result) noexcept {
  if (held_since_ns_ == 0) held_since_ns_ = socket_.context().loop.now().count();
  switch (result) {
    case IncomingStream::Result::done:
      break;
    case IncomingStream::Result::held:
      socket_.page_received();
      link_->pause(true);
      look_whether_unread();
      // Resumed already, by a later line of the same call-back.
      if (!not_to_be_read() && socket_.receiving.taken()) pause(false);
      break;
    case IncomingStream::Result::starved:
      ++*socket_.link_options().starved_count;
      link_->pause(true);
      socket_.context().large_pool().wait(*this);
      break;
    case IncomingStream::Result::bad:
      guard_memory(
          [this] {
            fail({incoming_.reason(), std::string("sent ") + incoming_.defect()});
          },
          [this]() noexcept { fail(out_of_memory(incoming_.reason())); });
      break;
  }
}

// The rest of a page that was held, then the link again.
void Peer::go_on() noexcept {
  if (deaf_) return;
  if (incoming_.holding()) {
    socket_.receiving.begin_page(id_, paused_);
    RequestTaker* const requests = socket_.receiving.delivery.requests;
    if (requests != nullptr) requests->begin_page(*this, held_since_ns_);
    after_delivery(incoming_.go_on());
    if (!incoming_.holding()) held_since_ns_ = 0;
  }
  if (open() && !incoming_.holding() && !not_to_be_read()) link_->pause(false);
}

void Peer::on_memory() noexcept {
  if (open() && !not_to_be_read()) go_on();
}

void Peer::pause(bool paused) noexcept {
  if (!open() || deaf_) return;
  look_whether_unread();
  if (paused) {
    link_->pause(true);
  } else {
    resume_ = true;
    socket_.context().loop.defer(*this);
  }
}

// While the user takes nothing from the peer, acknowledgements are not read either. The same holds
// for a link that lacks the memory to read into, if that lasts from one look to the next. What is
// kept for a subscriber that can do without it gives way in any case.
void Peer::look_whether_unread() noexcept {
  if (!open()) return;
  const bool untaken =
      socket_.pattern().receives && (not_to_be_read() || starved_for_long_ ||
                                     (incoming_.holding() && !socket_.receiving.taken()));
  const bool gives_way = untaken || socket_.distribution().may_drop(*this);
  if (!outgoing.set_unread(gives_way && !deaf_)) return;
  room_found_ = true;
  socket_.context().loop.defer(*this);
}

void Peer::on_kept_unread() noexcept {
  kept_unread_ = true;
  socket_.context().loop.defer(*this);
}

void Peer::pause_alone(bool paused) noexcept {
  paused_ = paused;
  if (paused || !socket_.receiving.paused()) pause(paused);
}

void Peer::on_writable() noexcept {
  if (confirm_owed_ && !down_) {
    say_where();
    if (!confirm_owed_ && phase_ == Phase::settled) come_up();
    return;
  }
  if (leaving()) {
    advance_ending();
    return;
  }
  if (!open()) return;
  if (outgoing.post_pending() != Status::ok) {
    if (outgoing.failed()) fail(out_of_memory());
    return;
  }
  link_->flush();
  socket_.distribution().ready(*this);
  socket_.distribution().tell_writable();
  socket_.touch();
}

void Peer::on_sent() noexcept {
  if (!up()) return;  // of the greeting
  if (!leaving() && outgoing.waiting()) on_writable();
  socket_.fill_changed();
}

void Peer::on_idle() noexcept {
  if (!up()) return;
  if (leaving()) {
    advance_ending();
  } else if (outgoing.waiting()) {
    on_writable();
  } else if (socket_.options().flush_when_idle) {
    socket_.distribution().wire_idle(*this);
  }
  socket_.fill_changed();
}

void Peer::watch_memory() noexcept {
  if (up() && link_ && !home_waiter_.waiting()) link_->receive_store().wait(home_waiter_);
}

void Peer::on_page_opened() noexcept { socket_.touch(); }
void Peer::on_large_begun() noexcept { socket_.fill_changed(); }
void Peer::on_starved() noexcept {
  ++*socket_.link_options().starved_count;
  socket_.fill_changed();
}

void Peer::take_control(std::span<const std::byte> body) {
  if (incoming_.assembling()) {
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
    } else if (defect = not_offered(frame.control(), socket_.receiving.delivery.offered);
               defect == nullptr && !deaf_) {
      defect = socket_.distribution().take_control(*this, frame);
      if (down_ || gone()) return;  // a call-back of the user's, or the pattern, has ended it
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
  socket_.fill_changed();  // a peer that has said good-bye holds nobody up
  socket_.distribution().tell_writable();
}

// The order of an end: everything taken is posted; good-bye is said; the other says it too, behind
// its last acknowledgement; then the link is finished. Whoever hears it first answers at once.
void Peer::advance_ending() noexcept {
  if (!open()) return;
  if (!bye_said_) {
    if (!bye_heard_ && outgoing.post_pending() != Status::ok) return;
    // The answer carries the last acknowledgement. The peer bounds the time: by its linger time.
    if (reader_is_behind()) return;
    if (!bye_heard_ && expects_answers()) return link_->flush();
    if (outgoing.post_control(ControlKind::bye, {}) != Status::ok) return;
    bye_said_ = true;
    link_->flush();
  }
  if (bye_heard_) link_->finish();
}

// What was delivered of the peer still waits for the reader. A socket that closes does not wait for
// its reader.
bool Peer::reader_is_behind() const noexcept {
  const ReceiveBooks& books = incoming_.books();
  const bool ends = (bye_heard_ || closing_) && !socket_.closing();
  return ends && socket_.receiving.position(books) != books.expected;
}

void Peer::acknowledge(const ReceiveBooks::Place& taken) noexcept {
  incoming_.acknowledge(taken);
  if (bye_heard_ || closing_) advance_ending();
}

void Peer::look_at_released() noexcept {
  incoming_.look_at_all_released();
  if (bye_heard_ || closing_) advance_ending();
}

bool Peer::send_acknowledgement() noexcept {
  if (!open() || bye_said_ || !link_->acknowledgement_due()) return true;
  if (outgoing.post_acknowledgement() != Status::ok) return false;
  link_->flush();
  return true;
}

void Peer::look_after(std::int64_t now_ns, const Shortages& shortages) noexcept {
  if (!open()) return;
  starved_for_long_ = !link_->reading() && was_unread_at_ == heard();
  was_unread_at_ = link_->reading() ? never_unread : heard();
  look_whether_unread();
  watch_.listen(*link_, now_ns);
  const SocketOptions& options = socket_.options();
  if (const char* const what = stalled({now_ns, options.stall_after.count()}, shortages)) {
    return fail(DownReason::stalled, what);
  }
  // An idle connection is given keep_alive_after, and as long again for the probes. The kernel
  // counts from the last answer, which is old after a silence. So this side counts too, from the
  // moment when it first saw that nothing is answered.
  const std::chrono::nanoseconds silence = 2 * std::chrono::nanoseconds(options.keep_alive_after);
  if (watch_.host_is_gone(*link_, now_ns, silence.count())) {
    fail(DownReason::lost, "the host does not answer any more");
  }
}

const char* Peer::stalled(PeerWatch::Look look, const Shortages& shortages) noexcept {
  const PeerWatch::Memory memory{.page_bytes = socket_.context().options().page_bytes,
                                 .pages_waited_for = socket_.receive_memory_waited_for(),
                                 .large_waited_for = shortages.of_large_pool().lack_memory != 0 ||
                                                     socket_.large_quota_waited_for()};
  const char* const what =
      watch_.check_receiving(*link_, incoming_, bye_heard_ && !reader_is_behind(), memory, look);
  if (what != nullptr) return what;
  return watch_.check_sending(outgoing, shortages, socket_.distribution().bears_with(*this), look);
}

}  // namespace netio::detail
