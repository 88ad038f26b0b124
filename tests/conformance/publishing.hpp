// The fixture of the tests of publish and subscribe: subscribers that write down what they are
// told.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "conformance/conformance.hpp"

namespace netio::test {

class Publishing : public Conformance {
 protected:
  // A subscriber in there_, connected to `address`. With `block` nothing is lost.
  struct Reader {
    Reader(Publishing& test, const std::string& address,
           const SubscribeOptions& subscription = {.policy = Policy::block})
        : socket(test.there_, subscription, test.options()), inbox(socket), seen(socket) {
      socket.on_subscribed(
          [this](const PeerInfo&, const Subscribed& answer) { answers.push_back(answer); });
      socket.on_gap([this](const PeerInfo&, const Gap& gap) { gaps.push_back(gap); });
      socket.connect(address);
    }
    [[nodiscard]] bool told() const { return !answers.empty(); }

    Subscribe socket;
    Inbox inbox;
    Seen seen;
    std::vector<Subscribed> answers;
    std::vector<Gap> gaps;
  };

  // Publishes, turning the loops as long as the answer is again.
  Status send_bytes(Publish& socket, std::span<const std::byte> message, std::uint64_t tag) {
    Status status = socket.send(message, tag);
    (void)pump_.until(
        [&] {
          if (status == Status::again) status = socket.send(message, tag);
          return status != Status::again;
        },
        "published");
    return status;
  }
  // The same, of payload(number, size).
  Status send(Publish& socket, std::uint64_t number, std::uint64_t tag, std::size_t size = 64) {
    return send_bytes(socket, payload(number, size), tag);
  }
};

}  // namespace netio::test
