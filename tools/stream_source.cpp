#include "stream_source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include <netio/status.hpp>

#include "exit_code.hpp"

namespace netio::cli {

StreamSource::StreamSource(Descriptor descriptor, std::string name, const Framer& framer,
                           Loop& loop, std::function<void()> on_ready)
    : descriptor_(std::move(descriptor)),
      name_(std::move(name)),
      framer_(framer),
      on_ready_(std::move(on_ready)) {
  // Fewer, larger reads where the system grants it.
  ::fcntl(descriptor_.get(), F_SETPIPE_SZ, static_cast<int>(read_bytes));
  try {
    watch_ = std::make_unique<Watch>(loop, descriptor_.get(), EPOLLIN, [this](std::uint32_t) {
      ready_ = true;
      watch_->set_events(0);
      on_ready_();
    });
    watch_->set_events(0);  // Until input is wanted.
  } catch (const Error&) {
    watch_.reset();  // A file or /dev/null: reads never wait for anybody.
  }
}

Turn StreamSource::send_some(Outlet& outlet, Allowance allowance) {
  std::uint64_t messages_left = std::min(allowance.messages, turn_messages_max);
  std::uint64_t bytes_left = std::min(allowance.bytes, turn_bytes_max);
  unsigned reads_left = reads_per_turn;
  while (messages_left > 0 && bytes_left > 0) {
    const Cut cut = framer_.cut(window(), at_end_);
    if (cut.kind == Cut::Kind::more) {
      if (watch_ != nullptr && !ready_) {
        watch_->set_events(EPOLLIN);
        return Turn::waiting;
      }
      if (reads_left-- == 0) return Turn::more;
      read_some(cut.bytes);
      continue;
    }
    if (cut.kind != Cut::Kind::record) {
      end_with(framer_.defect());
      return Turn::end;
    }
    const Status status = outlet.send(window().first(cut.bytes));
    if (status != Status::ok) return not_taken(status, cut.bytes);
    begin_ += cut.bytes;
    framer_.take(cut.bytes);
    count(cut.bytes);
    --messages_left;
    bytes_left -= std::min<std::uint64_t>(bytes_left, cut.bytes);
  }
  return Turn::more;
}

void StreamSource::read_some(std::size_t window_bytes) {
  make_room(std::max(window_bytes - (end_ - begin_), read_bytes));
  const ssize_t got = ::read(descriptor_.get(), buffer_.get() + end_, buffer_bytes_ - end_);
  // A second read might block, whatever the first one brought.
  ready_ = false;
  if (got > 0) {
    end_ += static_cast<std::size_t>(got);
  } else if (got == 0) {
    at_end_ = true;
  } else if (errno != EINTR && errno != EAGAIN) {
    throw Failure(fmt::format("cannot read {}: {}", name_, std::strerror(errno)));
  }
}

void StreamSource::make_room(std::size_t bytes) {
  if (begin_ == end_) begin_ = end_ = 0;
  if (buffer_bytes_ - end_ >= bytes) return;
  const std::size_t held = end_ - begin_;
  if (buffer_bytes_ - held >= bytes && held <= buffer_bytes_ / 2) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, held);
  } else {
    const std::size_t grown = std::max(held + bytes, 2 * buffer_bytes_);
    auto larger = std::make_unique_for_overwrite<std::byte[]>(grown);
    if (held != 0) std::memcpy(larger.get(), buffer_.get() + begin_, held);
    buffer_ = std::move(larger);
    buffer_bytes_ = grown;
  }
  begin_ = 0;
  end_ = held;
}

}  // namespace netio::cli
