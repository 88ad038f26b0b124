// A host name with two addresses of which the first leads nowhere: the second is tried. Each test
// runs in a process with a hosts file of its own.
#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conformance/evil.hpp"
#include "support/in_a_child.hpp"

namespace netio::test {
namespace {

constexpr std::string_view hosts = "127.0.0.1 two-homes\n127.0.0.2 two-homes\n";

bool replace_hosts() {
  if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  std::array<char, 32> path = {"/tmp/netio-hosts-XXXXXX"};
  const int fd = ::mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) return false;
  const bool done = ::write(fd, hosts.data(), hosts.size()) == std::ssize(hosts) &&
                    ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                    ::mount(path.data(), "/etc/hosts", nullptr, MS_BIND, nullptr) == 0;
  ::close(fd);
  ::unlink(path.data());
  return done;
}

// Both addresses are known, and the first comes first.
bool two_homes() {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo("two-homes", nullptr, &hints, &found) != 0) return false;
  sockaddr_in first{};
  std::memcpy(&first, found->ai_addr, sizeof first);
  const bool two = found->ai_next != nullptr && first.sin_addr.s_addr == htonl(INADDR_LOOPBACK);
  ::freeaddrinfo(found);
  return two;
}

// The exit code of a process that runs `work` with these hosts: 0 if it is true.
int with_hosts(const std::function<bool()>& work) {
  return in_a_child([&] {
    return !replace_hosts() || !two_homes() ? not_possible : work() ? 0 : 1;
  });
}

// A receiver listens at the second address only; the sender must find it.
bool is_found(const std::string& scheme, const std::function<void(std::uint16_t port)>& at_first) {
  Context context(wary_context());
  Pump pump{&context};
  Pull pull(context, wary_options());
  Push push(context, wary_options());
  Seen at_push(push);
  const std::string port = std::to_string(port_of(pull.bind(scheme + "://127.0.0.2:0")));
  at_first(port_of(":" + port));
  push.connect(scheme + "://two-homes:" + port);
  const auto up = [&] { return push.peers_connected() == 1; };
  return pump.until(up, "connected", 10s) && at_push.downs.empty();
}

TEST(HostName, whose_first_address_refuses_is_reached_at_the_second) {
  const int code = with_hosts([] { return is_found("tcp", [](std::uint16_t) {}); });
  if (code == not_possible) GTEST_SKIP() << "no hosts file of one's own here";
  EXPECT_EQ(code, 0);
}

#ifdef NETIO_WITH_FABRIC
TEST(HostName, whose_first_address_refuses_is_reached_at_the_second_over_a_fabric) {
  const int code = with_hosts([] { return is_found("ofi+tcp", [](std::uint16_t) {}); });
  if (code == not_possible) GTEST_SKIP() << "no hosts file of one's own here";
  EXPECT_EQ(code, 0);
}
#endif

// A listener whose queue is full: the kernel drops what else comes, and nobody answers.
TEST(HostName, whose_first_address_is_silent_is_reached_at_the_second) {
  const int code = with_hosts([] {
    const int hole = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    std::optional<RawTcp> filler;
    return is_found("tcp", [&](std::uint16_t port) {
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(port);
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      if (::bind(hole, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
          ::listen(hole, 0) != 0) {
        ::_exit(not_possible);
      }
      filler = RawTcp::connect("tcp://127.0.0.1:" + std::to_string(port));
    });
  });
  if (code == not_possible) GTEST_SKIP() << "no hosts file of one's own here";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace netio::test
