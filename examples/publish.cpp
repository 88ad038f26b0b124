// Publishes the readings of four sensors, each with a tag of its own, once somebody subscribes.
#include <array>
#include <chrono>
#include <cstdio>
#include <string>

#include <netio/netio.hpp>

int main(int argc, char** argv) try {
  netio::Context context;
  netio::Publish publish(context);
  const std::array sensors{publish.tag(1), publish.tag(2), publish.tag(3), publish.tag(4)};
  int round = 0;
  netio::Timer timer(context.loop(), [&] {
    for (const netio::PublishTag& sensor : sensors) {
      if (!sensor.wanted()) continue;  // nobody to make it for
      const std::string text = "sensor " + std::to_string(sensor.value()) + ": " +
                               std::to_string(20 + round % 5) + " degrees";
      (void)sensor.send(text);  // again: a subscriber that may hold us up does; the next will do
    }
    if (++round < 200) return;
    timer.stop();
    publish.close();
  });
  publish.on_subscribe([&](const netio::PeerInfo& peer, std::span<const netio::TagRange>) {
    std::printf("%s has subscribed\n", peer.address.c_str());
    if (!timer.running()) timer.start_periodic(std::chrono::milliseconds(5));
  });
  publish.on_closed([&](const netio::Books& books) {
    std::printf("%zu sent, %zu acknowledged\n", books.sent, books.acknowledged);
    context.stop();
  });
  std::printf("publishing at %s\n", publish.bind(argc > 1 ? argv[1] : "tcp://*:5555").c_str());
  std::fflush(stdout);
  context.run();
} catch (const netio::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
