// Whatever a peer sends to a listening Pull: no crash, no read outside a page, that connection
// ended, and a good client served before and after.
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

#include <netio/netio.hpp>

#include "wire/hello.hpp"

namespace {

using namespace std::chrono_literals;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "connection_fuzz: %s\n", what);
  std::abort();
}

netio::ContextOptions small_context() {
  netio::ContextOptions options;
  options.send_pool_bytes = options.receive_pool_bytes = 4U << 20U;
  options.large_bytes_max = 64U << 20U;
  return options;
}

netio::SocketOptions small_messages() {
  netio::SocketOptions options;
  options.message_bytes_max = 1U << 20U;
  return options;
}

// The socket under attack and a good client of it, in one context, there for all inputs.
class Scene {
 public:
  Scene() {
    pull_.on_message([this](const netio::MessageView& message) {
      // Every byte is looked at, so that a view outside of its page is seen by the sanitizer.
      for (const std::byte byte : message.bytes()) sum_ += static_cast<std::uint64_t>(byte);
      if (message.text() == "good") ++good_received_;
    });
    pull_.on_down([this](const netio::PeerInfo&, const netio::Down&) { attack_over_ = true; });
    const std::string address = pull_.bind("tcp://127.0.0.1:0");
    port_ = static_cast<std::uint16_t>(std::stoul(address.substr(address.rfind(':') + 1)));
    good_.connect(address);
    turn_until([this] { return good_.peers_connected() == 1; }, "the good client cannot connect");
  }

  void attack(const std::uint8_t* data, std::size_t size, bool greet) {
    const int fd = connected_socket();
    if (greet) {
      netio::detail::Hello hello;
      hello.page_bytes_max = 64U << 10U;
      hello.message_bytes_max = 1U << 20U;
      ++attacks_;
      std::memcpy(hello.session.data(), &attacks_, sizeof attacks_);
      std::array<std::byte, netio::detail::hello_bytes_max> bytes;
      const std::size_t encoded = netio::detail::encode(hello, bytes);
      require(send(fd, bytes.data(), encoded, MSG_NOSIGNAL) >= 0, "the hello is not taken");
    }
    // More than the socket buffer takes at once is not needed, nor is an answer.
    if (size != 0) (void)!send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(fd, SHUT_WR);
    attack_over_ = false;
    turn_until([this] { return attack_over_; }, "the attacker's connection does not end");
    close(fd);
  }

  void serve_good_client() {
    require(good_.send("good") == netio::Status::ok, "the good client cannot send");
    ++good_sent_;
    turn_until([this] { return good_received_ >= good_sent_; }, "the good client is not served");
  }

 private:
  template <typename Condition>
  void turn_until(Condition condition, const char* what) {
    const auto give_up = std::chrono::steady_clock::now() + 10s;
    while (!condition()) {
      context_.loop().run_once(1ms);
      require(std::chrono::steady_clock::now() < give_up, what);
    }
  }

  [[nodiscard]] int connected_socket() const {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (;;) {
      const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
      require(errno == EINTR, "cannot connect");  // the fuzzer's own clock
      close(fd);
    }
  }

  netio::Context context_{small_context()};
  netio::Pull pull_{context_, small_messages()};
  netio::Push good_{context_};
  std::uint16_t port_ = 0;
  std::uint64_t attacks_ = 0;
  std::uint64_t good_sent_ = 0;
  std::uint64_t good_received_ = 0;
  std::uint64_t sum_ = 0;
  bool attack_over_ = false;
};

}  // namespace

// The first byte says whether a good hello goes before the rest: most inputs begin behind it,
// where there is more to get wrong.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Scene scene;
  if (size == 0) return 0;
  scene.attack(data + 1, size - 1, (data[0] & 3U) != 0);
  scene.serve_good_client();
  return 0;
}
