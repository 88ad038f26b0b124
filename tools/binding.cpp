#include "binding.hpp"

#include <chrono>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>

#include <fmt/format.h>

#include <netio/not_there_yet.hpp>

#include "exit_code.hpp"
#include "interrupt.hpp"
#include "peer_wait.hpp"

namespace netio::cli {

namespace {
constexpr int again_after_ms = 500;

bool is_loopback(const sockaddr* address) noexcept {
  if (address->sa_family == AF_INET) {
    const in_addr number = reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
    return ntohl(number.s_addr) >> 24U == IN_LOOPBACKNET;
  }
  return address->sa_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr) != 0;
}

// Of "tcp://host:port": a name that stands for loopback addresses alone, and is not known for that.
// Many systems give the name of the host itself to 127.0.1.1.
bool hides_loopback(std::string_view address) {
  const std::size_t begin = address.find("://") + 3;
  const std::size_t colon = address.find(':', begin);
  if (address.starts_with("shm") || address.starts_with("inproc") || colon == address.npos) {
    return false;
  }
  const std::string host(address.substr(begin, colon - begin));
  const bool number = host.find_first_not_of("0123456789.") == host.npos;
  if (number || host == "*" || host.starts_with('[') || host.find("localhost") != host.npos) {
    return false;
  }
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, nullptr, &found) != 0) return false;
  bool all = true;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    all = all && is_loopback(each->ai_addr);
  }
  ::freeaddrinfo(found);
  return all;
}
}  // namespace

std::string bind_when_there(const std::string& address,
                            const std::function<std::string(const std::string&)>& bind,
                            const PeerArguments& peer, Progress& progress) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const auto limit = peer.connect_timeout.value_or(peer.usual_timeout);
  for (bool noted = false;; noted = true) {
    try {
      std::string bound = bind(address);
      if (hides_loopback(address)) {
        progress.note(fmt::format(
            "{} is reached from this host alone: here its name stands for loopback addresses (see "
            "/etc/hosts); bind * or a number for others",
            address));
      }
      return bound;
    } catch (const NotThereYet& error) {
      if (Clock::now() - begin >= limit) throw;
      const std::string cause = fmt::format("{}: {}", error.operation(), error.cause());
      if (!noted) {
        progress.note(fmt::format("{}; trying again until it can be had", cause));
      }
      (void)::poll(nullptr, 0, again_after_ms);  // a signal ends it
      if (Interrupt::requested()) throw Failure(cause, error.advice(), ExitCode::interrupted);
    }
  }
}

}  // namespace netio::cli
