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
class ErrorStream {
 public:
  ErrorStream() noexcept {
    struct stat status {};
    if (::fstat(STDERR_FILENO, &status) != 0) return;
    socket_ = S_ISSOCK(status.st_mode);
    if (!S_ISFIFO(status.st_mode) && ::isatty(STDERR_FILENO) == 0) return;
    const int own = ::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (own >= 0) fd_ = own;
  }

  // Returns what found no room. A pipe takes up to PIPE_BUF bytes at once, whole or not at all;
  // terminals and sockets may take a part of them.
  [[nodiscard]] std::string_view write(std::string_view text) const noexcept {
    while (!text.empty()) {
      const std::size_t bytes = std::min<std::size_t>(text.size(), PIPE_BUF);
      const ssize_t written = write_some(text.substr(0, bytes));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return text;
      // What fails for good is done with: nobody will ever read it.
      if (written < 0) return {};
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
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

ErrorStream& outlet() noexcept {
  static ErrorStream one;
  return one;
}

std::uint64_t lines_unsaid = 0;

std::uint64_t lines_in(std::string_view text) noexcept {
  return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

// Of a line that was cut off, the rest is not there: what comes next begins a line of its own.
bool line_is_cut_off = false;

std::string with_what_was_left_out(std::string_view text) {
  return fmt::format("{}netio: {} {} left out here: nobody read standard error\n{}",
                     line_is_cut_off ? "\n" : "", lines_unsaid,
                     lines_unsaid == 1 ? "line was" : "lines were", text);
}

// Tries until `give_up`, and once at least. What was left out before is said first, in one piece
// with what comes behind it.
void say_until(std::chrono::steady_clock::time_point give_up, std::string_view text) noexcept {
  std::string both;
  try {
    if (lines_unsaid != 0) both = with_what_was_left_out(text);
  } catch (...) {
    both.clear();
  }
  const std::string_view whole = both.empty() ? text : both;
  std::string_view rest = whole;
  for (;;) {
    rest = outlet().write(rest);
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(give_up - std::chrono::steady_clock::now());
    if (rest.empty() || left.count() <= 0) break;
    outlet().wait(left);
  }
  if (rest.size() != whole.size()) {
    if (!both.empty()) lines_unsaid = 0;
    const std::string_view said = whole.substr(0, whole.size() - rest.size());
    line_is_cut_off = !rest.empty() && said.back() != '\n';
  }
  lines_unsaid += lines_in(rest.size() == whole.size() ? text : rest);
}

}  // namespace

void say_text(std::string_view text) noexcept { say_until({}, text); }

void say_at_the_end(std::string_view text) noexcept {
  say_until(std::chrono::steady_clock::now() + patience, text);
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
