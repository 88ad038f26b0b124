// Keeps messages beyond their call-back: a view ends with the call, a Message when you let it go.
#include <cstdio>
#include <thread>
#include <vector>

#include <netio/netio.hpp>

int main() {
  netio::Context context;
  netio::Push push(context);
  netio::Pull pull(context);
  std::vector<netio::Message> event;
  std::thread analysis;

  pull.on_message([&](const netio::MessageView& message) {
    event.push_back(message.keep());  // large ones are not copied
    if (event.size() != 4) return;
    // Messages move, also to other threads, and may be released there.
    analysis = std::thread([&context, fragments = std::move(event)] {
      std::size_t bytes = 0;
      for (const netio::Message& fragment : fragments) bytes += fragment.size();
      std::printf("an event of %zu fragments, %zu bytes\n", fragments.size(), bytes);
      context.loop().post([&context] { context.stop(); });
    });
  });
  push.on_up([&](const netio::PeerInfo&) {
    const std::vector<std::byte> fragment(40'000);
    for (int i = 0; i < 4; ++i) {
      if (push.send(fragment) != netio::Status::ok) std::puts("four fragments always fit");
    }
  });
  push.connect(pull.bind("tcp://127.0.0.1:0"));
  context.run();
  analysis.join();
}
