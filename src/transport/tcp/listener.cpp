// bind and listen, at one address or at all that a name has.
#include "transport/tcp/listener.hpp"

#include <algorithm>
#include <cerrno>
#include <netinet/in.h>
#include <sys/socket.h>
#include <utility>
#include <vector>

#include <netio/not_there_yet.hpp>

#include "base/system_error.hpp"
#include "transport/internet_address.hpp"
#include "transport/port_use.hpp"
#include "transport/socket_listener.hpp"

namespace netio::detail {

namespace {

std::string advice_for(int error, std::uint16_t port) {
  switch (error) {
    case EADDRINUSE:
      return advice_for_port_in_use(port);
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
    throw NotThereYet("bind " + to_string(url), found.failure.detail,
                      "bind a numeric address of this host, or * for all of them");
  }
  return found.addresses;
}

// An open, listening socket, or an errno.
FileDescriptor listen_at(const InternetAddress& address, int& error) {
  FileDescriptor fd = opened([&address] {
    return socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
  });
  const int on = 1;
  const int off = 0;
  if (fd.get() >= 0) {
    (void)setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address.family() == AF_INET6) {
      (void)setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    }
    if (::bind(fd.get(), address.get(), address.bytes) == 0 &&
        listen(fd.get(), accept_queue_max) == 0) {
      error = 0;
      return fd;
    }
  }
  error = errno;
  return FileDescriptor();
}

// Behind those that are there once. A hosts file may have an address twice.
std::vector<InternetAddress>::iterator unique_end(std::vector<InternetAddress>& addresses) {
  auto end = addresses.begin();
  for (const InternetAddress& each : addresses) {
    if (std::find(addresses.begin(), end, each) == end) *end++ = each;
  }
  return end;
}

// The port has the same place in both families.
void set_port(InternetAddress& address, std::uint16_t port) noexcept {
  reinterpret_cast<sockaddr_in*>(&address.storage)->sin_port = htons(port);
}
std::uint16_t port_at(int fd) {
  const InternetAddress address = local_address(fd);
  return ntohs(reinterpret_cast<const sockaddr_in*>(address.get())->sin_port);
}

// EINVAL: a link-local address that /etc/hosts has without its interface.
bool is_not_here(int error) noexcept {
  return error == EAFNOSUPPORT || error == EADDRNOTAVAIL || error == EINVAL;
}

// Open, listening sockets at all addresses that this host has, with one port; none, and an errno,
// if it has none of them or one cannot be had. `all` is false for *: the first is enough.
std::vector<FileDescriptor> listen_at_each(std::vector<InternetAddress> addresses, bool all,
                                           int& error) {
  std::vector<FileDescriptor> listening;
  for (InternetAddress& address : addresses) {
    if (!listening.empty()) set_port(address, port_at(listening.front().get()));
    int failure = 0;
    FileDescriptor fd = listen_at(address, failure);
    if (fd) {
      listening.push_back(std::move(fd));
      if (!all) break;
      continue;
    }
    error = failure;
    if (!is_not_here(failure)) return {};
  }
  if (!listening.empty()) error = 0;
  return listening;
}

// Any free port has to be free at all addresses.
std::vector<FileDescriptor> listen_at_all(const Url& url) {
  constexpr int ports_tried_max = 32;
  std::vector<InternetAddress> addresses = addresses_to_bind(url);
  addresses.erase(unique_end(addresses), addresses.end());
  int error = 0;
  for (int left = url.port == 0 && addresses.size() > 1 ? ports_tried_max : 1; left > 0; --left) {
    auto listening = listen_at_each(addresses, url.host != "*", error);
    if (!listening.empty()) return listening;
    if (error != EADDRINUSE) break;
  }
  const std::string what = "bind " + to_string(url);
  if (error == EADDRNOTAVAIL) {
    throw NotThereYet(what, errno_text(error), advice_for(error, url.port));
  }
  throw Error(what, errno_text(error), advice_for(error, url.port));
}

class TcpListener final : public SocketListener {
 public:
  TcpListener(TcpShared& shared, const std::string& scheme, FileDescriptor fd,
              const LinkOptions& options, ListenerEvents& events)
      : SocketListener(shared.resources.loop, events),
        shared_(shared),
        options_(options),
        scheme_(scheme) {
    std::string address = scheme + "://" + to_string(local_address(fd.get()));
    accept_at(std::move(address), std::move(fd));
  }

 private:
  [[nodiscard]] std::unique_ptr<Link> link_of(FileDescriptor& connection) override {
    return std::make_unique<TcpLink>(shared_, options_, scheme_, std::move(connection));
  }

  TcpShared& shared_;
  const LinkOptions& options_;
  std::string scheme_;
};

// Several listeners of one port, or the one of *.
class TcpListeners final : public Listener {
 public:
  TcpListeners(std::string address, std::vector<std::unique_ptr<TcpListener>> listeners)
      : address_(std::move(address)), listeners_(std::move(listeners)) {}
  [[nodiscard]] std::string address() const override { return address_; }
  void pause(bool paused) noexcept override {
    for (const auto& each : listeners_) each->pause(paused);
  }
  void retry() noexcept override {
    for (const auto& each : listeners_) each->retry();
  }

 private:
  std::string address_;
  std::vector<std::unique_ptr<TcpListener>> listeners_;
};

}  // namespace

std::unique_ptr<Listener> listen_on_tcp(TcpShared& shared, const Url& url,
                                        const LinkOptions& options, ListenerEvents& events) {
  std::vector<FileDescriptor> sockets = listen_at_all(url);
  Url bound = url;
  bound.port = port_at(sockets.front().get());
  std::vector<std::unique_ptr<TcpListener>> listeners;
  listeners.reserve(sockets.size());
  for (FileDescriptor& socket : sockets) {
    listeners.push_back(
        std::make_unique<TcpListener>(shared, url.scheme, std::move(socket), options, events));
  }
  if (listeners.size() == 1 && url.host != "*") return std::move(listeners.front());
  return std::make_unique<TcpListeners>(to_string(bound), std::move(listeners));
}

}  // namespace netio::detail
