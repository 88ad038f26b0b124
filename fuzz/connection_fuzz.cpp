// Whatever a peer sends to a listening Pull: no crash, no read outside a page, that connection
// ended, and a good client served before and after.
#include <cstdint>

#include "scene.hpp"

namespace {

// The socket under attack and a good client of it, in one context, there for all inputs.
class Scene {
 public:
  Scene() {
    pull_.on_message([this](const netio::MessageView& message) {
      // Every byte is looked at, so that a view outside of its page is seen by the sanitizer.
      for (const std::span<const std::byte> segment : message.segments()) {
        for (const std::byte byte : segment) sum_ += static_cast<std::uint64_t>(byte);
      }
      for (const std::byte byte : message.bytes()) sum_ += static_cast<std::uint64_t>(byte);
      if (message.text() == "good") ++good_received_;
    });
    pull_.on_down([this](const netio::PeerInfo&, const netio::Down&) { attack_over_ = true; });
    const std::string address = pull_.bind("tcp://127.0.0.1:0");
    port_ = port_of(address);
    good_.connect(address);
    turn_until(
        context_, [this] { return good_.peers_connected() == 1; },
        "the good client cannot connect");
  }

  void attack(const std::uint8_t* data, std::size_t size, bool greeted, bool to_the_end) {
    const int fd = connect_to(port_);
    attack_over_ = false;
    if (greeted) {
      greet(context_, fd, netio::detail::WirePattern::push, ++attacks_, to_the_end);
    }
    send_and_end(fd, data, size);
    turn_until(
        context_, [this] { return attack_over_; }, "the attacker's connection does not end");
    close(fd);
  }

  void serve_good_client() {
    require(good_.send("good") == netio::Status::ok, "the good client cannot send");
    ++good_sent_;
    turn_until(
        context_, [this] { return good_received_ >= good_sent_; }, "the good client is not served");
  }

 private:
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

// The first byte says whether a good hello or a whole greeting goes before the rest: most inputs
// begin behind it, where there is more to get wrong.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Scene scene;
  if (size == 0) return 0;
  scene.attack(data + 1, size - 1, (data[0] & 3U) != 0, (data[0] & 8U) == 0);
  scene.serve_good_client();
  return 0;
}
