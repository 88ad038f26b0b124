#include "systems/raw/shm/meeting.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "worker/unix_name.hpp"

namespace netio::bench::raw::shm {

namespace {

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {
    if (fd_ < 0) fail("socket");
  }
  ~Socket() { close(fd_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  [[nodiscard]] int get() const noexcept { return fd_; }

  template <std::size_t count>
  void pass(const std::array<int, count>& fds) const {
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof fds)> control{};
    msghdr message{};
    std::byte nothing{};
    iovec part{&nothing, 1};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fds);
    std::memcpy(CMSG_DATA(head), fds.data(), sizeof fds);
    if (sendmsg(fd_, &message, MSG_NOSIGNAL) < 0) fail("sendmsg");
  }
  template <std::size_t count>
  [[nodiscard]] std::array<int, count> take() const {
    std::array<int, count> fds{};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof fds)> control{};
    msghdr message{};
    std::byte nothing{};
    iovec part{&nothing, 1};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    if (recvmsg(fd_, &message, MSG_CMSG_CLOEXEC) < 0) fail("recvmsg");
    const cmsghdr* const head = CMSG_FIRSTHDR(&message);
    if (head == nullptr || head->cmsg_len != CMSG_LEN(sizeof fds)) {
      throw std::runtime_error("the other end is gone");
    }
    std::memcpy(fds.data(), CMSG_DATA(head), sizeof fds);
    return fds;
  }

 private:
  int fd_;
};

std::string whole(const std::string& name) { return "netio-bench-raw/" + name; }

}  // namespace

Listener::Listener(const std::string& name) : fd_(listen_at_name(whole(name))) {}

Listener::~Listener() { close(fd_); }

std::vector<Peer> Listener::accept(std::size_t count, const Bell& ours,
                                   const StopEvent& stop) const {
  std::vector<Peer> peers;
  while (peers.size() < count) {
    std::array<pollfd, 2> both = {{{fd_, POLLIN, 0}, {stop.fd(), POLLIN, 0}}};
    if (poll(both.data(), both.size(), -1) < 0 && errno != EINTR) fail("poll");
    if (both[1].revents != 0) break;
    if (both[0].revents == 0) continue;
    const Socket socket(accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC));
    const auto [memory, bell] = socket.take<2>();
    socket.pass(std::array{ours.fd()});
    peers.push_back({Memory::of(memory), Bell(bell)});
  }
  return peers;
}

Peer connect_to(const std::string& name, std::size_t ring_bytes, const Bell& ours) {
  const Socket socket(connect_to_name(whole(name)));
  Memory memory(ring_bytes);
  socket.pass(std::array{memory.fd(), ours.fd()});
  const auto [bell] = socket.take<1>();
  return {std::move(memory), Bell(bell)};
}

}  // namespace netio::bench::raw::shm
