// A host name with two addresses of which the first leads nowhere: the second is tried. A host name
// that is not known yet: it is waited for. Each test runs in a process with a hosts file of its
// own.
#include <functional>
#include <netdb.h>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

#include <netio/not_there_yet.hpp>

#include "conformance/evil.hpp"
#include "support/in_a_child.hpp"
#include "support/own_hosts.hpp"

namespace netio::test {
namespace {

constexpr std::string_view hosts = "127.0.0.1 two-homes\n127.0.0.2 two-homes\n";

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
    OwnHosts own;
    return !own.enter(hosts) || !two_homes() ? not_possible : work() ? 0 : 1;
  });
}

// What an attempt takes decides nothing.
SocketOptions unhurried_options() {
  SocketOptions options = wary_options();
  options.handshake_within = 600s;
  return options;
}

// A receiver listens at the second address only; the sender must find it.
bool is_found(const std::string& scheme, const std::function<void(std::uint16_t port)>& at_first,
              const SocketOptions& options = wary_options()) {
  Context context(wary_context());
  Pump pump{&context};
  Pull pull(context, options);
  Push push(context, options);
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
  const int code = with_hosts([] {
    return is_found(
        "ofi+tcp", [](std::uint16_t) {}, unhurried_options());
  });
  if (code == not_possible) GTEST_SKIP() << "no hosts file of one's own here";
  EXPECT_EQ(code, 0);
}
#endif

