// The middle of a chain: passes on what comes, and ends in order once all that fed it have ended.
#include <chrono>
#include <cstdio>

#include <netio/netio.hpp>

int main(int argc, char** argv) try {
  netio::Context context;
  netio::SocketOptions input, output;
  input.acknowledge = netio::Acknowledge::released;  // when the next stage has acknowledged it
  output.resume_bytes_max = 8U << 20U;               // nothing is lost when a connection breaks
  netio::Pull pull(context, input);
  netio::Push push(context, output);
  netio::Forward stage = netio::forward(pull, push);
  bool lost = false;
  pull.on_down([&](const netio::PeerInfo& peer, const netio::Down& down) {
    if (!peer.was_up) return;
    std::fprintf(stderr, "%s\n", down.detail.c_str());
    lost = lost || down.reason != netio::DownReason::closed_by_peer;  // it has not sent all
    if (pull.peers_connected() != 0) return;
    stage.finish(std::chrono::seconds(5), [&] {  // passes on what it has
      pull.close();
      push.close();
    });
  });
  push.on_closed([&](const netio::Books& books) {
    std::printf("%zu passed on, %zu delivered\n", books.sent, books.acknowledged);
    context.stop();
  });
  push.connect(argc > 2 ? argv[2] : "tcp://localhost:5556");
  std::fprintf(stderr, "at %s\n", pull.bind(argc > 1 ? argv[1] : "tcp://*:5555").c_str());
  context.run();
  return lost ? 1 : 0;
} catch (const netio::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
