// Pages and copies to writev: see writer.hpp.
#include "transport/tcp/writer.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/point.hpp"
#include "memory/copy_thresholds.hpp"

namespace netio::detail {

namespace {

constexpr std::array<std::byte, wire_align> zeros{};

ssize_t send_some(int fd, iovec* parts, std::size_t count) noexcept {
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = count;
  ssize_t sent = 0;
  do {
    sent = sendmsg(fd, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

// iovecs are not const, though sendmsg does not write to them.
iovec part(const std::byte* data, std::size_t bytes) noexcept {
  return {const_cast<std::byte*>(data), bytes};
}

// If the first page that waits has this size or more, its first bytes are written by themselves:
// the receiver wakes up, and reads while the rest is copied. Many smaller pages go into one write.
constexpr std::size_t large_bytes = 256U << 10U;
constexpr std::size_t ahead_bytes = 16U << 10U;

// Leaves the first `bytes` of these parts, which are more, and returns that.
std::size_t shorten(iovec* parts, std::size_t& used, std::size_t bytes) noexcept {
  std::size_t left = bytes;
  std::size_t last = 0;
  for (; parts[last].iov_len < left; ++last) left -= parts[last].iov_len;
  parts[last].iov_len = left;
  used = last + 1;
  return bytes;
}

}  // namespace

std::uint32_t TcpWriter::pad_of(const Post& post) noexcept {
  return static_cast<std::uint32_t>(wire_padded(post.body.bytes) - post.body.bytes);
}

TcpWriter::Head TcpWriter::make_head(const Post& post, std::uint64_t acknowledged) noexcept {
  Head head;
  store(head.data.data(), page_header_of(post, acknowledged));
  std::memcpy(head.data.data() + page_header_bytes, post.prefix.data(), post.prefix.size());
  head.bytes = static_cast<std::uint32_t>(page_header_bytes + post.prefix_bytes);
  return head;
}

void TcpWriter::enqueue(Post& post, std::uint64_t acknowledged) noexcept {
  assert(!full());
  Entry& entry = at(count_);
  ++count_;
  entry.head = make_head(post, acknowledged);
  entry.pad = pad_of(post);
  if (post.front != nullptr) {
    entry.front = *post.front;
  } else {
    entry.front.bytes = 0;
  }
  entry.body = std::move(post.body);
  queued_bytes_ += entry.bytes();
  last_is_spill_ = false;
}

Status TcpWriter::inject(int fd, const Post& post, std::uint64_t acknowledged,
                         bool may_write) noexcept {
  assert(!full());
  const Head head = make_head(post, acknowledged);
  const std::uint32_t pad = pad_of(post);
  const std::size_t bytes = head.bytes + post.body.bytes + pad;
  assert(bytes <= pool_.block_bytes());
  Lease spill;
  if (spill_room() < bytes) {
    // Take the page before anything is written: what the kernel does not take must have a place.
    if (count_ == 0 || pool_.plenty()) spill = pool_.take();
    if (!spill && !(first_ever_ && may_write && bytes <= put_together_bytes_max))
      return Status::again;
  }
  std::size_t sent = 0;
  if (may_write && count_ == 0) {
    std::array<iovec, 3> parts{part(head.data.data(), head.bytes),
                               part(post.body.data, post.body.bytes), part(zeros.data(), pad)};
    // One plain call costs the kernel less than three parts.
    std::array<std::byte, put_together_bytes_max> together;
    const bool small = bytes <= together.size();
    std::byte* to = together.data();
    for (const iovec& each : parts) {
      if (!small) break;
      to = std::copy_n(static_cast<const std::byte*>(each.iov_base), each.iov_len, to);
    }
    NETIO_POINT(write);
    const ssize_t result = small ? ::send(fd, together.data(), bytes, MSG_NOSIGNAL)
                                 : send_some(fd, parts.data(), parts.size());
    NETIO_POINT(written);
    // An error is left for the next write() to find: the message counts as posted.
    sent = result > 0 ? static_cast<std::size_t>(result) : 0;
    first_ever_ = first_ever_ && sent == 0;
    if (sent == bytes) return Status::ok;
    if (!spill && spill_room() < bytes) {
      if (sent == 0) return Status::again;
      (void)::shutdown(fd, SHUT_RDWR);  // what is left has no place
      return Status::ok;
    }
  }
  first_ever_ = false;
  copy_behind(std::move(spill), head, post, sent);
  return Status::ok;
}

// Room behind the last entry's copies, if it is a page of copies.
std::size_t TcpWriter::spill_room() noexcept {
  if (count_ == 0 || !last_is_spill_) return 0;
  const Entry& last = at(count_ - 1);
  return last.body.lease->capacity() - last.body.bytes;
}

void TcpWriter::copy_behind(Lease spill, const Head& head, const Post& post,
                            std::size_t skip) noexcept {
  if (spill) {
    Entry& entry = at(count_);
    ++count_;
    entry.head.bytes = 0;
    entry.pad = 0;
    entry.front = {};
    entry.body.data = spill->data();
    entry.body.bytes = 0;
    entry.body.lease = std::move(spill);
    last_is_spill_ = true;
  }
  Entry& last = at(count_ - 1);
  std::byte* const begin = last.body.lease->data();
  std::byte* to = begin + last.body.bytes;
  const auto append = [&](const std::byte* data, std::size_t bytes) {
    const std::size_t skipped = std::min(skip, bytes);
    skip -= skipped;
    if (bytes == skipped) return;
    std::memcpy(to, data + skipped, bytes - skipped);
    to += bytes - skipped;
  };
  append(head.data.data(), head.bytes);
  append(post.body.data, post.body.bytes);
  append(zeros.data(), pad_of(post));
  const auto bytes = static_cast<std::size_t>(to - begin);
  queued_bytes_ += bytes - last.body.bytes;
  last.body.bytes = bytes;
}

WriteResult TcpWriter::write(int fd) noexcept {
  bool begins = first_done_ == 0 && count_ != 0 && at(0).bytes() >= large_bytes;
  while (count_ != 0) {
    std::array<iovec, iovecs_max> parts;
    std::size_t used = 0;
    std::size_t skip = first_done_;
    const auto add = [&](const std::byte* data, std::size_t bytes) {
      const std::size_t skipped = std::min(skip, bytes);
      skip -= skipped;
      if (bytes != skipped) parts[used++] = part(data + skipped, bytes - skipped);
    };
    std::size_t asked = 0;
    for (std::size_t i = 0; i < count_ && used + 4 <= iovecs_max; ++i) {
      const Entry& entry = at(i);
      add(entry.head.data.data(), entry.head.bytes);
      add(entry.front.data, entry.front.bytes);
      add(entry.body.data, entry.body.bytes);
      add(zeros.data(), entry.pad);
      asked += entry.bytes();
    }
    asked -= first_done_;
    if (begins) asked = shorten(parts.data(), used, ahead_bytes);
    begins = false;
    NETIO_POINT(write);
    const ssize_t sent = send_some(fd, parts.data(), used);
    NETIO_POINT(written);
    if (sent < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return WriteResult::blocked;
      error_ = errno;
      return WriteResult::failed;
    }
    took(static_cast<std::size_t>(sent));
    // The kernel took less than it was given: its buffer is full, asking again is in vain.
    if (static_cast<std::size_t>(sent) < asked) return WriteResult::blocked;
  }
  return WriteResult::drained;
}

void TcpWriter::drop(Entry& entry) noexcept {
  entry.front.lease.reset();
  entry.body.lease.reset();
}

void TcpWriter::clear() noexcept {
  for (; count_ != 0; --count_) drop(at(count_ - 1));
  queued_bytes_ = 0;
  last_is_spill_ = false;
}

// Entries are written in order: the memory is free once the last entry that lies in it is written.
Holding TcpWriter::holding(const StorePart& of) const noexcept {
  Holding held{0, written_bytes_};
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    bytes += at(i).bytes();
    if (of.has(at(i).body.lease) || of.has(at(i).front.lease)) held.left = bytes - first_done_;
  }
  return held;
}

void TcpWriter::took(std::size_t bytes) noexcept {
  written_bytes_ += bytes;
  queued_bytes_ -= bytes;
  bytes += first_done_;
  while (count_ != 0 && bytes >= at(0).bytes()) {
    bytes -= at(0).bytes();
    drop(at(0));
    first_ = (first_ + 1) % entries_max;
    --count_;
  }
  first_done_ = bytes;
  if (count_ == 0) last_is_spill_ = false;
}

}  // namespace netio::detail
