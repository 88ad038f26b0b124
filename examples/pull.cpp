// Receives messages at the address given until the sender has ended.
#include <cstdio>
#include <string>

#include <netio/netio.hpp>

int main(int argc, char** argv) try {
  netio::Context context;
  netio::Pull pull(context);
  std::size_t count = 0;
  pull.on_message([&](const netio::MessageView& message) {
    if (count++ == 0) std::printf("first: %s\n", std::string(message.text()).c_str());
  });
  pull.on_down([&](const netio::PeerInfo& peer, const netio::Down& down) {
    std::printf("%zu messages, then: %s\n", count, down.detail.c_str());
    if (peer.was_up) context.stop();  // else it was somebody who was turned away
  });
  const std::string address = pull.bind(argc > 1 ? argv[1] : "tcp://*:5555");
  std::printf("pulling at %s\n", address.c_str());
  std::fflush(stdout);
  context.run();
} catch (const netio::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
