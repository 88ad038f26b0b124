// Ping-pong: two Pairs, unbuffered for the least latency, here on one loop.
#include <chrono>
#include <cstdio>

#include <netio/netio.hpp>

int main() {
  constexpr int rounds = 10'000;
  using Clock = std::chrono::steady_clock;
  netio::SocketOptions options;
  options.mode = netio::Mode::unbuffered;
  netio::Context context;
  netio::Pair ping(context, options);
  netio::Pair pong(context, options);

  pong.on_message([&](const netio::MessageView& message) {
    // One small message at a time always finds room; a stream would look for Status::again.
    (void)pong.send(message.bytes());
  });
  int count = 0;
  Clock::time_point begin;
  ping.on_up([&](const netio::PeerInfo&) {
    begin = Clock::now();
    (void)ping.send("ball");
  });
  ping.on_message([&](const netio::MessageView& message) {
    if (++count < rounds) {
      (void)ping.send(message.bytes());
      return;
    }
    const std::chrono::duration<double, std::micro> passed = Clock::now() - begin;
    std::printf("%d round trips, %.1f us each\n", count, passed.count() / rounds);
    context.stop();
  });
  ping.connect(pong.bind("tcp://127.0.0.1:0"));
  context.run();
}
