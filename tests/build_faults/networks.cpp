#include "build_faults/networks.hpp"

#include <array>
#include <cstdlib>
#include <unistd.h>

#include "build_faults/children.hpp"
#include "support/own_network.hpp"

namespace netio::test {
namespace {

bool command(const std::string& words) {
  return std::system((words + " >/dev/null 2>&1").c_str()) == 0;  // NOLINT: a test, one thread
}
void require(const std::string& words) {
  if (!command(words)) give_up("this failed: " + words);
}
std::string within(pid_t host, const std::string& words) {
  return "nsenter --net=/proc/" + std::to_string(host) + "/ns/net " + words;
}
std::string cable_of(std::uint32_t host) { return "host" + std::to_string(host); }

void expect_byte(int fd) {
  char byte = 0;
  if (::read(fd, &byte, 1) != 1) give_up("a process has no network of its own");
}
void send_byte(int fd) { static_cast<void>(!::write(fd, "n", 1)); }

}  // namespace

bool Networks::begin() {
  return command("nsenter --version") && enter_own_network() &&
         command("ip link add switch type bridge") && command("ip link set switch up");
}

std::string Networks::address_of(std::uint32_t host) { return "10.204.0." + std::to_string(host); }

pid_t Networks::start_child_on(std::uint32_t host, const std::function<int()>& life) {
  std::array<int, 2> entered{};
  std::array<int, 2> plugged{};
  if (::pipe(entered.data()) != 0 || ::pipe(plugged.data()) != 0) give_up("no pipe");
  const pid_t child = start_child([&] {
    if (::unshare(CLONE_NEWNET) != 0) return 1;
    send_byte(entered[1]);
    expect_byte(plugged[0]);
    for (const int fd : {entered[0], entered[1], plugged[0], plugged[1]}) ::close(fd);
    return life();
  });
  ::close(entered[1]);
  expect_byte(entered[0]);
  hosts_[host] = child;
  const std::string cable = cable_of(host);
  static_cast<void>(command("ip link del " + cable));  // of the one before, which was killed
  require("ip link add " + cable + " type veth peer name eth0 netns " + std::to_string(child));
  require("ip link set " + cable + " master switch up");
  require(within(child, "ip link set lo up"));
  require(within(child, "ip addr add " + address_of(host) + "/24 dev eth0"));
  require(within(child, "ip link set eth0 up"));
  send_byte(plugged[1]);
  for (const int fd : {entered[0], plugged[0], plugged[1]}) ::close(fd);
  return child;
}

void Networks::pull_cable(std::uint32_t host) const {
  require("ip link set " + cable_of(host) + " down");
}
void Networks::plug_in(std::uint32_t host) const {
  require("ip link set " + cable_of(host) + " up");
}
void Networks::part(std::uint32_t host, std::uint32_t other) const {
  require(within(hosts_.at(host), "ip route add blackhole " + address_of(other)));
}
void Networks::join(std::uint32_t host, std::uint32_t other) const {
  require(within(hosts_.at(host), "ip route del blackhole " + address_of(other)));
}

}  // namespace netio::test
