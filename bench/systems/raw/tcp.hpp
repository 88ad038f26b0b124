// The sockets of the floor: non-blocking TCP and epoll, and nothing between them and the messages
// but an 8-byte length in front of each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <sys/epoll.h>

#include "worker/options.hpp"

namespace netio::bench::raw {

inline constexpr std::size_t length_bytes = 8;

inline void write_length(std::byte* at, std::size_t bytes) noexcept {
  const std::uint64_t length = bytes;
  std::memcpy(at, &length, sizeof length);
}
[[nodiscard]] inline std::uint64_t read_length(const std::byte* at) noexcept {
  std::uint64_t length = 0;
  std::memcpy(&length, at, sizeof length);
  return length;
}

// Throws std::system_error.
[[noreturn]] void fail(const char* what);
int listen_at(const std::string& host, std::uint16_t port);
[[nodiscard]] std::uint16_t port_of(int fd);
int connect_to(const std::string& host, std::uint16_t port);
// Waits for it, then makes it non-blocking. -1 if `stop` was told first.
int accept_one(int listener, int stop);

// An eventfd that a worker's control thread writes to.
class StopEvent {
 public:
  StopEvent();
  ~StopEvent();
  StopEvent(const StopEvent&) = delete;
  StopEvent& operator=(const StopEvent&) = delete;
  void tell() const noexcept;
  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  int fd_;
};

// Level-triggered. Sleeps or spins as asked.
class Epoll {
 public:
  explicit Epoll(Wait wait);
  ~Epoll();
  Epoll(const Epoll&) = delete;
  Epoll& operator=(const Epoll&) = delete;
  void add(int fd, std::uint32_t events, std::uint64_t key) const;
  void change(int fd, std::uint32_t events, std::uint64_t key) const;
  void remove(int fd) const noexcept;
  [[nodiscard]] std::span<const epoll_event> wait() noexcept;

 private:
  int fd_;
  int timeout_ms_;
  std::array<epoll_event, 256> ready_;
};

}  // namespace netio::bench::raw
