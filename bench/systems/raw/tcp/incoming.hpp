// The receiving end of a connection: many messages a read; a large one straight into its place.
// A tally is what has take(message).
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/uio.h>
#include <vector>

#include "systems/raw/tcp/page_aligned.hpp"
#include "systems/raw/tcp/sockets.hpp"
#include "systems/raw/tcp/tcp.hpp"

namespace netio::bench::raw::tcp {

inline constexpr std::size_t read_bytes = 256U << 10U;

// All connections read into one buffer, which stays in the cache; each keeps what was cut off.
class Gathered {
 public:
  // False at the end of the connection.
  template <typename Tally>
  bool read(int fd, std::vector<std::byte>& rest, Tally& tally) {
    std::byte* const read_to = buffer_.data() + rest_bytes_max;
    const ssize_t got = recv(fd, read_to, buffer_.size() - rest_bytes_max, 0);
    if (got == 0) return false;
    if (got < 0) {
      if (errno == EAGAIN || errno == EINTR) return true;
      fail("recv");
    }
    const std::byte* at = read_to - rest.size();
    std::copy(rest.begin(), rest.end(), read_to - rest.size());
    const std::byte* const end = read_to + got;
    while (static_cast<std::size_t>(end - at) >= length_bytes) {
      const std::uint64_t length = read_length(at);
      if (length > gathered_bytes_max)
        throw std::runtime_error("a message of an impossible size came");
      if (static_cast<std::size_t>(end - at) < length_bytes + length) break;
      tally.take({at + length_bytes, static_cast<std::size_t>(length)});
      at += length_bytes + length;
    }
    rest.assign(at, end);
    return true;
  }

 private:
  // What was cut off is less than a message with its length.
  static constexpr std::size_t rest_bytes_max = gathered_bytes_max + PageAligned::page;
  PageAligned buffer_{rest_bytes_max + read_bytes};
};

// One connection, and what has come of a message.
class Incoming {
 public:
  Incoming(int fd, const Options& options) : fd_(fd) {
    large_ = length_bytes + options.message_bytes > gathered_bytes_max;
    if (large_) message_ = PageAligned(options.message_bytes, length_bytes);
  }
  [[nodiscard]] int fd() const noexcept { return fd_; }

  // Once. False at the end.
  template <typename Tally>
  bool read(Gathered& gathered, Tally& tally) {
    return large_ ? read_large(tally) : gathered.read(fd_, rest_, tally);
  }

 private:
  // The rest of the message, and with it the length of the next.
  template <typename Tally>
  bool read_large(Tally& tally) {
    std::array<iovec, 2> parts{};
    std::size_t count = 0;
    if (have_ < length_bytes) {
      parts[count++] = {length_.data() + have_, length_bytes - have_};
    } else {
      const std::size_t body = have_ - length_bytes;
      parts[count++] = {message_.data() + body, message_.size() - body};
      parts[count++] = {next_length_.data(), length_bytes};
    }
    msghdr header{};
    header.msg_iov = parts.data();
    header.msg_iovlen = count;
    const ssize_t got = recvmsg(fd_, &header, 0);
    if (got == 0) return false;
    if (got < 0) {
      if (errno == EAGAIN || errno == EINTR) return true;
      fail("recv");
    }
    have_ += static_cast<std::size_t>(got);
    if (have_ >= length_bytes && have_ == static_cast<std::size_t>(got)) check_length();
    if (have_ >= length_bytes + message_.size()) {
      tally.take(message_.bytes());
      have_ -= length_bytes + message_.size();
      length_ = next_length_;
      if (have_ == length_bytes) check_length();
    }
    return true;
  }
  void check_length() const {
    if (read_length(length_.data()) != message_.size()) {
      throw std::runtime_error("a message of another size came");
    }
  }

  int fd_;
  bool large_ = false;
  std::vector<std::byte> rest_;
  std::array<std::byte, length_bytes> length_{};
  std::array<std::byte, length_bytes> next_length_{};
  PageAligned message_;
  std::size_t have_ = 0;  // of length and message
};

}  // namespace netio::bench::raw::tcp
