// A tcp link's greeting: the connecting side's hello, then the accepting side's. Never reads a byte
// beyond the peer's hello, so that pages begin where a page is expected.
#include <algorithm>
#include <cerrno>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "transport/tcp/link.hpp"

namespace netio::detail {

namespace {
// Enough to know how long a hello is; docs/wire.md.
constexpr std::size_t hello_head_bytes = 16;
// A spinning loop asks this many links whether they have anything; each costs a system call, about
// as much as the epoll that would tell of all.
constexpr int links_polled_max = 4;
}  // namespace

void TcpLink::begin_greeting() {
  state_ = State::greeting;
  hello_in_.reserve(hello_fixed_bytes);
  if (!watch_) {
    try {
      watch_.emplace(loop_, fd_.get(), EPOLLIN,
                     [this](std::uint32_t ready) { guarded([&] { on_ready(ready); }); });
    } catch (const Error&) {
      loop_.defer(*this);  // run_deferred finds no watch and goes down
      return;
    }
  }
  if (dialed_) send_hello(events_->greet(nullptr));
  update_watch();
}

void TcpLink::send_hello(Hello hello) {
  hello.message_bytes_max = std::min(hello.message_bytes_max, largest_copied(resources_, options_));
  hello_out_.resize(hello_bytes_max);
  hello_out_.resize(encode(hello, hello_out_));
  refused_ = hello.refusal != Refusal::none;
  write_hello();
}

void TcpLink::write_hello() {
  while (hello_out_done_ < hello_out_.size()) {
    const ssize_t sent = send(fd_.get(), hello_out_.data() + hello_out_done_,
                              hello_out_.size() - hello_out_done_, MSG_NOSIGNAL);
    if (sent < 0) {
      // Anything but a full buffer shows in the next read, after what the peer had to say.
      if (errno == EINTR) continue;
      return;
    }
    hello_out_done_ += static_cast<std::size_t>(sent);
  }
}

void TcpLink::read_hello() {
  Hello theirs;
  for (;;) {
    const std::size_t want = std::max(hello_in_bytes_, hello_head_bytes);
    const std::size_t have = hello_in_.size();
    hello_in_.resize(want);
    const ssize_t got = recv(fd_.get(), hello_in_.data() + have, want - have, 0);
    const int error = errno;
    hello_in_.resize(have + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && error == EINTR) continue;
    if (got < 0 && (error == EAGAIN || error == EWOULDBLOCK)) return;
    if (got < 0) {
      go_down(down_from_errno(error));
      return;
    }
    if (got == 0) {
      go_down(gone_silently(peer_address_, false));
      return;
    }
    const HelloResult result = parse(hello_in_, theirs);
    switch (result.state) {
      case HelloParse::need_more:
        hello_in_bytes_ = result.bytes;
        break;
      case HelloParse::done:
        hello_in_ = {};
        take_hello(theirs);
        return;
      case HelloParse::foreign:
        go_down({DownReason::foreign_protocol,
                 peer_address_ + " does not speak netio: " + result.what});
        return;
      case HelloParse::defective:
        go_down(
            {DownReason::protocol_error, peer_address_ + " sent a damaged hello: " + result.what});
        return;
    }
  }
}

bool TcpLink::hear_greeting() noexcept {
  if (state_ == State::greeting && watch_) guarded([this] { read_hello(); });
  return state_ != State::greeting || !hello_in_.empty();
}

void TcpLink::take_hello(const Hello& theirs) {
  if (dialed_) {
    if (auto objection = events_->judge(theirs)) {
      go_down(std::move(*objection));
      return;
    }
    come_up(theirs);
    return;
  }
  // A peer sends nothing behind its hello before it has ours. One that has ended its side already
  // gave up while it waited to be accepted.
  std::byte next{};
  if (recv(fd_.get(), &next, 1, MSG_PEEK) == 0) {
    go_down({DownReason::handshake_timeout, peer_address_ + " gave up before it was accepted"});
    return;
  }
  send_hello(events_->greet(&theirs));
  if (!refused_) {
    come_up(theirs);
    return;
  }
  // The reason must reach the peer: shut our side, and wait for it to close (or the timer).
  shut_ = true;
  (void)shutdown(fd_.get(), SHUT_WR);
  state_ = State::finishing;
  update_watch();
}

void TcpLink::come_up(const Hello& theirs) {
  handshake_timer_.stop();
  // A peer may name any size; bodies are multiples of 8.
  const std::size_t page =
      std::min<std::size_t>(resources_.page_bytes, theirs.page_bytes_max) & ~(wire_align - 1);
  limits_.page_bytes_max = page;
  fit_ = {.pages = &resources_.send_pool, .large = &resources_.large_pool};
  fit_.borrowed_bytes_max = page - page_header_bytes - frame_prefix_bytes_max;
  fit_.reads_borrowed = true;
  limits_.queue_bytes_max = options_.queue_bytes_max;
  limits_.message_bytes_max = theirs.message_bytes_max;
  fit_.whole_page_bytes_max = whole_page_copied;
  if (chosen_) shared_.good_addresses.note(peer_address_, *chosen_);
  state_ = State::up;
  if (loop_.idle_policy() != IdlePolicy::sleep && shared_.links_polled < links_polled_max) {
    loop_.add_source(*this);
    polled_ = true;
    ++shared_.links_polled;
  }
  update_watch();
  events_->on_up(theirs);
}

}  // namespace netio::detail
