// Sends without end over one connection or many: whole pages of messages, or each by itself.
#include <algorithm>
#include <cerrno>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

#include "systems/raw/raw.hpp"
#include "systems/raw/tcp.hpp"

namespace netio::bench::raw {

namespace {

class Connection {
 public:
  Connection(const Options& options, std::uint32_t number)
      : stamp_(number, options.verify),
        message_(options.message_bytes),
        fd_(connect_to(options.host, options.port)) {
    const std::size_t frame = length_bytes + options.message_bytes;
    gathers_ = frame <= page_bytes;
    per_page_ = options.buffered ? page_bytes / frame : 1;
    page_.resize(gathers_ ? per_page_ * frame : length_bytes);
  }
  Connection(Connection&&) = default;

  [[nodiscard]] int fd() const noexcept { return fd_; }

  // Sends a page, or the rest of one. False if the kernel takes no more.
  bool push() {
    if (left_ == 0) fill();
    std::array<iovec, 2> parts{};
    std::size_t count = 0;
    const std::size_t done = page_.size() + (gathers_ ? 0 : message_.size()) - left_;
    if (done < page_.size()) parts[count++] = {page_.data() + done, page_.size() - done};
    if (!gathers_) {
      const std::size_t body = done > page_.size() ? done - page_.size() : 0;
      parts[count++] = {message_.data() + body, message_.size() - body};
    }
    msghdr header{};
    header.msg_iov = parts.data();
    header.msg_iovlen = count;
    const ssize_t sent = sendmsg(fd_, &header, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EAGAIN || errno == EINTR) return false;
      fail("send");
    }
    left_ -= static_cast<std::size_t>(sent);
    return left_ == 0;
  }

 private:
  void fill() noexcept {
    std::byte* at = page_.data();
    if (gathers_) {
      for (std::size_t i = 0; i < per_page_; ++i) {
        stamp_.write(message_);
        stamp_.advance();
        write_length(at, message_.size());
        std::memcpy(at + length_bytes, message_.data(), message_.size());
        at += length_bytes + message_.size();
      }
      left_ = page_.size();
    } else {
      stamp_.write(message_);
      stamp_.advance();
      write_length(at, message_.size());
      left_ = page_.size() + message_.size();
    }
  }

  Stamp stamp_;
  std::vector<std::byte> message_;
  std::vector<std::byte> page_;  // of frames; or the length of the message, which is not copied
  bool gathers_ = true;
  std::size_t per_page_ = 1;
  std::size_t left_ = 0;
  int fd_;
};

}  // namespace

void send(Worker& worker) {
  const StopEvent stop;
  worker.on_stop([&stop] { stop.tell(); });
  const Options& options = worker.options;
  std::vector<Connection> connections;
  connections.reserve(options.connections);
  for (std::uint32_t i = 0; i < options.connections; ++i) {
    connections.emplace_back(options, options.connection_first + i);
  }
  worker.ready();
  Epoll epoll(options.idle ? Wait::sleep : options.wait);
  epoll.add(stop.fd(), EPOLLIN, connections.size());
  if (!options.idle) {
    for (std::size_t i = 0; i < connections.size(); ++i) {
      epoll.add(connections[i].fd(), EPOLLOUT, i);
    }
  }
  // Alone, a connection is served until it blocks; beside others, a page in turn.
  const int pages_in_turn = connections.size() == 1 ? 64 : 1;
  while (!worker.stopping()) {
    for (const epoll_event& event : epoll.wait()) {
      if (event.data.u64 == connections.size()) continue;
      for (int i = 0; i < pages_in_turn && connections[event.data.u64].push(); ++i) {
      }
    }
  }
  worker.join();
}

}  // namespace netio::bench::raw
