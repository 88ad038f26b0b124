// The data path of a tcp link: posts to writes, reads to pages, and the order of an ending.
#include <array>
#include <cerrno>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "transport/tcp/link.hpp"

namespace netio::detail {

namespace {
// What one link may read in a turn before the others get theirs: mostly one read, of at most a
// block. If a link kept reading within the turn, the peer with the largest TCP window would get
// most of it.
constexpr std::size_t read_budget_bytes = 64U << 10U;
// Posted pages are written when this much has gathered, at the latest at the end of the turn.
// Fewer, larger writes cost less a byte; more in flight leaves the cache.
constexpr std::size_t write_at_bytes = 128U << 10U;
}  // namespace

Status TcpLink::post(Post& post) noexcept {
  if (state_ != State::up || shut_) return Status::not_connected;
  if (writer_.full()) {
    if (!blocked_) write_pages();
    if (writer_.full()) {
      want_writable_ = true;
      return Status::again;
    }
  }
  if (!post.body.lease && post.body.bytes != 0) {
    Status status = inject(post);
    // A copy behind other posts needs a page that can be spared, a copy behind none only a page.
    // The write at the end of the turn tells nobody of room, so it must not be left to that.
    if (status == Status::again && !blocked_ && !writer_.empty()) {
      write_pages();
      status = inject(post);
    }
    if (status == Status::again) {
      want_writable_ = true;
      resources_.send_pool.wait(room_waiter_);
      return status;
    }
    if (!writer_.empty()) loop_.defer(*this);
    return status;
  }
  writer_.enqueue(post, tell_acknowledged());
  if (writer_.queued_bytes() >= write_at_bytes) {
    if (!blocked_) write_pages();
  } else {
    loop_.defer(*this);
  }
  return Status::ok;
}

Status TcpLink::inject(const Post& post) noexcept {
  return writer_.inject(fd_.get(), post, tell_acknowledged(), !blocked_ && !write_failed_);
}

void TcpLink::flush() noexcept {
  if (moves_pages() && !blocked_ && !writer_.empty()) write_pages();
}

// May be called from inside a call of the user, so it raises no events; it makes the loop raise
// them.
void TcpLink::write_pages() {
  if (write_failed_ || shut_) return;
  switch (writer_.write(fd_.get())) {
    case WriteResult::drained:
      blocked_ = false;
      if (state_ == State::finishing) shut_when_written();
      break;
    case WriteResult::blocked:
      blocked_ = true;
      break;
    case WriteResult::failed:
      write_failed_ = true;
      blocked_ = false;
      loop_.defer(*this);
      break;
  }
  update_watch();
}

void TcpLink::on_ready(std::uint32_t events) {
  if (state_ == State::greeting) {
    write_hello();
    read_hello();
    return;
  }
  if ((events & EPOLLOUT) != 0) {
    blocked_ = false;
    write_pages();
    tell_room();
    if (state_ == State::down) return;
  }
  if ((events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0) read_on();
}

bool TcpLink::poll(int) noexcept {
  if (state_ != State::up || !reading()) return false;
  const std::uint64_t before = reader_.bytes_received();
  guarded([this] { read_pages(); });
  return reader_.bytes_received() != before || state_ != State::up;
}

void TcpLink::read_on() {
  if (state_ == State::finishing) {
    discard();
  } else if (state_ == State::up) {
    read_pages();
  }
}

void TcpLink::read_pages() {
  read_pending_ = false;
  switch (reader_.read(fd_.get(), *events_, paused_, read_budget_bytes)) {
    case ReadResult::drained:
      break;
    case ReadResult::more:
      // The descriptor is still readable and tells so in the next turn.
      break;
    case ReadResult::paused:
      break;
    case ReadResult::starved:
      starved_ = true;
      reader_.starved_store().wait(*this);
      update_watch();
      break;
    case ReadResult::end:
      on_read_end(false, 0);
      break;
    case ReadResult::failed:
      on_read_end(true, reader_.error());
      break;
    case ReadResult::bad: {
      Down down = reader_.down();
      down.detail = peer_address_ + ": " + down.detail;
      go_down(std::move(down));
      break;
    }
  }
  // An event may have finished or paused the link.
  if (state_ == State::finishing) shut_when_written();
}

// After finish(): what still comes is not wanted, but must be read for the end to be seen.
void TcpLink::discard() {
  std::array<std::byte, 16384> bin;
  for (int i = 0; i < 16; ++i) {
    const ssize_t got = recv(fd_.get(), bin.data(), bin.size(), 0);
    if (got > 0) continue;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    on_read_end(got < 0, errno);
    return;
  }
}

void TcpLink::on_read_end(bool failed, int error) {
  read_ended_ = true;
  if (state_ == State::finishing && !failed) {
    // The peer has ended; what we posted is still written.
    if (shut_ || write_failed_) {
      go_down({DownReason::closed_by_peer, peer_address_ + " ended in order"});
    } else {
      shut_when_written();
      update_watch();
    }
    return;
  }
  if (failed) {
    go_down(down_from_errno(error));
  } else if (write_failed_) {
    go_down(down_from_errno(writer_.error()));
  } else {
    go_down(gone_silently(peer_address_, true));
  }
}

void TcpLink::on_memory() noexcept {
  if (starved_) {
    starved_ = false;
    update_watch();
    guarded([this] { read_on(); });
  }
}

// Must not be called from post() or flush(), because the owner posts from inside these events.
void TcpLink::tell_room() noexcept {
  if (state_ != State::up) return;
  if (want_writable_ && writer_.roomy()) {
    want_writable_ = false;
    events_->on_writable();
  } else if (writer_.empty()) {
    events_->on_idle();
  }
}

// The end of the turn: writes the posts, reads what a pause had left, and reports what a call found
// out.
void TcpLink::run_deferred() noexcept {
  if (lacks_memory_) return go_down(out_of_memory());
  guarded([this] { end_turn(); });
}

void TcpLink::end_turn() {
  if (state_ == State::resolving) {
    connect_to_any();
    return;
  }
  if (!watch_) {
    go_down({DownReason::resources, "cannot watch the connection to " + peer_address_});
    return;
  }
  if (!moves_pages()) return;
  if (write_failed_) {
    // Reads to the end, which tells why. A paused reader cannot; it goes down at once.
    if (paused_ || starved_) {
      go_down(down_from_errno(writer_.error()));
    } else {
      read_on();
      if (state_ != State::down && !read_ended_) go_down(down_from_errno(writer_.error()));
    }
    return;
  }
  if (!blocked_ && !writer_.empty()) write_pages();
  if (state_ == State::finishing) shut_when_written();
  if (state_ != State::down && read_pending_ && !paused_ && !starved_) read_on();
}

void TcpLink::pause(bool paused) noexcept {
  if (paused_ == paused || state_ != State::up) return;
  paused_ = paused;
  if (!paused) {
    read_pending_ = true;
    loop_.defer(*this);
  }
  update_watch();
}

void TcpLink::finish() noexcept {
  if (state_ != State::up) return;
  state_ = State::finishing;
  paused_ = false;
  if (starved_) {
    starved_ = false;
    stop_waiting();
  }
  loop_.defer(*this);
  update_watch();
}

// May run inside a call of the user's; the end itself is told by a read or the deferred turn.
void TcpLink::shut_when_written() {
  if (shut_ || !writer_.empty()) return;
  shut_ = true;
  (void)shutdown(fd_.get(), SHUT_WR);
  if (read_ended_) go_down({DownReason::closed_by_peer, peer_address_ + " ended in order"});
}

void TcpLink::update_watch() noexcept {
  if (!watch_) return;
  std::uint32_t events = 0;
  if (!read_ended_ && !starved_ && !paused_) events |= EPOLLIN;
  if (blocked_ || (state_ == State::greeting && hello_out_done_ < hello_out_.size())) {
    events |= EPOLLOUT;
  }
  try {
    watch_->set_events(events);
  } catch (const std::exception&) {
    watch_.reset();
    loop_.defer(*this);  // run_deferred finds no watch, and goes down
  }
}

}  // namespace netio::detail
