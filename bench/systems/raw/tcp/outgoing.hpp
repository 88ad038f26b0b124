// The sending end of a connection: whole pages of messages, or each by itself.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/socket.h>
#include <sys/uio.h>
#include <vector>

#include "systems/raw/tcp/sockets.hpp"
#include "systems/raw/tcp/tcp.hpp"

namespace netio::bench::raw::tcp {

// What the messages are put into: one page for all connections, which stays in the cache. Large
// ones are sent from where they are, each connection's from its own.
struct Page {
  explicit Page(const Options& options) : message(options.message_bytes) {
    const std::size_t frame = length_bytes + options.message_bytes;
    gathers = frame <= gathered_bytes_max;
    per_page = (options.connections > 1 ? crowd_page_bytes : page_bytes) / frame;
    if (!options.buffered) per_page = 1;
    bytes.resize(gathers ? per_page * frame : length_bytes);
  }

  bool gathers = true;  // else `bytes` is the length of the message, which is not copied
  std::size_t per_page = 1;
  std::vector<std::byte> message;
  std::vector<std::byte> bytes;
};

// One connection, and what is left of the page that it sends.
class Outgoing {
 public:
  Outgoing(const Options& options, std::uint32_t number)
      : stamp_(number, options.verify), fd_(connect_to(options.host, options.port)) {}

  [[nodiscard]] int fd() const noexcept { return fd_; }

  // Sends a page, or the rest of one. False if the kernel takes no more.
  bool push(Page& page) {
    if (!page.gathers) return push_large(page);
    if (!rest_.empty()) return push_rest();
    fill(page);
    iovec part = {page.bytes.data(), page.bytes.size()};
    const std::size_t sent = send(&part, 1);
    rest_.assign(page.bytes.begin() + static_cast<std::ptrdiff_t>(sent), page.bytes.end());
    return rest_.empty();
  }

 private:
  void fill(Page& page) noexcept {
    std::byte* at = page.bytes.data();
    for (std::size_t i = 0; i < page.per_page || !page.gathers; ++i) {
      write_length(at, page.message.size());
      std::span<std::byte> to = page.message;
      if (page.gathers) {
        // Copied first: what is copied right after a word of it was stored waits for that store.
        to = {at + length_bytes, page.message.size()};
        std::memcpy(to.data(), page.message.data(), to.size());
      }
      stamp_.write(to);
      stamp_.advance();
      if (!page.gathers) return;
      at += length_bytes + page.message.size();
    }
  }

  std::size_t send(iovec* parts, std::size_t count) const {
    msghdr header{};
    header.msg_iov = parts;
    header.msg_iovlen = count;
    const ssize_t sent = sendmsg(fd_, &header, MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno != EAGAIN && errno != EINTR) fail("send");
    return 0;
  }

  bool push_large(Page& page) {
    const std::size_t head = page.bytes.size();
    if (large_left_ == 0) {
      fill(page);
      large_left_ = head + page.message.size();
    }
    const std::size_t done = head + page.message.size() - large_left_;
    const std::size_t of_head = std::min(done, head);
    std::array<iovec, 2> parts = {
        {{page.bytes.data() + of_head, head - of_head},
         {page.message.data() + (done - of_head), page.message.size() - (done - of_head)}}};
    large_left_ -= send(parts.data(), parts.size());
    return large_left_ == 0;
  }

  bool push_rest() {
    iovec part = {rest_.data() + rest_done_, rest_.size() - rest_done_};
    rest_done_ += send(&part, 1);
    if (rest_done_ < rest_.size()) return false;
    rest_.clear();
    rest_done_ = 0;
    return true;
  }

  Stamp stamp_;
  std::vector<std::byte> rest_;
  std::size_t rest_done_ = 0;
  std::size_t large_left_ = 0;
  int fd_;
};

// A connection is served until it blocks, or has sent about a megabyte.
inline constexpr int pages_in_turn = 4;

}  // namespace netio::bench::raw::tcp
