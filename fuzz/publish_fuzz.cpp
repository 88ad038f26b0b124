// Whatever a subscriber sends to a publisher, and a publisher to a subscriber: no crash, that
// connection ended, and a good peer of each served before and after, with no message lost.
#include <cstdint>

#include "scene.hpp"

namespace {

constexpr std::uint64_t good_tag = 0x600d;

// A publisher and a subscriber that listen, each under attack, and each with a good peer.
class Scene {
 public:
  Scene() {
    good_subscriber_.on_message([this](const netio::MessageView&) { ++received_; });
    good_subscriber_.subscribe(good_tag);
    subscriber_.on_message([this](const netio::MessageView& message) {
      for (const std::byte byte : message.bytes()) sum_ += static_cast<std::uint64_t>(byte);
      if (message.tag() == good_tag && message.text() == "good") ++received_there_;
    });
    subscriber_.subscribe(good_tag);
    publisher_.on_down([this](const auto&, const auto&) { attack_over_ = true; });
    subscriber_.on_down([this](const auto&, const auto&) { attack_over_ = true; });
    const std::string publisher = publisher_.bind("tcp://127.0.0.1:0");
    const std::string subscriber = subscriber_.bind("tcp://127.0.0.1:0");
    publisher_port_ = port_of(publisher);
    subscriber_port_ = port_of(subscriber);
    good_subscriber_.connect(publisher);
    good_publisher_.connect(subscriber);
    int ready = 0;
    publisher_.on_subscribe([&ready](const auto&, const auto&) { ++ready; });
    good_publisher_.on_subscribe([&ready](const auto&, const auto&) { ++ready; });
    turn_until(
        context_, [&ready] { return ready == 2; }, "the good peers cannot connect");
    publisher_.on_subscribe({});
    good_publisher_.on_subscribe({});
  }

  void attack(const std::uint8_t* data, std::size_t size, bool greeted, bool to_the_end,
              bool as_publisher) {
    const int fd = connect_to(as_publisher ? subscriber_port_ : publisher_port_);
    using netio::detail::WirePattern;
    attack_over_ = false;
    if (greeted) {
      greet(context_, fd, as_publisher ? WirePattern::publish : WirePattern::subscribe, ++attacks_,
            to_the_end);
    }
    send_and_end(fd, data, size);
    turn_until(
        context_, [this] { return attack_over_; }, "the attacker does not end");
    close(fd);
  }

  // What the attacker has subscribed to may be this tag as well.
  void serve_good_peers() {
    turn_until(
        context_, [this] { return publisher_.send("good", good_tag) == netio::Status::ok; },
        "the publisher is held up");
    turn_until(
        context_, [this] { return good_publisher_.send("good", good_tag) == netio::Status::ok; },
        "the good publisher is held up");
    ++sent_;
    turn_until(
        context_, [this] { return received_ == sent_ && received_there_ >= sent_; },
        "a good peer is not served");
    require(good_subscriber_.books().missed == 0, "the good subscriber missed something");
  }

 private:
  netio::Context context_{small_context()};
  netio::Publish publisher_{context_, {}, small_messages()};
  netio::Subscribe subscriber_{context_, {.policy = netio::Policy::block}, small_messages()};
  netio::Subscribe good_subscriber_{context_, {.policy = netio::Policy::block}};
  netio::Publish good_publisher_{context_};
  std::uint16_t publisher_port_ = 0;
  std::uint16_t subscriber_port_ = 0;
  std::uint64_t attacks_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t received_there_ = 0;
  std::uint64_t sum_ = 0;
  bool attack_over_ = false;
};

}  // namespace

// The first byte says whom the rest is sent to, and whether a good hello or a whole greeting
// goes before it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Scene scene;
  if (size == 0) return 0;
  scene.attack(data + 1, size - 1, (data[0] & 6U) != 0, (data[0] & 8U) == 0, (data[0] & 1U) != 0);
  scene.serve_good_peers();
  return 0;
}
