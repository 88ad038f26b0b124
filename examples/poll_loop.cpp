// netio inside a loop that is not its own: here poll(2), in the same way Asio, libuv or Qt.
#include <cstdio>
#include <poll.h>

#include <netio/netio.hpp>

int main() {
  netio::Context context;
  netio::Push push(context);
  netio::Pull pull(context);
  bool done = false;
  pull.on_message([&](const netio::MessageView& message) {
    std::printf("got %zu bytes\n", message.size());
    push.close();
  });
  push.on_closed([&](const netio::Books&) { done = true; });
  push.on_up([&](const netio::PeerInfo&) {
    if (push.send("hello") != netio::Status::ok) std::puts("one message always fits");
  });
  push.connect(pull.bind("tcp://127.0.0.1:0"));

  // Readable whenever netio has something to do, its timers included; other descriptors go into the
  // same array.
  pollfd descriptor{context.loop().fd(), POLLIN, 0};
  while (!done) {
    if (poll(&descriptor, 1, -1) < 0) return 1;
    context.loop().run_once(std::chrono::nanoseconds(0));
  }
}