// A listener whose queue is full: the kernel drops what else comes, and nobody answers. The second
// address is tried though the first may still answer.
TEST(HostName, whose_first_address_is_silent_is_reached_at_the_second) {
  const int code = with_hosts([] {
    const int hole = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    std::optional<RawTcp> filler;
    return is_found(
        "tcp",
        [&](std::uint16_t port) {
          sockaddr_in address{};
          address.sin_family = AF_INET;
          address.sin_port = htons(port);
          address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
          if (::bind(hole, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
              ::listen(hole, 0) != 0) {
            ::_exit(not_possible);
          }
          filler = RawTcp::connect("tcp://127.0.0.1:" + std::to_string(port));
        },
        unhurried_options());
  });
  if (code == not_possible) GTEST_SKIP() << "no hosts file of one's own here";
  EXPECT_EQ(code, 0);
}

// Whoever takes connections at the first address later, and says nothing, is not met.
bool is_found_where_it_was() {
  Context context(wary_context());
  Pump pump{&context};
  Pull pull(context, wary_options());
  const std::string port = std::to_string(port_of(pull.bind("tcp://127.0.0.2:0")));
  const auto connected = [&](Push& push) {
    push.connect("tcp://two-homes:" + port);
    return pump.until([&] { return push.peers_connected() == 1; }, "connected", soon_max);
  };
  Push first(context, wary_options());
  if (!connected(first)) return false;
  RawListener silent(endpoint_of("tcp://127.0.0.1:" + port));
  Push second(context, wary_options());
  return connected(second) && (!silent.accept() || fail("the first address was tried first"));
}

TEST(HostName, is_looked_for_first_where_it_was_last) {
  const int code = with_hosts(is_found_where_it_was);
  if (code == not_possible) GTEST_SKIP() << "no hosts file of one's own here";
  EXPECT_EQ(code, 0);
}

bool listens_at_each_address() {
  Context context(wary_context());
  Pump pump{&context};
  Pull pull(context, wary_options());
  const std::string bound = pull.bind("tcp://two-homes:0");
  const std::string port = std::to_string(port_of(bound));
  if (bound != "tcp://two-homes:" + port) return fail("bound at " + bound);
  Push push(context, wary_options());
  for (const char* const host : {"127.0.0.1", "127.0.0.2", "two-homes"}) {
    push.connect("tcp://" + std::string(host) + ":" + port);
  }
  const auto up = [&] { return push.peers_connected() == 3; };
  if (!pump.until(up, "connected", soon_max)) return false;
  Pull other(context, wary_options());
  try {
    return fail("bound once more at " + other.bind("tcp://127.0.0.2:" + port));
  } catch (const Error&) {
  }
  return true;
}

TEST(HostName, that_is_bound_to_listens_at_all_of_its_addresses) {
  const int code = with_hosts(listens_at_each_address);
  if (code == not_possible) GTEST_SKIP() << "no hosts file of one's own here";
  EXPECT_EQ(code, 0);
}

// A port that is in use at one of them is no place to listen: nobody would notice who is deaf.
bool is_refused_as_a_whole() {
  Context context(wary_context());
  Pull pull(context, wary_options());
  std::string why;
  for (int tries = 0; tries < 20; ++tries) {
    RawListener foreign(endpoint_of("tcp://127.0.0.2:0"));
    const std::string port = std::to_string(foreign.port());
    try {
      return fail("bound at " + pull.bind("tcp://two-homes:" + port));
    } catch (const Error& error) {
      if (error.cause().find("in use") == std::string::npos) return fail(error.what());
    }
    try {
      return pull.bind("tcp://127.0.0.1:" + port) == "tcp://127.0.0.1:" + port;
    } catch (const Error& error) {  // another process has the port there
      why = error.what();
    }
  }
  return fail(why);
}

TEST(HostName, of_which_one_address_is_taken_is_not_bound_at_the_other) {
  const int code = with_hosts(is_refused_as_a_whole);
  if (code == not_possible) GTEST_SKIP() << "no hosts file of one's own here";
  EXPECT_EQ(code, 0);
}

// As in a container whose name comes after the program. The name is told once, and reached.
bool is_awaited(const OwnHosts& own, const std::string& scheme) {
  Context context(wary_context());
  Pump pump{&context};
  Pull pull(context, wary_options());
  Push push(context, wary_options());
  Seen at_push(push);
  const std::string port = std::to_string(port_of(pull.bind(scheme + "://127.0.0.1:0")));
  push.connect(scheme + "://comes-later:" + port);
  if (!pump.until([&] { return !at_push.downs.empty(); }, "told", 10s)) return false;
  const Seen::Gone& told = at_push.downs.front();
  if (told.down.reason != DownReason::name_unknown) return fail("told as: " + told.down.detail);
  if (!told.peer.retrying) return fail("is not tried again");
  if (!own.add("127.0.0.1 comes-later\n")) return fail("no name");
  const auto up = [&] { return push.peers_connected() == 1; };
  return pump.until(up, "connected", 20s) && (at_push.downs.size() == 1 || fail("told twice"));
}

void expect_awaited(const std::string& scheme) {
  const int code = in_a_child([&] {
    OwnHosts own;
    return !own.enter("127.0.0.1 localhost\n") ? not_possible : is_awaited(own, scheme) ? 0 : 1;
  });
  if (code == not_possible) GTEST_SKIP() << "no hosts file of one's own here";
  EXPECT_EQ(code, 0);
}

TEST(HostName, that_is_not_known_yet_is_told_once_and_waited_for) { expect_awaited("tcp"); }

#ifdef NETIO_WITH_FABRIC
TEST(HostName, that_is_not_known_yet_is_waited_for_over_a_fabric) { expect_awaited("ofi+tcp"); }
#endif

// bind() says that it may be called again.
bool can_be_bound_later(const OwnHosts& own, const std::string& scheme) {
  Context context(wary_context());
  Pull pull(context, wary_options());
  const std::string address = scheme + "://comes-later:0";
  try {
    (void)pull.bind(address);
    return fail("bound to a host without a name");
  } catch (const NotThereYet& error) {
    if (error.cause().find("comes-later") == std::string::npos) return fail(error.what());
  }
  if (!own.add("127.0.0.1 comes-later\n")) return fail("no name");
  return pull.bind(address).find("127.0.0.1") != std::string::npos;
}

TEST(HostName, that_is_not_known_yet_can_be_bound_later) {
  const int code = in_a_child([] {
    OwnHosts own;
    if (!own.enter("127.0.0.1 localhost\n")) return not_possible;
    return can_be_bound_later(own, "tcp") ? 0 : 1;
  });
  if (code == not_possible) GTEST_SKIP() << "no hosts file of one's own here";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace netio::test
