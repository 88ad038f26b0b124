// Lends a large buffer to the wire instead of copying it, and gets it back with a token.
#include <cstdio>
#include <numeric>
#include <vector>

#include <netio/netio.hpp>

int main() {
  netio::SocketOptions options;
  options.mode = netio::Mode::unbuffered;
  netio::Context context;
  netio::Push push(context, options);
  netio::Pull pull(context);
  constexpr std::uint64_t token = 7;
  std::vector<std::byte> frame(std::size_t{32} << 20U);

  pull.on_message([](const netio::MessageView& message) {
    std::printf("a frame of %zu MiB\n", message.size() >> 20U);
  });
  push.on_released([&](std::uint64_t which) {
    // Nobody reads the buffer any more; until now it had to stay as it was.
    std::printf("buffer %d is free\n", static_cast<int>(which));
    frame.clear();
    push.close();
  });
  push.on_writable([&] { (void)push.lend(frame, token); });  // after "again", or "not connected"
  push.on_closed([&](const netio::Books& books) {
    std::printf("%zu delivered\n", books.acknowledged);
    context.stop();
  });
  push.connect(pull.bind("tcp://127.0.0.1:0"));
  (void)push.lend(frame, token);
  context.run();
}
