// Receives from one connection or many: many messages a read; a large one straight into its place.
#include <algorithm>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

#include "systems/raw/tcp/sockets.hpp"
#include "systems/raw/tcp/tcp.hpp"

namespace netio::bench::raw::tcp {

namespace {

constexpr std::size_t read_bytes = 256U << 10U;

// All connections read into one buffer, which stays in the cache; each keeps what was cut off.
class Gathered {
 public:
  // False at the end of the connection.
  bool read(int fd, std::vector<std::byte>& rest, Tally& tally) {
    std::copy(rest.begin(), rest.end(), buffer_.begin());
    const ssize_t got = recv(fd, buffer_.data() + rest.size(), buffer_.size() - rest.size(), 0);
    if (got == 0) return false;
    if (got < 0) {
      if (errno == EAGAIN || errno == EINTR) return true;
      fail("recv");
    }
    const std::byte* at = buffer_.data();
    const std::byte* const end = at + rest.size() + got;
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
  std::vector<std::byte> buffer_ = std::vector<std::byte>(read_bytes + gathered_bytes_max);
};

class Connection {
 public:
  Connection(int fd, const Options& options) : fd_(fd) {
    large_ = length_bytes + options.message_bytes > gathered_bytes_max;
    if (large_) message_.resize(options.message_bytes);
  }
  [[nodiscard]] int fd() const noexcept { return fd_; }

  bool read(Gathered& gathered, Tally& tally) {
    return large_ ? read_large(tally) : gathered.read(fd_, rest_, tally);
  }

 private:
  // The rest of the message, and with it the length of the next.
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
      tally.take(message_);
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
  std::vector<std::byte> message_;
  std::size_t have_ = 0;  // of length and message
};

}  // namespace

void receive(Worker& worker) {
  const Options& options = worker.options;
  const StopEvent stop;
  worker.on_stop([&stop] { stop.tell(); });
  const int listener = listen_at(options.host, options.port);
  worker.ready(port_of(listener));
  Epoll epoll(options.idle ? Wait::sleep : options.wait);
  constexpr std::uint64_t listener_key = ~std::uint64_t{0};
  constexpr std::uint64_t stop_key = listener_key - 1;
  epoll.add(listener, EPOLLIN, listener_key);
  epoll.add(stop.fd(), EPOLLIN, stop_key);
  std::vector<std::unique_ptr<Connection>> connections;
  Gathered gathered;
  while (!worker.stopping()) {
    for (const epoll_event& event : epoll.wait()) {
      if (event.data.u64 == stop_key) continue;
      if (event.data.u64 == listener_key) {
        const int fd = accept_one(listener, stop.fd());
        if (fd < 0) continue;
        epoll.add(fd, EPOLLIN, connections.size());
        connections.push_back(std::make_unique<Connection>(fd, options));
        continue;
      }
      Connection& connection = *connections[event.data.u64];
      if (!connection.read(gathered, worker.tally)) epoll.remove(connection.fd());
    }
  }
  worker.join();
}

}  // namespace netio::bench::raw::tcp
