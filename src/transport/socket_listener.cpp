// accept4, and what to do when it finds no descriptor: a socket that is ready and cannot be served
// must not be watched, or the loop would spin.
#include "transport/socket_listener.hpp"

#include <cerrno>
#include <chrono>
#include <exception>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <utility>

#include <netio/status.hpp>

#include "base/out_of_memory.hpp"
#include "base/system_error.hpp"

namespace netio::detail {

namespace {

// Connections taken in one go before other descriptors get their turn.
constexpr int accepts_per_turn = 64;
// Other sockets and other parts of the program free descriptors too, and do not tell.
constexpr std::chrono::milliseconds retry_after{100};

bool lacks_resources(int error) noexcept {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

const char* why_exhausted(int error) noexcept {
  if (error == EMFILE) return "this process may open no more descriptors (see ulimit -n)";
  if (error == ENFILE) return "the system may open no more files (sysctl fs.file-max)";
  return "the system is out of memory for sockets";
}

}  // namespace

SocketListener::SocketListener(Loop& loop, ListenerEvents& events)
    : loop_(loop), events_(events), retry_timer_(loop, [this] { update_watch(); }) {}

void SocketListener::accept_at(std::string address, FileDescriptor fd) {
  address_ = std::move(address);
  fd_ = std::move(fd);
  watch_.emplace(loop_, fd_.get(), EPOLLIN, [this](std::uint32_t) { accept_some(); });
}

FileDescriptor SocketListener::stop_accepting() noexcept {
  watch_.reset();
  retry_timer_.stop();
  return std::move(fd_);
}

void SocketListener::pause(bool paused) noexcept {
  paused_ = paused;
  update_watch();
}

void SocketListener::retry() noexcept {
  if (!retry_timer_.running()) return;
  retry_timer_.stop();
  update_watch();
}

void SocketListener::update_watch() noexcept {
  try {
    watch_->set_events(paused_ || retry_timer_.running() ? 0U : std::uint32_t{EPOLLIN});
  } catch (const std::exception&) {
    retry_timer_.start_once(retry_after);  // the system is out of watches or memory for now
  }
}

void SocketListener::accept_some() noexcept {
  for (int i = 0; i < accepts_per_turn && !paused_; ++i) {
    if (const char* const why = why_not_now(); why != nullptr) return hold_back(why);
    FileDescriptor connection = opened(
        [this] { return accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC); });
    if (!connection) {
      const int error = errno;
      if (error == EAGAIN || error == EWOULDBLOCK) {
        exhausted_ = false;
        return;
      }
      if (lacks_resources(error)) return wait_for_descriptors(error);
      continue;  // this one went before it was accepted
    }
    std::unique_ptr<Link> link;
    guard_memory([&] { link = link_of(connection); }, []() noexcept {});
    if (!link) {
      discard(std::move(connection));
      events_.on_exhausted(address_, out_of_memory());
      continue;
    }
    events_.on_accept(std::move(link));
  }
}

// The kernel takes the descriptor before it looks whether somebody waits for it.
void SocketListener::wait_for_descriptors(int error) noexcept {
  pollfd waiting{fd_.get(), POLLIN, 0};
  if (::poll(&waiting, 1, 0) == 0) {
    exhausted_ = false;
    return;
  }
  hold_back(why_exhausted(error), error);
}

// The text is made in here, because there may be no memory for it.
void SocketListener::hold_back(const char* why, int error) noexcept {
  retry_timer_.start_once(retry_after);
  update_watch();
  if (std::exchange(exhausted_, true)) return;
  Down down = out_of_memory();
  guard_memory(
      [&] {
        std::string detail = address_ + " cannot accept connections, which wait until it can: ";
        detail += why;
        if (error != 0) detail += ": " + errno_text(error);
        down.detail = std::move(detail);
      },
      []() noexcept {});
  events_.on_exhausted(address_, std::move(down));
}

}  // namespace netio::detail
