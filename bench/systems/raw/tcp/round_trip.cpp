// Requests and replies over one connection: a send and a receive each, and a wait between them.
#include <cerrno>
#include <stdexcept>
#include <sys/socket.h>
#include <vector>

#include "systems/raw/tcp/page_aligned.hpp"
#include "systems/raw/tcp/sockets.hpp"
#include "systems/raw/tcp/tcp.hpp"

namespace netio::bench::raw::tcp {

namespace {

// Whole messages both ways on a connection that is never full: requests are few at a time.
class Line {
 public:
  Line(int fd, std::size_t message_bytes)
      : fd_(fd),
        message_bytes_(message_bytes),
        in_(messages_max * (length_bytes + message_bytes)),
        out_(length_bytes + message_bytes) {}
  [[nodiscard]] int fd() const noexcept { return fd_; }

  void send(std::span<const std::byte> message) {
    write_length(out_.data(), message.size());
    std::memcpy(out_.data() + length_bytes, message.data(), message.size());
    for (std::size_t done = 0; done < out_.size();) {
      const ssize_t sent = ::send(fd_, out_.data() + done, out_.size() - done, MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN && errno != EINTR) fail("send");
      if (sent > 0) done += static_cast<std::size_t>(sent);
    }
  }

  // Reads once; calls `take` for each message that is whole. False at the end.
  template <typename Take>
  bool read(Take&& take) {
    const ssize_t got = recv(fd_, in_.data() + have_, in_.size() - have_, 0);
    if (got == 0) return false;
    if (got < 0) {
      if (errno == EAGAIN || errno == EINTR) return true;
      fail("recv");
    }
    have_ += static_cast<std::size_t>(got);
    std::size_t at = 0;
    for (; have_ - at >= out_.size(); at += out_.size()) {
      if (read_length(in_.data() + at) != message_bytes_) {
        throw std::runtime_error("a message of another size came");
      }
      take(in_.bytes().subspan(at + length_bytes, message_bytes_));
    }
    if (at != 0) std::memmove(in_.data(), in_.data() + at, have_ - at);
    have_ -= at;
    return true;
  }

 private:
  static constexpr std::size_t messages_max = 16;

  int fd_;
  std::size_t message_bytes_;
  PageAligned in_;
  std::vector<std::byte> out_;
  std::size_t have_ = 0;
};

}  // namespace

void reply(Worker& worker) {
  const StopEvent stop;
  worker.on_stop([&stop] { stop.tell(); });
  const int listener = listen_at(worker.options.host, worker.options.port);
  worker.ready(port_of(listener));
  const int fd = accept_one(listener, stop.fd());
  if (fd >= 0) {
    Line line(fd, worker.options.message_bytes);
    Epoll epoll(worker.options.wait);
    epoll.add(fd, EPOLLIN, 0);
    epoll.add(stop.fd(), EPOLLIN, 1);
    const bool spins = worker.options.wait == Wait::spin;
    const auto answer = [&](std::span<const std::byte> message) {
      worker.tally.take(message);
      line.send(message);
    };
    bool open = true;
    while (open && !worker.stopping()) {
      if (!spins) (void)epoll.wait();
      open = line.read(answer);
    }
  }
  worker.join();
}

void request(Worker& worker) {
  const Options& options = worker.options;
  const StopEvent stop;
  worker.on_stop([&stop] { stop.tell(); });
  Line line(connect_to(options.host, options.port), options.message_bytes);
  worker.ready();
  const TimerDescriptor timer;
  Epoll epoll(options.wait);
  epoll.add(line.fd(), EPOLLIN, 0);
  epoll.add(stop.fd(), EPOLLIN, 1);
  epoll.add(timer.fd(), EPOLLIN, 2);
  const bool spins = options.wait == Wait::spin;
  Stamp stamp(0, options.verify);
  std::vector<std::byte> message(options.message_bytes);
  const Pace pace(options.rate);
  std::uint64_t sent = 0;
  std::uint64_t returned = 0;
  std::int64_t sent_at = 0;
  const auto send_one = [&] {
    stamp.write(message);
    stamp.advance();
    ++sent;
    line.send(message);
  };
  const auto take = [&](std::span<const std::byte> back) {
    const std::int64_t now = now_ns();
    worker.tally.take(back);
    worker.round_trip(now - (pace.open_loop() ? pace.at(returned) : sent_at));
    ++returned;
  };
  while (!worker.stopping()) {
    if (pace.open_loop()) {
      while (pace.at(sent) <= now_ns() && sent - returned < Worker::requests_under_way_max) {
        send_one();
      }
      if (!spins) timer.set(pace.at(sent));
    } else if (sent == returned) {
      sent_at = now_ns();
      send_one();
    }
    if (!spins) (void)epoll.wait();
    if (!line.read(take)) throw std::runtime_error("the other end is gone");
  }
  worker.join();
}

}  // namespace netio::bench::raw::tcp
