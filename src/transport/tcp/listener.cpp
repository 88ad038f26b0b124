// bind, listen, accept4.
#include "transport/tcp/listener.hpp"

#include <cerrno>
#include <chrono>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <vector>

#include "base/system_error.hpp"
#include "transport/internet_address.hpp"

namespace netio::detail {

namespace {

constexpr int backlog = 1024;
// Connections taken in one go before other descriptors get their turn.
constexpr int accepts_per_turn = 64;
// How long to leave new peers in the kernel's queue when no descriptor is left for them.
constexpr std::chrono::milliseconds retry_after{100};

std::string advice_for(int error) {
  switch (error) {
    case EADDRINUSE:
      return "another program listens there (ss -ltnp shows which); stop it, or bind port 0 for "
             "any free one";
    case EADDRNOTAVAIL:
      return "no interface of this host has that address; bind * for all of them";
    case EACCES:
      return "ports below 1024 need a privilege; choose a higher one";
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files (ulimit -n)";
    default:
      return {};
  }
}

// The addresses to try, in order: for * the IPv6 one that takes IPv4 too, then plain IPv4.
std::vector<InternetAddress> addresses_to_bind(const Url& url) {
  if (url.host == "*") {
    std::vector<InternetAddress> any;
    for (const char* host : {"::", "0.0.0.0"}) {
      if (auto found = look_up_number(host, url.port)) any.push_back(found->addresses.front());
    }
    return any;
  }
  const LookUp found = look_up(url.host, url.port);
  if (found.addresses.empty()) {
    throw Error("bind " + to_string(url), found.failure.detail,
                "bind a numeric address of this host, or * for all of them");
  }
  return found.addresses;
}

// An open, listening socket, or an errno.
FileDescriptor listen_at(const InternetAddress& address, int& error) {
  FileDescriptor fd(
      socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  const int on = 1;
  const int off = 0;
  if (fd.get() >= 0) {
    (void)setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address.family() == AF_INET6) {
      (void)setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    }
    if (::bind(fd.get(), address.get(), address.bytes) == 0 && listen(fd.get(), backlog) == 0) {
      error = 0;
      return fd;
    }
  }
  error = errno;
  return FileDescriptor();
}

}  // namespace

TcpListener::TcpListener(TcpShared& shared, const Url& url, const LinkOptions& options,
                         ListenerEvents& events)
    : shared_(shared),
      options_(options),
      events_(events),
      retry_timer_(shared.resources.loop, [this] { update_watch(); }) {
  int error = 0;
  for (const InternetAddress& address : addresses_to_bind(url)) {
    fd_ = listen_at(address, error);
    if (error != EAFNOSUPPORT && error != EADDRNOTAVAIL) break;
  }
  if (error != 0) {
    throw Error("bind " + to_string(url), errno_text(error), advice_for(error));
  }
  const std::string bound = to_string(local_address(fd_.get()));
  const std::string port = bound.substr(bound.rfind(':'));
  address_ = "tcp://" + (url.host == "*" ? "*" + port : bound);
  watch_.emplace(shared_.resources.loop, fd_.get(), EPOLLIN,
                 [this](std::uint32_t) { accept_some(); });
}

void TcpListener::pause(bool paused) noexcept {
  paused_ = paused;
  update_watch();
}

void TcpListener::update_watch() noexcept {
  try {
    watch_->set_events(paused_ || retry_timer_.running() ? 0U : std::uint32_t{EPOLLIN});
  } catch (const Error&) {
    retry_timer_.start_once(retry_after);  // the system is out of watches or memory for now
  }
}

void TcpListener::accept_some() {
  for (int i = 0; i < accepts_per_turn && !paused_; ++i) {
    FileDescriptor fd(accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.get() < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        retry_timer_.start_once(retry_after);
        update_watch();
        return;
      }
      continue;  // this one went before it was accepted
    }
    events_.on_accept(std::make_unique<TcpLink>(shared_, options_, fd.release()));
  }
}

}  // namespace netio::detail
