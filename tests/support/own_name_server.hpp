// A name server of the process's own, in a network of its own: it answers when it is told to.
#pragma once

#include <array>
#include <cstddef>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <utility>
#include <vector>

#include "support/own_hosts.hpp"
#include "support/own_network.hpp"

namespace netio::test {

// For a process with one thread.
class OwnNameServer {
 public:
  OwnNameServer() noexcept = default;
  OwnNameServer(const OwnNameServer&) = delete;
  OwnNameServer& operator=(const OwnNameServer&) = delete;
  ~OwnNameServer() { ::close(socket_); }

  // `options`: a line of resolv.conf. False if this machine lets no process have that.
  [[nodiscard]] bool enter(std::string_view options) {
    if (!enter_own_network(CLONE_NEWNS)) return false;
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
    std::string resolver = "nameserver 127.0.0.1\n";
    resolver.append(options).append("\n");
    if (mount_text_over("/etc/resolv.conf", resolver) < 0) return false;
    if (mount_text_over("/etc/nsswitch.conf", "hosts: files dns\n") < 0) return false;
    socket_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(53);
    return ::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }

  // A question has come that is not answered.
  [[nodiscard]] bool asked() {
    for (Question one;;) {
      socklen_t bytes = sizeof one.from;
      const ssize_t size = ::recvfrom(socket_, one.text.data(), one.text.size(), 0,
                                      reinterpret_cast<sockaddr*>(&one.from), &bytes);
      if (size < 0) return !questions_.empty();
      one.size = static_cast<std::size_t>(size);
      questions_.push_back(one);
    }
  }
  // Every name is 127.0.0.1, and has no IPv6 address.
  void answer() {
    if (!asked()) return;
    constexpr std::string_view found("\xc0\x0c\0\x01\0\x01\0\0\0\0\0\x04\x7f\0\0\x01", 16);
    for (const Question& one : std::exchange(questions_, {})) {
      std::string text(one.text.data(), one.size);
      const bool for_ipv4 = text[text.size() - 3] == 1;
      text[2] = '\x81';  // an answer
      text[3] = '\x80';
      text[7] = for_ipv4 ? 1 : 0;  // how many follow
      if (for_ipv4) text += found;
      (void)::sendto(socket_, text.data(), text.size(), 0,
                     reinterpret_cast<const sockaddr*>(&one.from), sizeof one.from);
    }
  }

 private:
  struct Question {
    sockaddr_in from{};
    std::array<char, 512> text{};
    std::size_t size = 0;
  };

  int socket_ = -1;
  std::vector<Question> questions_;
};

}  // namespace netio::test
