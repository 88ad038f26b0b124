// netio:// between two network namespaces of one host, where shared memory is not reachable: the
// two ends meet over tcp, stay there, and say why.
#include <csignal>
#include <cstdlib>
#include <string>
#include <unistd.h>

#include "conformance/conformance.hpp"
#include "support/in_a_child.hpp"
#include "support/own_network.hpp"

namespace netio::test {
namespace {

constexpr const char* here = "10.123.45.1";
constexpr const char* there = "10.123.45.2";

bool run(const std::string& command) {
  return std::system((command + " 2>/dev/null >&2").c_str()) == 0;  // NOLINT
}

// Listens in a namespace of its own, once there is a network, until it has got a message.
int listen(int network, int ready) {
  char byte = 0;
  if (::unshare(CLONE_NEWNET) != 0) return not_possible;
  if (::write(ready, &byte, 1) != 1 || ::read(network, &byte, 1) != 1) return not_possible;
  if (!run("ip addr add " + std::string(there) + "/24 dev far && ip link set far up")) {
    return not_possible;
  }
  Context context(small_context());
  Pull pull(context);
  Pump pump{&context};
  std::string wire;
  pull.on_message([&](const MessageView&) { wire = pull.peers().at(0).wire; });
  pull.bind("netio://*:5000");
  if (::write(ready, &byte, 1) != 1) return 1;
  if (!pump.until([&] { return !wire.empty(); }, "a message came", soon_max)) return 1;
  pull.close();
  (void)pump.until([&] { return pull.closed(); }, "it is closed", soon_max);
  return wire == "tcp" ? 0 : 1;
}

int connect() {
  Context context(small_context());
  Push push(context);
  Pump pump{&context};
  push.connect("netio://" + std::string(there) + ":5000");
  std::string wire;
  std::string reason;
  push.on_up([&](const PeerInfo& peer) {
    wire = peer.wire;
    reason = peer.wire_reason;
  });
  if (!pump.until([&] { return push.send("a message") == Status::ok; }, "it is sent", soon_max)) {
    return 1;
  }
  if (!pump.until([&] { return push.books().acknowledged == 1; }, "it arrives", soon_max)) return 1;
  const bool said = reason.starts_with("shm: the other end is in another network namespace");
  return wire == "tcp" && said ? 0 : fail(wire + ": " + reason) ? 0 : 1;
}

int between_namespaces() {
  if (!enter_own_network()) return not_possible;
  int network[2];
  int ready[2];
  if (::pipe(network) != 0 || ::pipe(ready) != 0) return not_possible;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(listen(network[0], ready[1]));
  ::close(ready[1]);
  char byte = 0;
  const auto wait = [&] {
    int status = 0;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  };
  if (::read(ready[0], &byte, 1) != 1) return wait();
  if (!run("ip link add near type veth peer name far netns " + std::to_string(child) +
           " && ip addr add " + here + "/24 dev near && ip link set near up")) {
    ::close(network[1]);
    ::kill(child, SIGKILL);
    wait();
    return not_possible;
  }
  if (::write(network[1], &byte, 1) != 1 || ::read(ready[0], &byte, 1) != 1) return wait();
  const int code = connect();
  const int other = wait();
  return code != 0 ? code : other;
}

TEST(WireNamespaces, that_share_no_names_of_memory_meet_over_tcp) {
  const int code = in_a_child(between_namespaces);
  if (code == not_possible) GTEST_SKIP() << "no two networks of one's own here";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace netio::test
