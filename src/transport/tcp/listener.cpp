// bind and listen.
#include "transport/tcp/listener.hpp"

#include <cerrno>
#include <netinet/in.h>
#include <sys/socket.h>
#include <utility>
#include <vector>

#include <netio/not_there_yet.hpp>

#include "base/system_error.hpp"
#include "transport/internet_address.hpp"
#include "transport/port_use.hpp"

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
  FileDescriptor fd(
      socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
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

}  // namespace

TcpListener::TcpListener(TcpShared& shared, const Url& url, const LinkOptions& options,
                         ListenerEvents& events)
    : SocketListener(shared.resources.loop, events),
      shared_(shared),
      options_(options),
      scheme_(url.scheme) {
  int error = 0;
  FileDescriptor fd;
  for (const InternetAddress& address : addresses_to_bind(url)) {
    fd = listen_at(address, error);
    if (error != EAFNOSUPPORT && error != EADDRNOTAVAIL) break;
  }
  if (error == EADDRNOTAVAIL) {
    throw NotThereYet("bind " + to_string(url), errno_text(error), advice_for(error, url.port));
  }
  if (error != 0) {
    throw Error("bind " + to_string(url), errno_text(error), advice_for(error, url.port));
  }
  const std::string bound = to_string(local_address(fd.get()));
  const std::string port = bound.substr(bound.rfind(':'));
  accept_at(scheme_ + "://" + (url.host == "*" ? "*" + port : bound), std::move(fd));
}

std::unique_ptr<Link> TcpListener::link_of(FileDescriptor& connection) {
  return std::make_unique<TcpLink>(shared_, options_, scheme_, std::move(connection));
}

}  // namespace netio::detail
