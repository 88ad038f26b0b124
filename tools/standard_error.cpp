#include "standard_error.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace netio::cli {

namespace {

constexpr std::chrono::seconds patience{1};

// Standard error without waiting for its reader. The descriptor is shared with other programs, for
// which it must go on waiting: of pipes and terminals a description of our own is opened that does
// not wait, and where that is refused poll(2) is asked before each write.
class Outlet {
 public:
  Outlet() noexcept {
    struct stat status {};
    if (::fstat(STDERR_FILENO, &status) != 0) return;
    socket_ = S_ISSOCK(status.st_mode);
    if (!S_ISFIFO(status.st_mode) && ::isatty(STDERR_FILENO) == 0) return;
    const int own = ::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (own >= 0) fd_ = own;
  }

  // What does not block takes up to PIPE_BUF bytes at once, whole or not at all.
  [[nodiscard]] bool write(std::string_view text) noexcept {
    while (!text.empty()) {
      const std::size_t bytes = std::min<std::size_t>(text.size(), PIPE_BUF);
      const ssize_t written = write_some(text.substr(0, bytes));
      if (written < 0 && errno == EINTR) continue;
      // What fails for good is done with: nobody will ever read it.
      if (written < 0) return errno != EAGAIN && errno != EWOULDBLOCK;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
  }

  void wait(std::chrono::milliseconds at_most) const noexcept {
    pollfd room{fd_, POLLOUT, 0};
    (void)::poll(&room, 1, static_cast<int>(at_most.count()));
  }

 private:
  [[nodiscard]] ssize_t write_some(std::string_view text) const noexcept {
    if (socket_) return ::send(fd_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    pollfd room{fd_, POLLOUT, 0};
    if (fd_ == STDERR_FILENO && ::poll(&room, 1, 0) == 0) {
      errno = EAGAIN;
      return -1;
    }
    return ::write(fd_, text.data(), text.size());
  }

  int fd_ = STDERR_FILENO;
  bool socket_ = false;
};

Outlet& outlet() noexcept {
  static Outlet one;
  return one;
}

std::uint64_t lines_unsaid = 0;

std::uint64_t lines_in(std::string_view text) noexcept {
  return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

// What was left out is said first, in one piece with what comes behind it.
bool try_to_say(std::string_view text) noexcept {
  if (lines_unsaid == 0) return outlet().write(text);
  try {
    const std::string both =
        fmt::format("netio: {} {} left out here: nobody read standard error\n{}", lines_unsaid,
                    lines_unsaid == 1 ? "line was" : "lines were", text);
    if (!outlet().write(both)) return false;
  } catch (...) {
    return false;
  }
  lines_unsaid = 0;
  return true;
}

}  // namespace

void say_text(std::string_view text) noexcept {
  if (!try_to_say(text)) lines_unsaid += lines_in(text);
}

void say_at_the_end(std::string_view text) noexcept {
  using Clock = std::chrono::steady_clock;
  const auto give_up = Clock::now() + patience;
  while (!try_to_say(text)) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(give_up - Clock::now());
    if (left.count() <= 0) {
      lines_unsaid += lines_in(text);
      return;
    }
    outlet().wait(left);
  }
}

void say_error(std::string_view who, std::string_view cause, std::string_view advice) noexcept {
  try {
    std::string text = fmt::format("{}: error: {}\n", who, cause);
    if (!advice.empty()) text += fmt::format("  {}\n", advice);
    say_at_the_end(text);
  } catch (...) {
    say_at_the_end("out of memory for an error\n");
  }
}

// Opened the wrong way round: reading and writing fail as they would with a closed descriptor.
void occupy_standard_descriptors() noexcept {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // the lowest that is free
  }
}

}  // namespace netio::cli
