// Whatever a place that is dialed answers: no crash, that connection ended, and a good peer of the
// dialing socket served before and after.
#include <cstdint>
#include <memory>

#include "scene.hpp"

namespace {

// A pair of sockets that dial: a Pull, which reads what comes, has a good Push; and a raw listener
// for what it is answered by.
class Scene {
 public:
  Scene() {
    pull_.on_message([this](const netio::MessageView& message) {
      for (const std::byte byte : message.bytes()) sum_ += static_cast<std::uint64_t>(byte);
      if (message.text() == "good") ++received_;
    });
    pull_.connect(good_.bind("tcp://127.0.0.1:0"));
    turn_until(
        context_, [this] { return good_.peers_connected() == 1; }, "the good peer is not reached");
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_in at = loopback(0);
    socklen_t bytes = sizeof at;
    require(bind(listener_, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0, "cannot bind");
    require(listen(listener_, 8) == 0, "cannot listen");
    require(getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &bytes) == 0, "no address");
    address_ = "tcp://127.0.0.1:" + std::to_string(ntohs(at.sin_port));
  }

  // By a socket of its own, which is gone afterwards: it would dial again.
  void answer(const std::uint8_t* data, std::size_t size, bool greeted, bool to_the_end) {
    netio::Pull dialing(context_, small_messages());
    dialing.on_message([this](const netio::MessageView& message) {
      for (const std::byte byte : message.bytes()) sum_ += static_cast<std::uint64_t>(byte);
    });
    bool over = false;
    dialing.on_down([&over](const auto&, const auto&) { over = true; });
    dialing.connect(address_);
    int fd = -1;
    turn_until(
        context_,
        [this, &fd] {
          fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
          return fd >= 0;
        },
        "nobody dials");
    if (greeted) {
      const netio::detail::Hello theirs = hear_hello(context_, fd);
      netio::detail::Hello hello = sound_hello(netio::detail::WirePattern::push, ++answers_);
      hello.stream = theirs.stream;
      hello.epoch = theirs.epoch;
      hello.nonce = 1;
      send_hello(fd, hello);
      if (to_the_end) send_confirm(fd, hello.nonce);
    }
    send_and_end(fd, data, size);
    turn_until(
        context_, [&over] { return over; }, "the connection does not end");
    close(fd);
  }

  void serve_good_peer() {
    require(good_.send("good") == netio::Status::ok, "the good peer cannot send");
    ++sent_;
    turn_until(
        context_, [this] { return received_ == sent_; }, "the good peer is not served");
  }

 private:
  netio::Context context_{small_context()};
  netio::Pull pull_{context_, small_messages()};
  netio::Push good_{context_};
  std::string address_;
  int listener_ = -1;
  std::uint64_t answers_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t sum_ = 0;
};

}  // namespace

// The first byte says whether a good hello or a whole greeting goes before the rest.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Scene scene;
  if (size == 0) return 0;
  scene.answer(data + 1, size - 1, (data[0] & 3U) != 0, (data[0] & 8U) == 0);
  scene.serve_good_peer();
  return 0;
}
