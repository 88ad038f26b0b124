// The middle of a chain: passes on what comes, and ends in order once all that fed it have ended.
#include <cstdio>
#include <optional>

#include <netio/netio.hpp>

int main(int argc, char** argv) {
  netio::Context context;
  netio::Pull pull(context);
  netio::Push push(context);
  std::optional<netio::Message> held;  // what the next stage does not take yet
  bool ended = false, lost = false;
  const auto pass_on = [&] {
    if (held && push.send(std::move(*held)) != netio::Status::ok) return;
    held.reset();
    pull.resume();
    if (ended) push.close();  // delivers all that was taken, then calls on_closed
  };
  pull.on_message([&](const netio::MessageView& message) {
    if (push.send(message.bytes(), message.tag()) == netio::Status::ok) return;
    held = message.keep();
    pull.pause();  // takes effect behind this message, and holds back who sends
  });
  pull.on_down([&](const netio::PeerInfo& peer, const netio::Down& down) {
    if (!peer.was_up) return;
    std::fprintf(stderr, "%s\n", down.detail.c_str());
    lost = lost || down.reason != netio::DownReason::closed_by_peer;  // it has not sent all
    ended = pull.peers_connected() == 0;
    if (ended && !held) push.close();
  });
  push.on_writable(pass_on);
  push.on_closed([&](const netio::Books& books) {
    std::printf("%zu passed on, %zu delivered\n", books.sent, books.acknowledged);
    context.stop();
  });
  push.connect(argc > 2 ? argv[2] : "tcp://localhost:5556");
  std::fprintf(stderr, "at %s\n", pull.bind(argc > 1 ? argv[1] : "tcp://*:5555").c_str());
  context.run();
  return lost ? 1 : 0;
}
