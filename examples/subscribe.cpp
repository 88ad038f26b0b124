// Subscribes to two sensors of examples/publish.cpp, and keeps only the latest reading of each when
// it is slow.
#include <cstdio>
#include <string>

#include <netio/netio.hpp>

int main(int argc, char** argv) try {
  netio::Context context;
  netio::SubscribeOptions options;
  options.policy = netio::Policy::sample;
  netio::Subscribe subscribe(context, options);
  subscribe.on_subscribed([](const netio::PeerInfo&, const netio::Subscribed& answer) {
    std::printf("subscribed, policy %s\n", std::string(to_string(answer.policy)).c_str());
  });
  subscribe.on_message([](const netio::MessageView& message) {
    std::printf("%s\n", std::string(message.text()).c_str());
  });
  subscribe.on_gap([](const netio::PeerInfo&, const netio::Gap& gap) {
    std::printf("missed %zu: %s\n", gap.count, std::string(to_string(gap.reason)).c_str());
  });
  subscribe.on_down([&](const netio::PeerInfo& peer, const netio::Down& down) {
    std::fprintf(stderr, "%s\n", down.detail.c_str());
    if (peer.was_up) context.stop();  // else the publisher is not there yet
  });
  subscribe.subscribe(2);
  subscribe.subscribe(4);
  subscribe.connect(argc > 1 ? argv[1] : "tcp://localhost:5555");
  context.run();
  const netio::Books books = subscribe.books();
  std::printf("%zu delivered, %zu missed\n", books.delivered, books.missed);
} catch (const netio::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
